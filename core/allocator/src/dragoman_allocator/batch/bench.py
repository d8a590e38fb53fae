"""Kind ``bench``: one row for each thing that is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dragoman_allocator.batch import bench_allocate, bench_poolstatus
from dragoman_allocator.batch.line import Line
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects.meta import JsonObject

BENCHES: Final[Mapping[str, Callable[[Line], JsonObject]]] = {
    "allocate": bench_allocate.answer,
    "poolstatus": bench_poolstatus.answer,
}


def answer(line: Line) -> JsonObject:
    """Measure what ``bench`` names. Raises ``InvalidInput``."""
    name = line.text("bench")
    if name not in BENCHES:
        raise InvalidInput(f"bench {name[:100]!r} is not one of {', '.join(BENCHES)}")
    return BENCHES[name](line)
