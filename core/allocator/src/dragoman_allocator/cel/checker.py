"""Types of all parts of an expression, and the overloads that its calls may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dragoman_allocator.cel import types
from dragoman_allocator.cel.errors import CompileError, RefusedError
from dragoman_allocator.cel.functions import Function, Overload
from dragoman_allocator.cel.lexer import place
from dragoman_allocator.cel.syntax import Call, Fold, Ident, ListNode, Literal, MapNode, MessageNode, Node, Select
from dragoman_allocator.cel.types import BOOL, DYN, INT, Kind, Type, list_of, map_of, optional_of, type_of_type
from dragoman_allocator.cel.unify import Unifier, most_general
from dragoman_allocator.cel.values import type_of

_LOGICAL: Final = ("_&&_", "_||_")
_UNKNOWN_RANGE: Final = (Kind.DYN, Kind.ERROR, Kind.PARAM)


@dataclass(frozen=True, slots=True)
class Declarations:
    """What an environment declares: variables, names of types, fields of objects, functions by name."""

    variables: Mapping[str, Type]
    type_names: Mapping[str, Type]
    fields: Mapping[str, Mapping[str, Type]]
    functions: Mapping[str, Function]


class Checker:
    """Checks one expression; the tree keeps types and overloads."""

    def __init__(self, text: str, declarations: Declarations) -> None:
        self._text = text
        self._declared = declarations
        self._scopes: list[dict[str, Type]] = []
        self._types = Unifier()
        self._seen: list[Node] = []
        self._visit: dict[type[Node], Callable[[Any], Type]] = {
            Literal: lambda node: type_of(node.value),
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListNode: self._list,
            MapNode: self._map,
            MessageNode: self._message,
            Fold: self._fold,
        }

    def check(self, node: Node) -> Type:
        """Check the whole expression and give its type. Raises ``CompileError`` for the first fault."""
        self._check(node)
        for seen in self._seen:
            assert seen.type is not None
            seen.type = self._types.substitute(seen.type, free_to_dyn=True)
        assert node.type is not None
        return node.type

    def _check(self, node: Node) -> Type:
        if node.type is None:  # macros may use a part twice
            node.type = self._visit[type(node)](node)
            self._seen.append(node)
        return node.type

    def _error(self, node: Node, message: str) -> CompileError:
        return CompileError("compilation failed: " + place(self._text, node.at, message))

    def _mismatch(self, node: Node, expected: Type, found: Type) -> CompileError:
        expected, found = (self._types.substitute(t) for t in (expected, found))
        return self._error(node, f"expected type '{expected}' but found '{found}'")

    def _undeclared(self, node: Node, name: str) -> CompileError:
        return self._error(node, f"undeclared reference to '{name}' (in container '')")

    def _local(self, name: str) -> Type | None:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None)

    def _global(self, node: Ident, name: str) -> Type | None:
        name = name.removeprefix(".")
        if name in self._declared.variables:
            node.root = True
            return self._declared.variables[name]
        named = self._declared.type_names.get(name)
        if named is None:
            return None
        node.stands_for = named
        return type_of_type(named)

    def _ident(self, node: Ident) -> Type:
        found = None if node.name.startswith(".") else self._local(node.name)
        found = found or self._global(node, node.name)
        if found is None:
            raise self._undeclared(node, node.name)
        return found

    def _select(self, node: Select) -> Type:
        name = None if node.test else qualified_name(node)
        if name is not None and self._local(name.split(".")[0]) is None:
            ident = Ident(name, at=node.at)
            found = self._global(ident, name)
            if found is not None:
                node.ident = ident
                return found
        result = self._field(node, node.operand, node.field, optional=False)
        return BOOL if node.test else result

    def _field(self, node: Node, operand: Node, name: str, *, optional: bool) -> Type:
        target = self._types.substitute(self._check(operand))
        was_optional = target.name == "optional_type"
        if was_optional:
            target = target.params[0]
        result = self._field_type(node, target, name)
        return self._types.substitute(optional_of(result) if was_optional or optional else result)

    def _field_type(self, node: Node, target: Type, name: str) -> Type:
        if target.kind is Kind.MAP:
            return target.params[1]
        if target.kind is Kind.STRUCT:
            found = self._declared.fields.get(target.name, {}).get(name)
            if found is None:
                raise self._error(node, f"undefined field '{name}'")
            return found
        if target.kind is Kind.PARAM:
            self._types.assignable(DYN, target)
        elif not target.dynamic:
            raise self._error(node, f"type '{target}' does not support field selection")
        return DYN

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            assert isinstance(node.args[1], Literal)
            self._check(node.args[1])
            node.overloads = ["select_optional_field"]
            return self._field(node, node.args[0], node.args[1].value, optional=True)
        for arg in node.args:
            self._check(arg)
        if node.target is not None and self._namespaced(node, node.target):
            node.target = None
        if node.target is not None:
            self._check(node.target)
        name = node.function.removeprefix(".") if node.target is None else node.function
        function = self._declared.functions.get(name)
        if function is None:
            raise self._undeclared(node, node.function)
        node.function = name
        return self._resolve(node, function)

    def _namespaced(self, node: Call, target: Node) -> bool:
        prefix = qualified_name(target)
        if prefix is None or f"{prefix}.{node.function}".removeprefix(".") not in self._declared.functions:
            return False
        node.function = f"{prefix}.{node.function}".removeprefix(".")
        return True

    def _resolve(self, node: Call, function: Function) -> Type:
        args = node.args if node.target is None else [node.target, *node.args]
        found = [self._check(arg) for arg in args]
        if function.name in _LOGICAL:
            return self._resolve_logical(node, args, found)
        result: Type | None = None
        node.overloads = []
        for overload in function.overloads:
            if overload.member != (node.target is not None):
                continue
            matched = self._match(overload, found)
            if matched is None:
                continue
            node.overloads.append(overload.id)
            if result is None:
                result = matched
            elif not result.dynamic and matched != result:
                result = DYN
        if result is None:
            raise self._error(
                node, f"found no matching overload for '{function.name}' applied to '{self._applied(node, found)}'"
            )
        return result

    def _match(self, overload: Overload, args: list[Type]) -> Type | None:
        result, *params = self._types.instantiate((overload.result, *overload.params))
        return self._types.substitute(result) if self._types.all_assignable(args, params) else None

    def _resolve_logical(self, node: Call, args: list[Node], found: list[Type]) -> Type:
        for arg, t in zip(args, found, strict=True):
            if not self._types.assignable(t, BOOL):
                raise self._mismatch(arg, BOOL, t)
        return BOOL

    def _applied(self, node: Call, args: list[Type]) -> str:
        shown = [str(self._types.substitute(t, free_to_dyn=True)) for t in args]
        if node.target is None:
            return f"({', '.join(shown)})"
        return f"{shown[0]}.({', '.join(shown[1:])})"

    def _list(self, node: ListNode) -> Type:
        joined: Type | None = None
        for at, element in enumerate(node.elements):
            found = self._check(element)
            joined = self._join(joined, self._unwrapped(element, found) if at in node.optional else found)
        return list_of(joined or self._types.variable())

    def _unwrapped(self, node: Node, t: Type) -> Type:
        if t.name == "optional_type":
            return t.params[0]
        if not t.dynamic:
            raise self._mismatch(node, optional_of(t), t)
        return t

    def _map(self, node: MapNode) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._join(keys, self._check(entry.key))
            found = self._check(entry.value)
            values = self._join(values, self._unwrapped(entry.value, found) if entry.optional else found)
        return map_of(keys or self._types.variable(), values or self._types.variable())

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        return most_general(previous, current) if self._types.assignable(previous, current) else DYN

    def _message(self, node: MessageNode) -> Type:
        name = node.name.removeprefix(".")
        if name not in MESSAGES and name not in self._declared.fields:
            raise self._undeclared(node, node.name)
        raise RefusedError(
            f"compilation failed: the construction of messages ({name}) is not supported by this library"
        )

    def _fold(self, node: Fold) -> Type:
        self._check(node.range)
        accumulator = self._check(node.init)
        names = self._loop_variables(node)
        self._scopes.append({node.accumulator: accumulator})
        self._scopes.append(names)
        self._assert(node.condition, BOOL)
        self._assert(node.step, accumulator)
        self._scopes.pop()
        result = self._check(node.result)
        self._scopes.pop()
        return self._types.substitute(result)

    def _assert(self, node: Node, expected: Type) -> None:
        found = self._check(node)
        if not self._types.assignable(expected, found):
            raise self._mismatch(node, expected, found)

    def _loop_variables(self, node: Fold) -> dict[str, Type]:
        over = self._types.substitute(self._check(node.range))
        if over.kind is Kind.LIST:
            first, second = over.params[0], over.params[0]
            if node.variable2 is not None:
                first = INT
        elif over.kind is Kind.MAP:
            first, second = over.params
        elif over.kind in _UNKNOWN_RANGE:
            self._types.assignable(DYN, over)
            first = second = DYN
        else:
            raise self._error(
                node.range,
                f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
        names = {node.variable: first}
        if node.variable2 is not None:
            names[node.variable2] = second
        return names


def qualified_name(node: Node) -> str | None:
    """Give ``a.b.c`` for a chain of names, None for anything else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field}"
    return None


_MESSAGES: Final = (
    "Any", "BoolValue", "BytesValue", "DoubleValue", "Duration", "Empty", "FloatValue", "Int32Value", "Int64Value",
    "ListValue", "NullValue", "StringValue", "Struct", "Timestamp", "UInt32Value", "UInt64Value", "Value",
)  # fmt: skip
MESSAGES: Final = frozenset(f"google.protobuf.{name}" for name in _MESSAGES)

TYPE_NAMES: Final[dict[str, Type]] = {
    "bool": BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "google.protobuf.Duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "int": INT,
    "list": types.LIST,
    "map": types.MAP,
    "null_type": types.NULL,
    "string": types.STRING,
    "type": types.TYPE,
    "uint": types.UINT,
    "optional_type": types.OPTIONAL,
    "net.IP": types.IP,
    "net.CIDR": types.CIDR,
}
