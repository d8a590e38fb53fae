"""Chains such as ``device.attributes["d"].?name``: a root and the steps from it.

A step on an optional value, and every step after ``.?`` or ``[?``, gives "none" where a plain step would fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from dragoman_allocator.cel.costs import Frame
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.values import (
    INT_MAX,
    INT_MIN,
    LISTS,
    MAPS,
    MISSING,
    NONE,
    NUMBERS,
    Optional,
    Uint,
    Value,
    type_of,
)

Evaluate: TypeAlias = Callable[[Frame], Value]
_KEYS = (str, int, Uint, bool, float)


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a constant key, or one that is evaluated."""

    key: Value = None
    evaluate: Evaluate | None = None
    optional: bool = False

    def key_in(self, frame: Frame) -> Value:
        """Give the key. Raises ``EvaluationError`` if it is nothing that a map or list can be asked for."""
        if self.evaluate is None:
            return self.key
        key = self.evaluate(frame)
        if not valid_key(key):
            frame.cost += 1
            raise EvaluationError(f"invalid qualifier type: {type_of(key)}")
        return key


def valid_key(key: Value) -> bool:
    """Tell whether maps and lists can be asked for the key."""
    return type(key) in _KEYS


@dataclass(frozen=True, slots=True)
class Attribute:
    """A chain. ``base_cost`` is what its root costs; ``test`` makes it ``has(...)`` of the last step."""

    root: Evaluate
    base_cost: int
    steps: tuple[Step, ...] = ()
    test: bool = False

    def then(self, step: Step) -> Attribute:
        """Give the chain with one more step."""
        return replace(self, steps=(*self.steps, step))

    def evaluation(self, *, counted: bool = True) -> Evaluate:
        """Make what evaluates the chain. A branch of ``?:`` does not count its root."""
        cost = self.base_cost if counted else 0
        if self.test:
            return _presence(self.root, self.steps, cost - 1) if counted else _bare_presence(self.root, self.steps)
        if not self.steps:
            return _bare(self.root, cost) if cost else self.root
        if all(step.evaluate is None and not step.optional for step in self.steps):
            return _constant_steps(self.root, tuple(step.key for step in self.steps), cost)
        return _any_steps(self.root, self.steps, cost)


def _bare(root: Evaluate, cost: int) -> Evaluate:
    def run(frame: Frame) -> Value:
        frame.cost += cost
        return root(frame)

    return run


def _constant_steps(root: Evaluate, keys: tuple[Value, ...], cost: int) -> Evaluate:
    cost += len(keys)
    steps = tuple(Step(key) for key in keys)

    def run(frame: Frame) -> Value:
        value = root(frame)
        if type(value) is Optional:
            return walk(frame, value, steps, cost - len(keys))
        frame.cost += cost
        taken = 0
        try:
            for key in keys:
                taken += 1
                value = step_to(value, key)
        except EvaluationError:
            frame.cost -= len(keys) - taken
            raise
        return value

    return run


def _any_steps(root: Evaluate, steps: tuple[Step, ...], cost: int) -> Evaluate:
    return lambda frame: walk(frame, root(frame), steps, cost)


def _presence(root: Evaluate, steps: tuple[Step, ...], cost: int) -> Evaluate:
    bare = _bare_presence(root, steps)

    def run(frame: Frame) -> bool:
        frame.cost += cost
        value = bare(frame)
        return value.value is not MISSING if type(value) is Optional else value

    return run


def _bare_presence(root: Evaluate, steps: tuple[Step, ...]) -> Evaluate:
    """Test for the last step; after an optional step the answer is an optional, which a branch of ``?:`` keeps."""
    *before, last = steps

    def run(frame: Frame) -> Value:
        value = walk(frame, root(frame), tuple(before), 0)
        if type(value) is not Optional:
            frame.cost += 1
            return find(value, last.key) is not MISSING
        if value.value is MISSING or find(value.value, last.key) is MISSING:
            return NONE
        frame.cost += 1
        return Optional(None)

    return run


def walk(frame: Frame, value: Value, steps: tuple[Step, ...], cost: int) -> Value:
    """Take all steps from a value; one that fails is paid for, one that finds nothing is not."""
    frame.cost += cost
    optional = type(value) is Optional
    if optional:
        if value.value is MISSING:
            return value
        value = value.value
    for step in steps:
        optional = optional or step.optional
        key = step.key_in(frame)
        if optional:
            value = find(value, key)
            if value is MISSING:
                return NONE
            frame.cost += 1
        else:
            frame.cost += 1
            value = step_to(value, key)
    return Optional(value) if optional else value


def step_to(value: Value, key: Value) -> Value:
    """Give the entry or element. Raises ``EvaluationError`` if there is none."""
    found = find(value, key)
    if found is MISSING:
        missing = "index out of bounds" if type(value) in LISTS else "no such key"
        raise EvaluationError(f"{missing}: {printed(key)}")
    return found


def find(value: Value, key: Value) -> Value:
    """Give the entry or element, ``MISSING`` if there is none or the value has none at all."""
    cls = type(value)
    if cls in MAPS:
        return value.look_up(key)
    if cls in LISTS:
        at = list_index(key)
        return value[at] if 0 <= at < len(value) else MISSING
    return MISSING


def list_index(key: Value) -> int:
    """Read an index of a list. Raises ``EvaluationError`` if it is no whole number."""
    if type(key) is int:
        return key
    if type(key) not in NUMBERS:
        raise EvaluationError(f"unsupported index type '{type_of(key).name}' in list")
    if not INT_MIN <= key <= INT_MAX or key != int(key):
        raise EvaluationError(f"unsupported index value {printed(key)} in list")
    return int(key)


def printed(value: Value) -> str:
    """Print a key as error texts show it."""
    return str(value).lower() if type(value) is bool else str(value)
