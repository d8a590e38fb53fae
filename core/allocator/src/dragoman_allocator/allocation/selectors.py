"""CEL selectors of classes and requests: each verdict is worked out once per expression and device."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.cel import CompileError, Environment, EvaluationError, Program
from dragoman_allocator.errors import AllocatorError
from dragoman_allocator.objects import Device

_MISSING_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue())"
    " or guarding the check with has() for optional fields"
)


Expressions = tuple[str | None, ...]
"""Expressions of selectors in their order; None for one of a kind that this library does not know."""


class SelectorFailed(AllocatorError):
    """A selector does not compile or fails on a device; the text begins with ``selector #i``."""

    def __init__(self, text: str, *, of_class: bool) -> None:
        """``of_class``: the selector stands in the class, not in the request."""
        super().__init__(text)
        self.of_class = of_class


class Selector:
    """One expression and its verdicts."""

    __slots__ = ("_environment", "_hide_sharing", "_program", "expression", "verdicts")

    def __init__(self, expression: str, environment: Environment, *, hide_sharing: bool) -> None:
        """``hide_sharing``: ``device.allowMultipleAllocations`` is always false, as the stable copy has it."""
        self.expression = expression
        self.verdicts: dict[DeviceRecord, bool] = {}
        self._environment = environment
        self._hide_sharing = hide_sharing
        self._program: Program | None = None

    def matches(self, device: DeviceRecord) -> bool:
        """Evaluate, or give the verdict known. Raises ``CompileError`` and ``EvaluationError``."""
        verdict = self.verdicts.get(device)
        if verdict is None:
            if self._program is None:
                self._program = self._environment.compile(self.expression)
            verdict = self._program.evaluate(device.id[0], self._view(device.spec))
            self.verdicts[device] = verdict
        return verdict

    def _view(self, device: Device) -> Device:
        if self._hide_sharing and device.allow_multiple_allocations:
            return msgspec.structs.replace(device, allow_multiple_allocations=None)
        return device


class Chain:
    """The selectors of a request in their order: first those of its class."""

    def __init__(self, of_class: Sequence[Selector | None], of_request: Sequence[Selector | None]) -> None:
        self._steps = [(True, i, s) for i, s in enumerate(of_class)] + [(False, i, s) for i, s in enumerate(of_request)]

    def first_false(self, device: DeviceRecord) -> tuple[bool, int] | None:
        """Give the first selector that turns the device down: whether it is the class's, and its index.

        None where all match. Raises ``SelectorFailed``.
        """
        for of_class, index, selector in self._steps:
            if selector is None:
                text = f"selector #{index}: CEL expression empty (unsupported selector type?)"
                raise SelectorFailed(text, of_class=of_class)
            try:
                if not selector.matches(device):
                    return of_class, index
            except CompileError as problem:
                raise SelectorFailed(f"selector #{index}: CEL compile error: {problem}", of_class=of_class) from problem
            except EvaluationError as problem:
                text = f"selector #{index} on device {device.path}: CEL runtime error: {_hinted(str(problem))}"
                raise SelectorFailed(text, of_class=of_class) from problem
        return None


class SelectorCache:
    """All selectors of an allocator, by expression."""

    def __init__(self, environment: Environment, *, hide_sharing: bool) -> None:
        self._environment = environment
        self._hide_sharing = hide_sharing
        self._selectors: dict[str, Selector] = {}
        self._chains: dict[tuple[Expressions, Expressions], Chain] = {}

    def chain(self, of_class: Expressions, of_request: Expressions) -> Chain:
        """Give the chain of these expressions; nothing is compiled yet."""
        key = (of_class, of_request)
        chain = self._chains.get(key)
        if chain is None:
            chain = self._chains[key] = Chain([self._get(e) for e in of_class], [self._get(e) for e in of_request])
        return chain

    def _get(self, expression: str | None) -> Selector | None:
        if expression is None:
            return None
        selector = self._selectors.get(expression)
        if selector is None:
            selector = Selector(expression, self._environment, hide_sharing=self._hide_sharing)
            self._selectors[expression] = selector
        return selector


def _hinted(text: str) -> str:
    return text + _MISSING_KEY_HINT if "no such key:" in text and _MISSING_KEY_HINT not in text else text
