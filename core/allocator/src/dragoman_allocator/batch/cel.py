"""Kind ``cel``: what one expression says about one device, as a selector."""

from __future__ import annotations

from functools import cache

from dragoman_allocator.batch.line import Line
from dragoman_allocator.cel import CompileError, Environment, EvaluationError
from dragoman_allocator.objects import Attribute, Capacity, Device
from dragoman_allocator.objects.meta import JsonObject, Struct


class _Device(Struct):
    """A device as this kind writes it: with its driver."""

    driver: str = ""
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    allow_multiple_allocations: bool | None = None


@cache
def _environment() -> Environment:
    return Environment()


def answer(line: Line) -> JsonObject:
    """Answer with ``compileError``, or with ``runtimeError``, or with ``result``.

    Expressions count as stored ones, which is what the scheduler runs: feature gates do not matter to them. Raises
    ``InvalidInput`` for a device that is none.
    """
    expression = line.text("expression")
    given = line.typed("device", _Device, _Device())
    device = Device(
        attributes=given.attributes,
        capacity=given.capacity,
        allow_multiple_allocations=given.allow_multiple_allocations,
    )
    try:
        program = _environment().compile(expression)
    except CompileError as error:
        return {"compileError": str(error)}
    try:
        return {"result": program.evaluate(given.driver, device)}
    except EvaluationError as error:
        return {"runtimeError": str(error)}
