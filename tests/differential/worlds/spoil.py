"""Ways to make an object one that an API server may refuse."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.differential.worlds.devices import Json
from tests.differential.worlds.dice import Dice

Path = tuple[str | int, ...]

_TEXTS = [
    *("", "a", "A", "a.b", "a_b", "-a", "a-", "a/b", "a/b/c", "/a", "a//", "Dra.Example.com", "x.io/a", "x.io/A-b"),
    *("a" * 33, "a" * 64, "a" * 253, "a" * 254, "ä" * 33, " a", "1a", "a b", "*", "x" * 10241),
    *("None", "NoSchedule", "Exists", "Equal", "All", "ExactCount", "r0", "r0/s0", "r9"),
    *("dra.example.com", "dra.example.com/numa", f"{'d' * 63}/x", f"{'d' * 64}/x"),
]
_NUMBERS = [0, 1, -1, 2, 33, 1000, 1001, 9223372036854775807, 1 << 40]
_AMOUNTS = ["0", "-1", "1", "1Gi", "0.5", "1500m", "9223372036854775808", "nope", "1e3", "10E"]
_LIMITS = [2, 3, 5, 9, 10, 11, 16, 17, 32, 33, 48, 49, 64, 65, 128, 129, 257]
_OTHERS: list[Any] = [None, [], {}, True, False, 1.5, "text", [1], {"a": 1}, [{}]]
_EXPRESSIONS = [
    *("true", "false", "1", "", " ", "device.driver ==", "device.attributes", "x", "device.allowMultipleAllocations"),
    *('device.attributes["a"].b', 'device.attributes["dra.example.com"].zones.includes("a")', "1.5", "[1]", '"a"'),
    *(f"device.driver == '{'a' * 10300}'", "true" + " " * 10236, "true" + " " * 10237, 'semver("1.0.0")'),
    'device.attributes["dra.example.com"].zones.all(x, x.matches("a+b"))',
]
_DEEP = "".join(f"[0,1,2,3,4,5,6,7,8,9].all(v{i}, " for i in range(7)) + 'device.driver.matches("a+b")' + ")" * 7


def one(dice: Dice, made: Json, root: Path, but: str = "") -> None:
    """Change something below ``root``, and nothing in members of the name ``but``."""
    paths = [path for path in _paths(made) if path[: len(root)] == root and len(path) > len(root) and but not in path]
    if not paths:
        return
    path = dice.one(paths)
    holder, key = _at(made, path[:-1]), path[-1]
    value = deepcopy(holder[key])  # or it could end up within itself
    match dice.number(0, 9):
        case 0:
            del holder[key]
        case 4 | 5:
            holder[key] = deepcopy(dice.one([_at(made, other) for other in paths if other[-1] == key]))
        case 1:
            holder[key] = deepcopy(dice.one(_OTHERS))
        case 2 if isinstance(holder, dict):
            holder[dice.one(["unknown", "Name", f"{key}s", "nodeName", "allNodes"])] = dice.one([value, True, "a"])
        case 3:
            _multiply(dice, made, path)
        case _:
            holder[key] = _like(dice, str(key), value)


def _like(dice: Dice, key: str, value: Any) -> Any:
    """Give another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return dice.one(_NUMBERS)
        case str():
            return _text(dice, key, value)
        case dict():
            return dice.one([{}, {dice.one(_TEXTS): deepcopy(next(iter(value.values()), {}))}])
        case list():
            return dice.one([[], value[:1] * 2, value[::-1], [*value, *deepcopy(value[:1])]])
    return value


def _text(dice: Dice, key: str, value: str) -> str:
    if key == "expression":
        return dice.one([*_EXPRESSIONS, _DEEP])
    return dice.one(_AMOUNTS if value[:1].isdigit() and dice.chance(0.7) else _TEXTS)


def _multiply(dice: Dice, made: Json, path: Path) -> None:
    """Bring a list or map near a limit, with other names or with the same one."""
    holders = [path[:i] for i in range(1, len(path) + 1) if isinstance(_at(made, path[:i]), list | dict)]
    if not holders:
        return
    value = _at(made, dice.one(holders))
    number, same = dice.one(_LIMITS), dice.chance(0.15)
    if isinstance(value, list) and value:
        first = value[0]
        while len(value) < number:
            value.append(_renamed(first, len(value), same))
    elif isinstance(value, dict) and value and all(isinstance(each, dict) for each in value.values()):
        first = next(iter(value.values()))
        for i in range(len(value), number):
            value.setdefault(f"k{i}", deepcopy(first))  # it may have been spoilt so before


def _renamed(item: Any, number: int, same: bool) -> Any:
    if isinstance(item, str):
        return item if same else f"{item}{number}"
    found = deepcopy(item)
    if isinstance(found, dict) and not same:
        for key in ("name", "counterSet", "uid", "type", "device"):
            if isinstance(found.get(key), str):
                found[key] = f"{found[key][:40]}{number}"
    return found


def _paths(value: Any, at: Path = ()) -> list[Path]:
    found: list[Path] = [at] if at else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*at, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            found += _paths(inner, (*at, i))
    return found


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value
