"""Chance that can be had again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Random choices which the name of a world alone decides."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    def chance(self, probability: float) -> bool:
        """Say yes with this probability."""
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        """Give a whole number, both ends included."""
        return self._random.randint(low, high)

    def one(self, choices: Sequence[T]) -> T:
        """Give one of them."""
        return self._random.choice(choices)

    def weighted(self, choices: dict[T, float]) -> T:
        """Give one of them; the numbers say how often."""
        return self._random.choices(list(choices), list(choices.values()))[0]

    def some(self, choices: Sequence[T], low: int, high: int) -> list[T]:
        """Give between ``low`` and ``high`` different ones, in any order."""
        most = min(high, len(choices))
        return self._random.sample(list(choices), self.number(min(low, most), most))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Give them in any order."""
        return self._random.sample(list(items), len(items))
