"""Functions and their overloads: what the checker resolves and what a call runs.

Libraries are tables of overloads. An overload whose ``run`` is None belongs to an operator that the planner evaluates
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dragoman_allocator.cel.types import Kind, Type, parse_type, parse_types
from dragoman_allocator.cel.values import KINDS, LISTS, MAPS, Value

Run: TypeAlias = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. ``guarded`` tells whether arguments are compared with it when the call runs."""

    function: str
    id: str
    member: bool
    params: tuple[Type, ...]
    result: Type
    run: Run | None = None
    guarded: bool = True

    def takes(self, args: Sequence[Value]) -> bool:
        """Tell whether values fit, as far as they are looked at: of a list or map only the first element."""
        return len(args) == len(self.params) and (not self.guarded or all(map(_takes, self.params, args)))


@dataclass(slots=True)
class Function:
    """All overloads of a name. ``run`` is set where one implementation serves all of them and checks types itself."""

    name: str
    overloads: list[Overload] = field(default_factory=list)
    run: Run | None = None


def _overload(name: str, member: bool, signature: str, id_: str, run: Run | None, guarded: bool) -> Overload:
    params, _, result = signature.partition("->")
    return Overload(name, id_, member, parse_types(params), parse_type(result), run, guarded)


def function(name: str, signature: str, id_: str, run: Run | None = None, *, guarded: bool = True) -> Overload:
    """Declare ``name(params)``, with a signature such as ``"string, int -> list<string>"``."""
    return _overload(name, False, signature, id_, run, guarded)


def method(name: str, signature: str, id_: str, run: Run | None = None, *, guarded: bool = True) -> Overload:
    """Declare ``receiver.name(params)``; the receiver is the first type of the signature."""
    return _overload(name, True, signature, id_, run, guarded)


def table(overloads: Iterable[Overload], singletons: dict[str, Run]) -> dict[str, Function]:
    """Collect overloads by name, with the implementations that serve all overloads of a name."""
    found: dict[str, Function] = {}
    for overload in overloads:
        found.setdefault(
            overload.function, Function(overload.function, run=singletons.get(overload.function))
        ).overloads.append(overload)
    return found


def _takes(t: Type, value: Value) -> bool:
    if t.dynamic or t.kind is Kind.PARAM:
        return True
    kind = KINDS[type(value)]
    if t.name != kind.name:
        return False
    if type(value) in LISTS:
        return not value or _takes(t.params[0], value[0])
    if type(value) in MAPS:
        return not value or _takes_entry(t, value)
    return True


def _takes_entry(t: Type, value: Any) -> bool:
    key = next(value.cel_keys())
    return _takes(t.params[0], key) and _takes(t.params[1], value.look_up(key))
