"""Worlds of quantities: texts that are legal, nearly legal, and on the edges of what fits."""

from __future__ import annotations

from typing import Any

from tests.differential.worlds.dice import Dice

_SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
_WRONG = ["K", "ki", "e", "ee3", "i", "mi", "Zi", "Y", "e1.5", "m ", "Gi1", "E i", "eE", "e+", "_", ",5"]
_EDGES = [
    *(
        "0",
        "00",
        "-0",
        "+0",
        "0.0",
        "0Ki",
        "Ki",
        "m",
        ".",
        "",
        " ",
        "+",
        "-",
        "--1",
        "+-1",
        ".Ki",
        "-.5",
        "1..0",
        "1.2.3",
    ),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "9Ei",
        "-9Ei",
        "8Ei",
    ),
    *("10E", "1E", "9E", "10Ei", "0.1n", "1.5n", "-0.1n", "0.5Ki", "1023Mi", "1e18", "1e-9", "1e-10", "1e20", "100e18"),
    *("999999999999999999", "1000000000000000000", "9999999999999999999n", "0.000000001", "0.0000000001", "1e1000"),
    *(
        "1e-1000",
        "١",
        "1\u00a0",
        "0x10",
        "1_000",
        "1e3k",
        "1Ki3",
        "123456789012345678.9",
        "7.9999999999Ei",
    ),
]


def make(dice: Dice, _size: str) -> dict[str, Any]:
    """Make one question of kind ``quantity``."""
    question: dict[str, Any] = {"text": _text(dice)}
    if dice.chance(0.7):
        question["other"] = _text(dice)
    return question


def _text(dice: Dice) -> str:
    if dice.chance(0.12):
        return dice.one(_EDGES)
    text = dice.weighted({"": 8.0, "-": 2.0, "+": 0.7}) + _digits(dice)
    if dice.chance(0.05):
        return text + dice.one(_WRONG)
    if dice.chance(0.2):
        return f"{text}{dice.one('eE')}{dice.one(['', '+', '-'])}{dice.number(0, 22 if dice.chance(0.2) else 9)}"
    return text + dice.one(_SUFFIXES)


def _digits(dice: Dice) -> str:
    most = dice.weighted({3: 5.0, 8: 2.0, 18: 1.5, 19: 1.0, 30: 0.7})
    whole = str(dice.number(0, 10 ** dice.number(0, most)))
    if dice.chance(0.15):
        whole = "0" * dice.number(1, 3) + whole
    if dice.chance(0.15):
        whole += "000"
    if dice.chance(0.7):
        return whole
    part = str(dice.number(0, 10 ** dice.number(0, 12)))
    zeros = "0" * dice.number(0, 3)
    return dice.weighted(
        {
            f"{whole}.{part}": 6.0,
            f"{whole}.{zeros}{part}": 3.0,
            f".{part}": 1.0,
            f"{whole}.": 1.0,
            f"{whole}.{part}{zeros}": 2.0,
        }
    )
