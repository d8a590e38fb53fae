"""Worlds of one CEL expression and one device.

Expressions are made by type, from the parts of the language and of the libraries that a device selector may use; some
are spoilt afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.differential.worlds import cel_parts, gates
from tests.differential.worlds.cel_parts import DOMAIN, OTHER
from tests.differential.worlds.devices import Json
from tests.differential.worlds.dice import Dice

_DEPTH = {"small": 1, "mixed": 2, "hard": 4}


def make(dice: Dice, size: str) -> Json:
    """Make one question of kind ``cel``."""
    chosen = gates.draw(dice) if dice.chance(0.5) else gates.release("1.37")
    expression = dice.one(cel_parts.WHOLE) if dice.chance(0.25) else boolean(dice, _DEPTH[size])
    if dice.chance(0.06):
        expression = _spoilt(dice, expression)
    return {"features": chosen.value, "expression": expression, "device": _device(dice)}


def _device(dice: Dice) -> Json:
    attributes: Json = {
        "s": {"string": dice.one(["", "a", "abc", "numa-0", "x,y,z", "Grün", "10.0.0.1", "fe80::1%1", "a.b-c"])},
        "i": {"int": dice.one([0, 1, 2, 3, -1, 7, 9223372036854775807, -9223372036854775808])},
        "b": {"bool": dice.chance(0.5)},
        "v": {"version": dice.one(["1.0.0", "1.2.3", "2.0.0-rc.1", "10.0.0", "1.0.0+b7"])},
        f"{OTHER}/s": {"string": dice.one(["abc", "def"])},
        "ip": {"string": dice.one(["10.0.0.1", "192.168.1.7", "::1", "fe80::1", "300.1.1.1", "2001:db8::5"])},
        "cidr": {"string": dice.one(["10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32", "10.0.0.1/8", "nope"])},
        "url": {"string": dice.one(["https://example.com:8443/a/b?x=1&y=2", "http://[::1]/", "/only/path", "::bad"])},
    }
    if dice.chance(0.7):
        attributes["ss"] = {"strings": dice.one([["a", "b"], ["abc"], ["x", "y", "z", "a"]])}
        attributes["ii"] = {"ints": dice.one([[1, 2, 3], [7], [3, 1, 2]])}
        attributes["bb"] = {"bools": dice.one([[True], [True, False]])}
        attributes["vv"] = {"versions": dice.one([["1.0.0"], ["1.2.3", "2.0.0"]])}
    if dice.chance(0.03):
        attributes["bad"] = dice.one([{}, {"version": "1.2"}])
    capacity = {
        "mem": {"value": dice.one(["1Gi", "8Gi", "1500m", "0", "-1", "10E"])},
        f"{OTHER}/bw": {"value": dice.one(["10G", "25G"])},
    }
    device: Json = {"driver": DOMAIN, "attributes": attributes, "capacity": capacity}
    if dice.chance(0.4):
        device["allowMultipleAllocations"] = dice.chance(0.5)
    return device


def _spoilt(dice: Dice, expression: str) -> str:
    position = dice.number(0, len(expression))
    if dice.chance(0.5):
        return expression[:position] + expression[position + 1 :]
    return expression[:position] + dice.one(["(", ")", "!", ".", '"', " ", "1", "x", "&&", "?"]) + expression[position:]


def boolean(dice: Dice, depth: int) -> str:
    """Make an expression that is a truth value, or is meant to be one."""
    if depth <= 0:
        return dice.one(["true", "false", f'device.attributes["{DOMAIN}"].b', "device.allowMultipleAllocations"])
    same = dice.one(list(_MAKERS.values()))
    ordered = dice.one([integer, text])
    shapes: list[Callable[[], str]] = [
        lambda: f"({boolean(dice, depth - 1)} {dice.one(['&&', '||'])} {boolean(dice, depth - 1)})",
        lambda: f"!{boolean(dice, depth - 1)}",
        lambda: f"({boolean(dice, depth - 1)} ? {boolean(dice, depth - 1)} : {boolean(dice, depth - 1)})",
        lambda: f"{same(dice, depth - 1)} {dice.one(['==', '!='])} {same(dice, depth - 1)}",
        lambda: f"{ordered(dice, depth - 1)} {dice.one(['<', '<=', '>', '>='])} {ordered(dice, depth - 1)}",
        lambda: _filled(dice, dice.one(cel_parts.BOOLEAN), depth),
        lambda: _filled(dice, dice.one(cel_parts.BOOLEAN), depth),
    ]
    return dice.one(shapes)()


def integer(dice: Dice, depth: int) -> str:
    """Make an expression that is a whole number."""
    if depth <= 0:
        return dice.one([str(dice.number(-2, 9)), f'device.attributes["{DOMAIN}"].i', "9223372036854775807"])
    return _filled(dice, dice.one(cel_parts.INTEGER), depth)


def text(dice: Dice, depth: int) -> str:
    """Make an expression that is a text."""
    if depth <= 0:
        constants = ['"a"', "'abc'", '"x,y"', '"numa-0"', '""', 'r"\\d+"', '"ä"', '"a\\tb"', '"""abc"""']
        read = [f'device.attributes["{DOMAIN}"].s', "device.driver", f'device.attributes["{OTHER}"].s']
        return dice.one([*constants, *read * 3])
    return _filled(dice, dice.one(cel_parts.TEXT), depth)


def items(dice: Dice, depth: int) -> str:
    """Make an expression that is a list."""
    if depth <= 0:
        return dice.one(
            ["[1, 2, 3]", '["a", "b"]', f'device.attributes["{DOMAIN}"].ss', f'device.attributes["{DOMAIN}"].ii', "[]"]
        )
    return _filled(dice, dice.one(cel_parts.ITEMS), depth)


def amount(dice: Dice, depth: int) -> str:
    """Make an expression that is a quantity."""
    if depth <= 0:
        return dice.one(['quantity("1Gi")', 'quantity("1500m")', 'quantity("0")', f'device.capacity["{DOMAIN}"].mem'])
    return _filled(dice, dice.one(cel_parts.AMOUNT), depth)


def version(dice: Dice, depth: int) -> str:
    """Make an expression that is a semantic version."""
    known = ['semver("1.2.3")', 'semver("v1.2", true)', 'semver("2.0.0-rc.1")', f'device.attributes["{DOMAIN}"].v']
    return dice.one(known) if depth <= 0 or dice.chance(0.9) else 'semver("1.2")'


_MAKERS: dict[str, Callable[[Dice, int], str]] = {
    "B": boolean,
    "I": integer,
    "S": text,
    "L": items,
    "Q": amount,
    "V": version,
}


def _filled(dice: Dice, template: str, depth: int) -> str:
    """Put expressions of the type that a letter stands for where a template has ``$B`` and the like."""
    return re.sub(r"\$([BILQSV])", lambda found: _MAKERS[found[1]](dice, depth - 1), template)
