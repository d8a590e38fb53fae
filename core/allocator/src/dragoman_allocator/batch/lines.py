"""Lines of a file descriptor, with word of the moment when no more input waits."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from typing import Final

LONGEST_LINE: Final = 512 * 2**20
"""Bytes of the longest line that is kept; several times the slices and claims of the largest cluster."""

_CHUNK: Final = 2**20


def lines(source: int, idle: Callable[[], object], longest: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Give each line without its end, also a last one that has none; None for a line longer than ``longest`` bytes.

    ``idle`` is called before a read that would wait.
    """
    line = _Line(longest)
    while chunk := _read(source, idle):
        first, *others = chunk.split(b"\n")
        line.add(first)
        for other in others:
            yield line.take()
            line.add(other)
    if line.size:
        yield line.take()


def _read(source: int, idle: Callable[[], object]) -> bytes:
    if not select.select([source], [], [], 0)[0]:
        idle()
    return os.read(source, _CHUNK)


class _Line:
    """A line as far as it was read; what is too long is counted, not kept."""

    def __init__(self, longest: int) -> None:
        self.size = 0
        self._longest = longest
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size <= self._longest:
            self._chunks.append(chunk)
        else:
            self._chunks.clear()

    def take(self) -> bytes | None:
        line = b"".join(self._chunks) if self.size <= self._longest else None
        self._chunks.clear()
        self.size = 0
        return line
