"""``format`` (version 1 of cel-go's strings extension, locale en_US)."""

from __future__ import annotations

from dragoman_allocator.cel.syntax import Node

OVERLOADS = ()


def check_format(text: str, args: list[Node]) -> None:
    """Check."""
