"""Which module answers which kind of line: a kind is one import and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dragoman_allocator.batch import allocate, bench, cel, podallocatable, poolstatus, quantity, validate
from dragoman_allocator.batch.line import Line
from dragoman_allocator.objects.meta import JsonObject

Answer: TypeAlias = Callable[[Line], JsonObject]
"""Gives the members of the answer. Raises ``InvalidInput`` for a bad line; whatever else it raises is our fault."""

KINDS: Final[Mapping[str, Answer]] = {
    "allocate": allocate.answer,
    "bench": bench.answer,
    "cel": cel.answer,
    "podAllocatable": podallocatable.answer,
    "poolstatus": poolstatus.answer,
    "quantity": quantity.answer,
    "validate": validate.answer,
}
