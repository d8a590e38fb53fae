"""How Python names and the JSON names of settings and parameters correspond."""

from __future__ import annotations

# The source document writes these with capitals that camelCase alone would not give.
_WORDS = {"ids": "IDs", "ipv4": "IPv4", "ipv6": "IPv6"}


def json_key(name: str) -> str:
    """Give the JSON name of a settings or parameters field: ``vendor_ids`` -> ``vendorIDs``."""
    first, *rest = name.split("_")
    return first + "".join(_WORDS.get(word, word.capitalize()) for word in rest)
