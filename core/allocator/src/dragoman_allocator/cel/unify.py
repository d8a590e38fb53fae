"""Which type fits where: assignability with type parameters, as cel-go's checker decides it.

Bindings of parameters are kept in one table with a journal, so that an overload that does not fit leaves nothing
behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_allocator.cel.types import DYN, Kind, Type, param

_COMPOUND = (Kind.OPAQUE, Kind.LIST, Kind.MAP)
_NULLABLE = (Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP)


class Unifier:
    """The types that parameters stand for so far."""

    __slots__ = ("_bound", "_journal", "_variables")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._journal: list[tuple[str, Type | None]] = []
        self._variables = 0

    def variable(self) -> Type:
        """Give a parameter that nothing else uses."""
        self._variables += 1
        return param(f"_var{self._variables}")

    def instantiate(self, types: Sequence[Type]) -> list[Type]:
        """Replace the parameters of a signature by fresh ones."""
        fresh: dict[str, Type] = {}
        return [self._refresh(t, fresh) for t in types]

    def _refresh(self, t: Type, fresh: dict[str, Type]) -> Type:
        if t.kind is Kind.PARAM:
            if t.name not in fresh:
                fresh[t.name] = self.variable()
            return fresh[t.name]
        if not t.params:
            return t
        return Type(t.kind, t.name, tuple(self._refresh(p, fresh) for p in t.params))

    def substitute(self, t: Type, *, free_to_dyn: bool = False) -> Type:
        """Replace bound parameters by what they stand for, and free ones by ``dyn`` if asked to."""
        if t.kind is Kind.PARAM:
            bound = self._bound.get(t.name)
            if bound is not None:
                return self.substitute(bound, free_to_dyn=free_to_dyn)
            return DYN if free_to_dyn else t
        if not t.params:
            return t
        return Type(t.kind, t.name, tuple(self.substitute(p, free_to_dyn=free_to_dyn) for p in t.params))

    def assignable(self, first: Type, second: Type) -> bool:
        """Tell whether the first type can stand where the second does; parameters are bound only if so."""
        return self.all_assignable((first,), (second,))

    def all_assignable(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        """Tell the same of two lists of types, which must be equally long."""
        mark = len(self._journal)
        if self._list(first, second):
            return True
        while len(self._journal) > mark:
            name, old = self._journal.pop()
            if old is None:
                del self._bound[name]
            else:
                self._bound[name] = old
        return False

    def _bind(self, name: str, t: Type) -> None:
        self._journal.append((name, self._bound.get(name)))
        self._bound[name] = t

    def _list(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        return len(first) == len(second) and all(map(self._fits, first, second))

    def _fits(self, a: Type, b: Type) -> bool:
        if b.kind is Kind.PARAM:
            valid, bound = self._substitutes(a, b)
            if valid or bound:
                return valid
        if a.kind is Kind.PARAM:
            return self._substitutes(b, a)[0]
        return _open(a) or _open(b) or self._fits_closed(a, b)

    def _fits_closed(self, a: Type, b: Type) -> bool:
        if a.kind is Kind.NULL or b.kind is Kind.NULL:
            return _nullable(b if a.kind is Kind.NULL else a)
        if a.kind in _COMPOUND:
            return a.kind is b.kind and a.name == b.name and self._list(a.params, b.params)
        return a == b or (a.kind is Kind.TYPE and b.kind is Kind.TYPE)

    def _substitutes(self, t: Type, variable: Type) -> tuple[bool, bool]:
        """Tell whether the variable may stand for the type, and whether it stood for something already."""
        if t == variable:
            return True, True
        current = self._bound.get(variable.name)
        if current is None:
            if self._absent(variable, t):
                self._bind(variable.name, t)
                return True, False
            return False, False
        if t == current:
            return True, True
        if self._fits(t, current):
            general = most_general(t, current)
            if self._absent(variable, general):
                self._bind(variable.name, general)
            return True, True
        return False, True

    def _absent(self, variable: Type, within: Type) -> bool:
        """Tell whether the variable does not occur in the type."""
        if variable == within:
            return False
        if within.kind is Kind.PARAM:
            bound = self._bound.get(within.name)
            return bound is None or self._absent(variable, bound)
        return all(self._absent(variable, p) for p in within.params)


def most_general(a: Type, b: Type) -> Type:
    """Give the more general one of two types that fit."""
    return a if _less_specific(a, b) else b


def _open(t: Type) -> bool:
    return t.dynamic or t.kind is Kind.ERROR


def _nullable(t: Type) -> bool:
    return t.kind in _NULLABLE or t.kind is Kind.NULL


def _less_specific(a: Type, b: Type) -> bool:
    if a.dynamic or a.kind is Kind.PARAM:
        return True
    if b.dynamic or b.kind is Kind.PARAM or a.kind is not b.kind:
        return False
    if a.kind in _COMPOUND:
        return a.name == b.name and len(a.params) == len(b.params) and all(map(_less_specific, a.params, b.params))
    return a.kind is Kind.TYPE or a == b
