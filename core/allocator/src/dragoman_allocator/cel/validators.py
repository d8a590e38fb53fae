"""Checks of literals after types are known.

Regular expressions, durations, points in time, formats, and equal types in lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dragoman_allocator.cel import regexes
from dragoman_allocator.cel.errors import CompileError, EvaluationError
from dragoman_allocator.cel.lexer import place
from dragoman_allocator.cel.libraries import conversions
from dragoman_allocator.cel.libraries.formatting import check_format
from dragoman_allocator.cel.syntax import Call, Fold, ListNode, Literal, MapNode, Node, Select
from dragoman_allocator.cel.types import Type
from dragoman_allocator.cel.values import Value, type_of


def validate(tree: Node, text: str) -> None:
    """Check the literals of a checked tree. Raises ``CompileError``."""
    _Validator(text).visit(tree, exempt=False)


class _Validator:
    def __init__(self, text: str) -> None:
        self._text = text
        self._seen: set[int] = set()

    def visit(self, node: Node, *, exempt: bool) -> None:
        if id(node) in self._seen:
            return
        self._seen.add(id(node))
        check = _CHECKS.get(type(node))
        if check is not None and not (exempt and type(node) is not Call):
            check(self, node)
        exempt = exempt or (isinstance(node, Call) and node.function == "format")
        for child in children(node):
            self.visit(child, exempt=exempt)

    def error(self, node: Node, message: str) -> CompileError:
        return CompileError("compilation failed: " + place(self._text, node.at, message))

    def call(self, node: Call) -> None:
        literal = _ARGUMENTS.get(node.function)
        if literal is not None and node.args and isinstance(node.args[0], Literal):
            try:
                literal(node.args[0].value)
            except EvaluationError:
                raise self.error(node.args[0], f"invalid {node.function} argument") from None
        if node.function == "format" and isinstance(node.target, Literal) and isinstance(node.args[0], ListNode):
            try:
                check_format(node.target.value, node.args[0].elements)
            except EvaluationError as error:
                raise self.error(node, str(error)) from None

    def elements(self, node: ListNode) -> None:
        expected: Type | None = None
        for at, element in enumerate(node.elements):
            found = _type(element, optional=at in node.optional)
            expected = self._same(element, expected, found)

    def entries(self, node: MapNode) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self._same(entry.key, key, _type(entry.key))
            value = self._same(entry.value, value, _type(entry.value, optional=entry.optional))

    def _same(self, node: Node, expected: Type | None, found: Type) -> Type:
        if expected is not None and expected != found:
            raise self.error(node, f"expected type '{expected}' but found '{found}'")
        return found


def _type(node: Node, *, optional: bool = False) -> Type:
    assert node.type is not None
    return node.type.params[0] if optional and node.type.params else node.type


def children(node: Node) -> Iterator[Node]:
    """Give the parts of a node."""
    if isinstance(node, Select):
        yield node.operand
    elif isinstance(node, Call):
        if node.target is not None:
            yield node.target
        yield from node.args
    elif isinstance(node, ListNode):
        yield from node.elements
    elif isinstance(node, MapNode):
        for entry in node.entries:
            yield from (entry.key, entry.value)
    elif isinstance(node, Fold):
        yield from (node.range, node.init, node.condition, node.step, node.result)


def _conversion(target: str) -> Callable[[Value], object]:
    def run(value: Value) -> object:
        for overload in conversions.OVERLOADS:
            if overload.function == target and overload.takes((value,)) and overload.run is not None:
                return overload.run(value)
        return type_of(value)

    return run


_ARGUMENTS: Final[dict[str, Callable[[Value], object]]] = {
    "duration": _conversion("duration"),
    "timestamp": _conversion("timestamp"),
    "matches": lambda pattern: regexes.compiled(pattern) if isinstance(pattern, str) else None,
}
_CHECKS: Final[dict[type[Node], Callable[[_Validator, Any], None]]] = {
    Call: _Validator.call,
    ListNode: _Validator.elements,
    MapNode: _Validator.entries,
}
