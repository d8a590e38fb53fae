"""The plain device selectors: comparisons with literals, joined by ``&&``. Everything else is refused, never guessed.

``device.driver == "x"``, ``device.attributes["domain"].name == literal``, ``device.allowMultipleAllocations == true``;
``!=`` as well. The exact evaluation of CEL belongs to an allocator; this is for first steps on one node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_hookspecs import DragomanError

Value = str | int | bool

_TERM = re.compile(
    r"""\s*device\.(?:
        (?P<driver>driver)
      | attributes\["(?P<domain>[^"\\]+)"\]\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<shareable>allowMultipleAllocations)
    )\s*(?P<operator>==|!=)\s*(?P<literal>"[^"\\]*"|-?[0-9]+|true|false)\s*""",
    re.VERBOSE,
)


class SelectorError(DragomanError):
    """A selector that this stand-in does not know, or that asks a device for what it has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A device as a slice offers it; ``body`` is its entry in the form of v1. ``pool`` is the slice's."""

    driver: str
    pool: str
    name: str
    body: Mapping[str, Any]

    @property
    def shareable(self) -> bool:
        """Tell whether several claims may have it."""
        return bool(self.body.get("allowMultipleAllocations"))

    def attribute(self, domain: str, name: str) -> Value:
        """Give an attribute; a bare name has the driver's domain. Raises ``SelectorError`` as CEL fails on no key."""
        attributes = self.body.get("attributes") or {}
        found = attributes.get(f"{domain}/{name}") or (attributes.get(name) if domain == self.driver else None)
        if not found:
            raise SelectorError(f"device {self.name} has no attribute {domain}/{name}")
        value: Value = next(iter(found.values()))
        return value


Selector = Callable[[Candidate], bool]


def compile_selector(expression: str) -> Selector:
    """Compile an expression. Raises ``SelectorError``; calling the result may raise it too."""
    terms = [_term(part, expression) for part in _conjunction(expression)]
    return lambda device: all(term(device) for term in terms)


def _conjunction(expression: str) -> list[str]:
    terms = [""]
    # Quoted text is one piece, so that a "&&" in it does not split.
    for piece in re.findall(r'"[^"]*"|&&|.', expression, re.DOTALL):
        if piece == "&&":
            terms.append("")
        else:
            terms[-1] += piece
    return terms


def _term(text: str, expression: str) -> Selector:
    form = _TERM.fullmatch(text)
    if form is None:
        raise _unknown(text, expression)
    literal: Value = json.loads(form["literal"])
    equal = form["operator"] == "=="
    return lambda device: _same(_operand(form, device), literal) is equal


def _operand(form: re.Match[str], device: Candidate) -> Value:
    if form["driver"]:
        return device.driver
    if form["shareable"]:
        return device.shareable
    return device.attribute(form["domain"], form["name"])


def _same(value: Value, literal: Value) -> bool:
    if type(value) is not type(literal):
        raise SelectorError(f"{value!r} and {literal!r} are of different types and cannot be compared")
    return value == literal


def _unknown(text: str, expression: str) -> SelectorError:
    return SelectorError(
        f"the sandbox's scheduler does not know {text.strip()!r} in the selector {expression!r}: it takes comparisons "
        'such as device.driver == "x" and device.attributes["x"].y == "z", joined by &&'
    )
