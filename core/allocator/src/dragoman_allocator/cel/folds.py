"""Closures for loops: what the macros become."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_allocator.cel.attributes import Evaluate
from dragoman_allocator.cel.costs import Frame
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.values import LISTS, MAPS, MISSING, Growing, GrowingMap, Map, Value, type_of


class _Failure:
    """An error that a loop carries on in its accumulator, since a later element may make up for it."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def variable(slot: int) -> Evaluate:
    """Read the variable of a loop."""
    return lambda frame: frame.slots[slot]


def accumulator(slot: int, init: Evaluate) -> Evaluate:
    """Read an accumulator; its first value is evaluated when it is first read, never if it is not."""

    def run(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value is MISSING:
            value = frame.slots[slot] = _start(frame, init)
        if type(value) is _Failure:
            raise value.error.with_traceback(None)
        return value

    return run


def _start(frame: Frame, init: Evaluate) -> Value:
    try:
        value = init(frame)
    except EvaluationError as error:
        return _Failure(error)
    if not value and type(value) in LISTS:
        return Growing()
    if not value and type(value) in MAPS:
        return GrowingMap()
    return value


def _finished(value: Value) -> Value:
    if type(value) is Growing:
        return list(value)
    return Map(value) if type(value) is GrowingMap else value


def _goes_on(frame: Frame, condition: Evaluate) -> bool:
    try:
        return condition(frame) is not False
    except EvaluationError:
        return True


def _advance(frame: Frame, slot: int, condition: Evaluate, step: Evaluate) -> bool:
    """Do one round; give whether it was done."""
    if not _goes_on(frame, condition):
        return False
    try:
        frame.slots[slot] = step(frame)
    except EvaluationError as error:
        frame.slots[slot] = _Failure(error)
    frame.check()
    return True


def loop(over: Evaluate, slots: tuple[int, int], condition: Evaluate, step: Evaluate, result: Evaluate) -> Evaluate:
    """Loop over the elements of a list or the keys of a map."""
    accumulated, element = slots

    def run(frame: Frame) -> Value:
        elements = over(frame)
        frame.slots[accumulated] = MISSING
        frame.check()
        for value in _elements(elements):
            frame.slots[element] = value
            if not _advance(frame, accumulated, condition, step):
                break
        return _finished(result(frame))

    return run


def _elements(value: Value) -> Iterator[Value]:
    if type(value) in LISTS:
        return iter(value)
    if type(value) in MAPS:
        return iter(value.cel_keys())
    raise EvaluationError(f"got '{type_of(value).name}', expected iterable type")


def loop_over_entries(
    over: Evaluate, slots: tuple[int, int, int], condition: Evaluate, step: Evaluate, result: Evaluate
) -> Evaluate:
    """Loop over the entries of a map, or over the elements of a list with their positions."""
    accumulated, key, value = slots

    def run(frame: Frame) -> Value:
        entries = over(frame)
        frame.slots[accumulated] = MISSING
        frame.check()
        for frame.slots[key], frame.slots[value] in _entries(entries):
            if not _advance(frame, accumulated, condition, step):
                break
        return _finished(result(frame))

    return run


def _entries(entries: Value) -> Iterator[tuple[Value, Value]]:
    if type(entries) in MAPS:
        return zip(entries.cel_keys(), entries.values(), strict=True)
    if type(entries) in LISTS:
        return iter(enumerate(entries))
    raise EvaluationError(f"unsupported comprehension range type: {type_of(entries).name}")
