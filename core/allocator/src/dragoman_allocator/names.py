"""The name rules of the Kubernetes API: each function gives the complaints about a name, none for a good one.

The texts are those that the API server puts into ``detail`` of a field error, so that a tool reads the same from both.
Lengths count bytes of UTF-8, as the server does; its rules written by hand call them characters, its declared ones
bytes, which ``unit`` chooses.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253
DRIVER_LENGTH: Final = 63
IDENTIFIER_LENGTH: Final = 32
POOL_LENGTH: Final = 253
CHARACTERS: Final = "characters"
BYTES: Final = "bytes"

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_OF_ANY_CASE: Final = _SUBDOMAIN.replace("a-z", "a-zA-Z\u017f\u212a")
"""The server's expression is the one above, whatever the case, and a long s and the sign for Kelvin fold to letters."""
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_SUBDOMAIN_RULE: Final = (
    "subdomain must consist of {} characters, '-' or '.', and must start and end with an alphanumeric character"
)
_KEY_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)

Complaints = tuple[str, ...]


def size(text: str) -> int:
    """Give the length in bytes of UTF-8; lone surrogates count three."""
    return len(text.encode("utf-8", "surrogatepass"))


def lowered(text: str) -> str:
    """Give the text in lower case, letter by letter as the server does: a capital I with a dot becomes one letter."""
    return text.replace("\u0130", "i").lower()


def _too_long(text: str, limit: int, unit: str = BYTES) -> Complaints:
    return (f"must be no more than {limit} {unit}",) if size(text) > limit else ()


def _regex(rule: str, pattern: str, *examples: str) -> str:
    # the odd comma before "or" is the server's
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None


@lru_cache(maxsize=4096)
def label(name: str, unit: str = CHARACTERS) -> Complaints:
    """Check an RFC 1123 label: devices, counter sets, counters, requests."""
    found = _too_long(name, LABEL_LENGTH, unit)
    if _matches(_LABEL, name):
        return found
    if _matches(_SUBDOMAIN, name):
        return (*found, "must not contain dots")
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return (*found, _regex(rule, _LABEL, "my-name", "123-abc"))


@lru_cache(maxsize=4096)
def subdomain(name: str, unit: str = CHARACTERS) -> Complaints:
    """Check an RFC 1123 subdomain: classes, nodes, names of most objects."""
    found = _too_long(name, SUBDOMAIN_LENGTH, unit)
    if _matches(_SUBDOMAIN, name):
        return found
    rule = "a lowercase RFC 1123 " + _SUBDOMAIN_RULE.format("lower case alphanumeric")
    return (*found, _regex(rule, _SUBDOMAIN, "example.com"))


@lru_cache(maxsize=1024)
def subdomain_of_any_case(name: str) -> Complaints:
    """Check an RFC 1123 subdomain that may have upper case letters: drivers."""
    found = _too_long(name, SUBDOMAIN_LENGTH)
    if _matches(_SUBDOMAIN_OF_ANY_CASE, name):
        return found
    rule = "an RFC 1123 " + _SUBDOMAIN_RULE.format("alphanumeric")
    return (*found, _regex(rule, _SUBDOMAIN, "Example.com"))


@lru_cache(maxsize=4096)
def identifier(name: str) -> Complaints:
    """Check the form of a C identifier, without its length."""
    if _matches(_IDENTIFIER, name):
        return ()
    rule = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return (_regex(rule, _IDENTIFIER, "my_name", "MY_NAME", "MyName"),)


@lru_cache(maxsize=4096)
def label_key(name: str) -> Complaints:
    """Check a label key such as ``example.com/kind``: taint keys, binding conditions, condition types, finalizers."""
    examples = ("MyName", "my.name", "123-abc")
    prefix, slash, rest = name.partition("/")
    if "/" in rest:
        rule = _regex("a valid label key " + _KEY_RULE, _KEY, *examples)
        return (f"{rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    found: Complaints = ()
    if slash:
        texts = subdomain(prefix, BYTES) if prefix else ("must be non-empty",)
        found = tuple(f"prefix part {text}" for text in texts)
    key = rest if slash else name
    if not key:
        found = (*found, "name part must be non-empty")
    found = (*found, *(f"name part {text}" for text in _too_long(key, LABEL_LENGTH)))
    if _matches(_KEY, key):
        return found
    return (*found, "name part " + _regex(_KEY_RULE, _KEY, *examples))


@lru_cache(maxsize=4096)
def label_value(value: str) -> Complaints:
    """Check a label value, which may be empty: taint and toleration values."""
    found = _too_long(value, LABEL_LENGTH)
    pattern = f"({_KEY})?"
    if _matches(pattern, value):
        return found
    rule = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
        "and must start and end with an alphanumeric character"
    )
    return (*found, _regex(rule, pattern, "MyValue", "my_value", "12345"))


def reason(text: str) -> Complaints:
    """Check the reason of a condition, without its length."""
    if _matches(_REASON, text):
        return ()
    rule = (
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
        "characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    return (_regex(rule, _REASON, "my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"),)


def path_segment(name: str, *, whole: bool = True) -> Complaints:
    """Check what stands for an object in a URL: any object's name, or with ``whole`` unset its beginning."""
    if whole and name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{part}'" for part in ("/", "%") if part in name)


def extended_resource(name: str) -> bool:
    """Tell whether the name can be that of an extended resource: a domain other than kubernetes.io, and a label key."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and not label_key(f"requests.{name}")


def node_allocatable(name: str) -> bool:
    """Tell whether devices may add to or take from this resource of a node (KEP-5517)."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")
