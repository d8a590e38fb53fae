"""Macros: calls that become loops, presence tests and bindings before types are checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from dragoman_allocator.cel.syntax import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select

ACCUMULATOR: Final = "@result"
UNUSED: Final = "#unused"
_OVERWRITES: Final = "iteration variable overwrites accumulator variable"


class MacroError(Exception):
    """The arguments of a macro do not have the form that it needs; ``at`` is the offset in the text."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


_Macro: TypeAlias = Callable[[Node, Sequence[Node], int], Node | None]


def expand(name: str, target: Node | None, args: Sequence[Node], at: int) -> Node | None:
    """Give what the call expands to; None if it is no macro. Raises ``MacroError``."""
    if target is None:
        return _has(args[0], at) if name.removeprefix(".") == "has" and name == "has" and len(args) == 1 else None
    macro = _MACROS.get((name, len(args)))
    return macro(target, args, at) if macro else None


def _has(arg: Node, at: int) -> Node:
    if not isinstance(arg, Select):
        raise MacroError(arg.at, "invalid argument to has() macro")
    return Select(arg.operand, arg.field, test=True, at=at)


def _variable(node: Node, message: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, message)
    if node.name == "__result__":
        raise MacroError(node.at, _OVERWRITES)
    return node.name


def _variables(args: Sequence[Node]) -> tuple[str, str]:
    first, second = _variable(args[0]), _variable(args[1])
    if first == second:
        raise MacroError(args[1].at, f"duplicate variable name: {first}")
    return first, second


def _accumulated(at: int) -> Ident:
    return Ident(ACCUMULATOR, at=at)


def _loop(
    target: Node, names: tuple[str, str | None], init: Node, condition: Node, step: Node, result: Node | None = None
) -> Fold:
    at = target.at
    first, second = names
    return Fold(target, first, second, ACCUMULATOR, init, condition, step, result or _accumulated(at), at=at)


def _all(target: Node, names: tuple[str, str | None], body: Node, at: int) -> Node:
    condition = Call("@not_strictly_false", [_accumulated(at)], at=at)
    step = Call("_&&_", [_accumulated(at), body], at=at)
    return _loop(target, names, Literal(value=True, at=at), condition, step)


def _exists(target: Node, names: tuple[str, str | None], body: Node, at: int) -> Node:
    condition = Call("@not_strictly_false", [Call("!_", [_accumulated(at)], at=at)], at=at)
    step = Call("_||_", [_accumulated(at), body], at=at)
    return _loop(target, names, Literal(value=False, at=at), condition, step)


def _exists_one(target: Node, names: tuple[str, str | None], body: Node, at: int) -> Node:
    add = Call("_+_", [_accumulated(at), Literal(value=1, at=at)], at=at)
    step = Call("_?_:_", [body, add, _accumulated(at)], at=at)
    result = Call("_==_", [_accumulated(at), Literal(value=1, at=at)], at=at)
    return _loop(target, names, Literal(value=0, at=at), Literal(value=True, at=at), step, result)


def _quantifier(make: Callable[[Node, tuple[str, str | None], Node, int], Node]) -> dict[int, _Macro]:
    def one(target: Node, args: Sequence[Node], at: int) -> Node:
        return make(target, (_variable(args[0]), None), args[1], at)

    def two(target: Node, args: Sequence[Node], at: int) -> Node:
        return make(target, _variables(args), args[2], at)

    return {2: one, 3: two}


def _collect(
    target: Node, names: tuple[str, str | None], init: Node, step: Node, filtered: Node | None, at: int
) -> Node:
    if filtered is not None:
        step = Call("_?_:_", [filtered, step, _accumulated(at)], at=at)
    return _loop(target, names, init, Literal(value=True, at=at), step)


def _append(element: Node, at: int) -> Node:
    return Call("_+_", [_accumulated(at), ListNode([element], at=at)], at=at)


def _map(target: Node, args: Sequence[Node], at: int) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    filtered = args[1] if len(args) == 3 else None
    return _collect(target, (name, None), ListNode([], at=at), _append(args[-1], at), filtered, at)


def _filter(target: Node, args: Sequence[Node], at: int) -> Node:
    name = _variable(args[0], "argument is not an identifier")
    element = Ident(name, at=args[0].at)
    return _collect(target, (name, None), ListNode([], at=at), _append(element, at), args[1], at)


def _transform_list(target: Node, args: Sequence[Node], at: int) -> Node:
    filtered = args[2] if len(args) == 4 else None
    return _collect(target, _variables(args), ListNode([], at=at), _append(args[-1], at), filtered, at)


def _transform_map(target: Node, args: Sequence[Node], at: int) -> Node:
    names = _variables(args)
    filtered = args[2] if len(args) == 4 else None
    insert = Call("cel.@mapInsert", [_accumulated(at), Ident(names[0], at=at), args[-1]], at=at)
    return _collect(target, names, MapNode([], at=at), insert, filtered, at)


def _transform_map_entry(target: Node, args: Sequence[Node], at: int) -> Node:
    filtered = args[2] if len(args) == 4 else None
    insert = Call("cel.@mapInsert", [_accumulated(at), args[-1]], at=at)
    return _collect(target, _variables(args), MapNode([], at=at), insert, filtered, at)


def _binding(name: str, value: Node, body: Node, at: int) -> Node:
    """Evaluate the body with a name for a value: a loop over nothing, whose accumulator has that name."""
    condition = Literal(value=False, at=at)
    return Fold(ListNode([], at=at), UNUSED, None, name, value, condition, Ident(name, at=at), body, at=at)


def _bind(target: Node, args: Sequence[Node], at: int) -> Node | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, "cel.bind() variable names must be simple identifiers")
    return _binding(args[0].name, args[1], args[2], at)


def _optional_map(target: Node, args: Sequence[Node], at: int) -> Node:
    mapped = Call("optional.of", [_optional_body("optMap", target, args, at)], at=at)
    return _if_present(target, mapped, at)


def _optional_flat_map(target: Node, args: Sequence[Node], at: int) -> Node:
    return _if_present(target, _optional_body("optFlatMap", target, args, at), at)


def _optional_body(macro: str, target: Node, args: Sequence[Node], at: int) -> Node:
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, f"{macro}() variable name must be a simple identifier")
    return _binding(args[0].name, Call("value", [], target, at=at), args[1], at)


def _if_present(target: Node, mapped: Node, at: int) -> Node:
    return Call("_?_:_", [Call("hasValue", [], target, at=at), mapped, Call("optional.none", [], at=at)], at=at)


def _sort_by(target: Node, args: Sequence[Node], at: int) -> Node:
    if not isinstance(target, ListNode | Select | Ident | Fold | Call):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.at, message)
    name = "@__sortBy_input__"
    keys = _map(Ident(name, at=at), args, at)
    return _binding(name, target, Call("@sortByAssociatedKeys", [keys], Ident(name, at=at), at=at), at)


_MACROS: Final[dict[tuple[str, int], _Macro]] = {
    **{("all", n): macro for n, macro in _quantifier(_all).items()},
    **{("exists", n): macro for n, macro in _quantifier(_exists).items()},
    **{("exists_one", n): macro for n, macro in _quantifier(_exists_one).items()},
    ("existsOne", 3): _quantifier(_exists_one)[3],
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("bind", 3): _bind,
    ("optMap", 2): _optional_map,
    ("optFlatMap", 2): _optional_flat_map,
    ("sortBy", 2): _sort_by,
}
