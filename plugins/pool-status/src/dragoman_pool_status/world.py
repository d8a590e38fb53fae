"""Slices, claims and rules as they are now, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceTaintRule, PoolStatus, PoolStatusRequest
from dragoman_allocator.objects.requests import PoolStatusRequestStatus
from dragoman_allocator.pool_status import LeanClaim, LeanSlice, Selection, describe, pool_status
from dragoman_hookspecs import JsonObject
from dragoman_pool_status.kinds import CLAIMS, SLICES
from dragoman_pool_status.reading import read

_T = TypeVar("_T")
_FEATURES: Final = Features()


class World:
    """The objects by collection. Gates of the cluster do not matter here: rules count where they are served."""

    def __init__(self) -> None:
        self._slices: dict[str, LeanSlice] = {}
        self._claims: dict[str, LeanClaim] = {}
        self._rules: dict[str, DeviceTaintRule] = {}

    def event(self, collection: str, type_: str, body: JsonObject) -> str | None:
        """Take an event of a watch; give the driver whose pools it may complete. Raises ``msgspec.ValidationError``."""
        if collection == SLICES:
            part = _take(self._slices, type_, body, LeanSlice)
            return part.spec.driver if part else None
        if collection == CLAIMS:
            _take(self._claims, type_, body, LeanClaim)
        else:
            _take(self._rules, type_, body, DeviceTaintRule)
        return None

    def forget_rules(self) -> None:
        """Forget all rules: they are served no more, or will be read again."""
        self._rules.clear()

    def answer(self, request: PoolStatusRequest, now: str) -> PoolStatusRequestStatus:
        """Answer a request. Raises ``PoolIncomplete`` and ``InvalidInput``."""
        return pool_status(self._slices.values(), self._claims.values(), self._rules.values(), request, _FEATURES, now)

    def pools(self) -> Sequence[PoolStatus]:
        """Describe the pools of all drivers; from any thread."""
        # Copies, each made in one step of the interpreter: another thread may ask while events come.
        slices, claims, rules = list(self._slices.values()), list(self._claims.values()), list(self._rules.values())
        return describe(slices, claims, rules, _FEATURES, Selection())[1]


def _take(here: dict[str, _T], type_: str, body: JsonObject, kind: type[_T]) -> _T | None:
    key = f"{body['metadata'].get('namespace', '')}/{body['metadata']['name']}"
    former = here.pop(key, None)
    if type_ == "DELETED":
        return former
    here[key] = read(body, kind)
    return here[key]
