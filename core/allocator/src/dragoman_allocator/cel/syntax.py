"""The tree of an expression, after macros are expanded; the checker notes types and overloads in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dragoman_allocator.cel.types import Type


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A part of an expression.

    ``at`` is its offset in the text, ``depth`` how deep operators and selections are nested in it. The checker sets
    ``type``.
    """

    at: int = 0
    depth: int = 0
    type: Type | None = None


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A value written in the expression."""

    value: Any = None


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; ``stands_for`` is the type that it names, if it names one."""

    name: str
    stands_for: Type | None = None
    root: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``, or ``has(operand.field)`` if ``test`` is set."""

    operand: Node
    field: str
    test: bool = False
    ident: Ident | None = None


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function, operator or method; ``overloads`` are those that the checker found to fit."""

    function: str
    args: list[Node]
    target: Node | None = None
    overloads: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ListNode(Node):
    """``[a, ?b]``; ``optional`` holds the positions of elements with a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """``key: value`` or ``?key: value`` of a map."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapNode(Node):
    """``{key: value}``."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class MessageNode(Node):
    """``name{field: value}``."""

    name: str
    fields: list[tuple[str, Node]]


@dataclass(slots=True, eq=False)
class Fold(Node):
    """What macros such as ``all`` become: a loop over ``range`` with an accumulator.

    ``variable2`` is set by the macros that take key and value.
    """

    range: Node
    variable: str
    variable2: str | None
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node
