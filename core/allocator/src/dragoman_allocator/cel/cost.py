"""What an expression may cost at most: the estimate, before any device is known, by which the API refuses selectors.

The rules are those of cel-go's ``checker/cost.go``, with the sizes that devices can have
(``DeviceAttributeMaxValueLength`` and the like). All numbers are pairs of least and most; they stop at 2**64 - 1, which
also stands for "unknown".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dragoman_allocator.cel.cost_calls import PRICES, Estimate, Operand
from dragoman_allocator.cel.spans import FREE, ONE, UNKNOWN, Span
from dragoman_allocator.cel.syntax import Call, Fold, Ident, ListNode, Literal, MapNode, MessageNode, Node, Select
from dragoman_allocator.cel.types import Kind, Type

NEW_LIST: Final = Span(10, 10)
NEW_MAP: Final = Span(30, 30)
NEW_MESSAGE: Final = Span(40, 40)
_ACCUMULATORS: Final = ("@result", "__result__")
_SELECTED: Final = (Kind.MAP, Kind.STRUCT, Kind.PARAM)
_SCALARS: Final = (Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT)

Path = tuple[str, ...]

_ENTRIES: Final = 32
_DOMAIN: Final = 63
_IDENTIFIER: Final = 32
_ATTRIBUTE: Final = 64


_SIZES: Final[dict[Path, int]] = {
    (): 0,
    ("driver",): 63,
    ("allowMultipleAllocations",): 1,
    **{(name,): _ENTRIES for name in ("attributes", "capacity")},
    **{(name, "@keys"): _DOMAIN for name in ("attributes", "capacity")},
    **{(name, "@values"): _ENTRIES for name in ("attributes", "capacity")},
    **{(name, "@values", "@keys"): _IDENTIFIER for name in ("attributes", "capacity")},
    ("capacity", "@values", "@values"): 0,
    ("attributes", "@values", "@values"): _ATTRIBUTE,
}
"""The largest sizes of the parts of a device: characters of texts, entries of maps."""


def _size_of_path(path: Path) -> Span | None:
    """Give the size of a part of the device; None for anything else."""
    if path[:1] != ("device",):
        return None
    rest = tuple("@values" if part == "@items" else part for part in path[1:])
    if len(rest) == 3 and rest[:2] == ("attributes", "@values") and rest[2] != "@keys":
        return Span(0, _ATTRIBUTE)  # also by name
    return Span(0, _SIZES[rest]) if rest in _SIZES else None


@dataclass(frozen=True, slots=True)
class _Entries:
    """The sizes of keys and values that a list or map has."""

    keys: Span
    values: Span
    of_list: bool

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.keys.union(other.keys), self.values.union(other.values), self.of_list)


@dataclass(frozen=True, slots=True)
class _Local:
    """A variable of a loop or binding."""

    path: Path
    size: Span | None
    entries: _Entries | None


class Estimator:
    """Estimates one checked expression."""

    def __init__(self) -> None:
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Span] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._visit: dict[type[Node], Callable[[Any], Span]] = {
            Literal: lambda _: FREE,
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListNode: self._list,
            MapNode: self._map,
            MessageNode: self._message,
            Fold: self._fold,
        }

    def cost(self, node: Node) -> Span:
        """Give the least and the most that the expression can cost."""
        return self._visit[type(node)](node)

    def _ident(self, node: Ident) -> Span:
        local = self._local(node.name)
        self._paths[id(node)] = (node.name,) if local is None else local.path
        return ONE

    def _select(self, node: Select) -> Span:
        if node.ident is not None:
            return self._ident(node.ident)
        cost = self.cost(node.operand)
        if node.test:
            return cost
        assert node.operand.type is not None
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return cost + ONE if node.operand.type.kind in _SELECTED else cost

    def _list(self, node: ListNode) -> Span:
        costs = [self.cost(element) for element in node.elements]
        self._entries[id(node)] = _Entries(ONE, self._joined(node.elements), of_list=True)
        return sum(costs, FREE) + NEW_LIST

    def _map(self, node: MapNode) -> Span:
        cost = sum((self.cost(entry.key) + self.cost(entry.value) for entry in node.entries), FREE)
        keys = self._joined([entry.key for entry in node.entries])
        values = self._joined([entry.value for entry in node.entries])
        self._entries[id(node)] = _Entries(keys, values, of_list=False)
        return cost + NEW_MAP

    def _joined(self, nodes: list[Node]) -> Span:
        if not nodes:
            return FREE
        first, *rest = (self._size_or_unknown(node) for node in nodes)
        for size in rest:
            first = first.union(size)
        return first

    def _message(self, node: MessageNode) -> Span:
        return sum((self.cost(value) for _, value in node.fields), FREE) + NEW_MESSAGE

    def _fold(self, node: Fold) -> Span:
        cost = self.cost(node.range) + self.cost(node.init)
        self._push(node.accumulator, _Local(self._path(node.init), self._size(node.init), self._entries_of(node.init)))
        if _is_binding(node):
            cost += self.cost(node.result)
            self._pop(node.accumulator)
            self._copy(node, node.result)
            return cost
        self._push_variables(node)
        step = self.cost(node.condition) + self.cost(node.step)
        self._pop(node.variable)
        if node.variable2 is not None:
            self._pop(node.variable2)
        cost += self.cost(node.result)
        self._pop(node.accumulator)
        count = self._size_or_unknown(node.range)
        self._note_result(node, count)
        return cost + count * step

    def _note_result(self, node: Fold, count: Span) -> None:
        if isinstance(node.init, Literal):
            self._set_size(node, self._size(node.init))
        elif isinstance(node.init, ListNode | MapNode):
            self._set_size(node, count)
            self._set_entries(node, self._entries_of(node.step))

    def _push_variables(self, node: Fold) -> None:
        entries = self._entries_of(node.range)
        path = self._path(node.range)
        assert node.range.type is not None
        of_list = node.range.type.kind is Kind.LIST if entries is None else entries.of_list
        keys, values = ("@indices", "@items") if of_list else ("@keys", "@values")
        key_size, value_size = (None, None) if entries is None else (entries.keys, entries.values)
        if node.variable2 is not None:
            self._push(node.variable, _Local((*path, keys), key_size, None))
            self._push(node.variable2, _Local((*path, values), value_size, None))
        elif of_list:
            self._push(node.variable, _Local((*path, values), value_size, None))
        else:
            self._push(node.variable, _Local((*path, keys), key_size, None))

    def _call(self, node: Call) -> Span:
        if node.function == "dyn":
            cost = self.cost(node.args[0])
            self._copy(node, node.args[0])
            return cost + ONE
        costs = [self.cost(arg) for arg in node.args]
        args = [self._operand(arg) for arg in node.args]
        overloads = node.overloads or [node.function]  # the checker notes none for && and ||
        target_cost, target = FREE, None
        if node.target is not None:
            target_cost, target = self.cost(node.target), self._operand(node.target)
        price: Span | None = None
        size: Span | None = None
        for overload in overloads:
            found = self._priced(node, overload, target, args, costs)
            price = found.cost if price is None else price.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            size = self._indexed(node, overload, size)
        self._set_size(node, size)
        assert price is not None
        return target_cost + price

    def _indexed(self, node: Call, overload: str, size: Span | None) -> Span | None:
        part = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if part is not None:
            entries = self._entries_of(node.args[0])
            size = None if entries is None else entries.values
            self._paths[id(node)] = (*self._path(node.args[0]), part)
        return self._size(node) if size is None else size

    def _priced(
        self, node: Call, overload: str, target: Operand | None, args: list[Operand], costs: list[Span]
    ) -> Estimate:
        spent = sum(costs, FREE)
        if node.function in ("_&&_", "_||_"):
            return Estimate(Span(costs[0].least, spent.most))
        if node.function == "_?_:_":
            first, second = self._entries_of(node.args[1]), self._entries_of(node.args[2])
            self._set_entries(node, None if first is None else first.union(second))
            return Estimate(costs[0] + costs[1].union(costs[2]), args[1].sized.union(args[2].sized))
        if overload in ("add_string", "add_bytes", "add_list"):
            first, second = self._entries_of(node.args[0]), self._entries_of(node.args[1])
            self._set_entries(node, None if first is None else first.union(second))
        for table, key in PRICES.ordered(overload, node.function):
            found = table[key](overload, target, args) if key in table else None
            if found is not None:
                return Estimate(found.cost + spent, found.size)
        return Estimate(spent + ONE)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node)
        assert node.type is not None
        hidden = bool(path) and path[0] in _ACCUMULATORS
        literal = node.value if isinstance(node, Literal) else None
        items = () if hidden or not path else (*path, "@items")
        return Operand(node.type, self._size(node), literal, _size_of_path(items))

    def _size_or_unknown(self, node: Node) -> Span:
        return self._size(node) or UNKNOWN

    def _size(self, node: Node) -> Span | None:
        if id(node) in self._sizes:
            return self._sizes[id(node)]
        written = _written_size(node)
        if written is not None:
            return written
        found = _size_of_path(self._path(node))
        if found is not None:
            self._sizes[id(node)] = found
            return found
        assert node.type is not None
        if _is_scalar(node.type):
            return ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def _entries_of(self, node: Node) -> _Entries | None:
        if id(node) in self._entries:
            return self._entries[id(node)]
        local = self._local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.entries

    def _path(self, node: Node) -> Path:
        local = self._local(node.name) if isinstance(node, Ident) else None
        return self._paths.get(id(node), ()) if local is None else local.path

    def _copy(self, node: Node, source: Node) -> None:
        self._set_size(node, self._size(source))
        self._set_entries(node, self._entries_of(source))

    def _set_size(self, node: Node, size: Span | None) -> None:
        if size is not None:
            self._sizes[id(node)] = size

    def _set_entries(self, node: Node, entries: _Entries | None) -> None:
        if entries is not None:
            self._entries[id(node)] = entries

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _pop(self, name: str) -> None:
        self._locals[name].pop()


def _is_binding(node: Fold) -> bool:
    empty = isinstance(node.range, ListNode) and not node.range.elements
    never = isinstance(node.condition, Literal) and node.condition.value is False
    return empty and never and node.accumulator != "__result__"


def _written_size(node: Node) -> Span | None:
    if isinstance(node, ListNode):
        return Span(len(node.elements), len(node.elements))
    if isinstance(node, MapNode):
        return Span(len(node.entries), len(node.entries))
    if not isinstance(node, Literal):
        return None
    size = len(node.value) if isinstance(node.value, str | bytes) else 1
    return Span(size, size)


def _is_scalar(of: Type) -> bool:
    return of.kind in _SCALARS or (of.name == "optional_type" and _is_scalar(of.params[0]))
