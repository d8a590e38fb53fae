"""Pairs of least and most, in unsigned 64-bit numbers that stop at the largest one."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

LARGEST: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Span:
    """What something costs, or how large it is: at least, and at most."""

    least: int
    most: int

    def __add__(self, other: Span) -> Span:
        return Span(min(self.least + other.least, LARGEST), min(self.most + other.most, LARGEST))

    def __mul__(self, other: Span) -> Span:
        return Span(min(self.least * other.least, LARGEST), min(self.most * other.most, LARGEST))

    def union(self, other: Span) -> Span:
        """Give what covers both."""
        return Span(min(self.least, other.least), max(self.most, other.most))

    def times(self, factor: float) -> Span:
        """Multiply, rounded up, in the floating-point numbers in which cel-go does it."""
        return Span(_times(self.least, factor), _times(self.most, factor))


def _times(number: int, factor: float) -> int:
    if number > 0 and factor > 0 and float(number) > float(LARGEST) / factor:
        return LARGEST
    return min(ceil(float(number) * factor), LARGEST)


FREE: Final = Span(0, 0)
ONE: Final = Span(1, 1)
UNKNOWN: Final = Span(0, LARGEST)
