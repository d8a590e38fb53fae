"""The controller's protocol without I/O: what is seen goes in, what is to be written comes out, time is an argument.

The rules are those of resourcepoolstatusrequest-controller (KEP-5677, as of 1.37): a request is answered once; one with
an incomplete pool is tried again with back-off, six times in all, and then left until something changes; answered
requests go after an hour, pending ones after a day. Where the cluster may have that controller, this one waits first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import msgspec

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import PoolStatusRequest
from dragoman_allocator.objects.requests import PoolStatusRequestStatus
from dragoman_allocator.pool_status import PoolIncomplete, failed
from dragoman_hookspecs import JsonObject
from dragoman_pool_status.kinds import RequestKind
from dragoman_pool_status.moments import seconds_of, text_of

ATTEMPTS: Final = 6
"""Attempts for one change of a request, the first one included."""
FIRST_PAUSE: Final = 1.0
"""Seconds before the second attempt; it doubles for each further one."""
AWAY_PAUSE: Final = 15.0
"""Seconds before a write is tried again that the API server did not answer."""
SWEEP: Final = 600.0
ANSWERED_FOR: Final = 3600.0
PENDING_FOR: Final = 24 * 3600.0

Calculate: TypeAlias = Callable[[PoolStatusRequest, str], PoolStatusRequestStatus]
"""Answers a request at a time. Raises ``PoolIncomplete`` and ``InvalidInput``."""


@dataclass(frozen=True, slots=True)
class WriteStatus:
    """Update the status of a request; the resourceVersion in ``body`` keeps another answer from being overwritten."""

    kind: RequestKind
    name: str
    body: JsonObject


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a request, if it still has this UID."""

    kind: RequestKind
    name: str
    uid: str


Write: TypeAlias = WriteStatus | Delete
_Key: TypeAlias = tuple[RequestKind, str]


@dataclass(slots=True)
class _Known:
    """A request: ``due`` is its next attempt or None; ``not_before`` ends the turn of the cluster's own controller."""

    body: JsonObject
    not_before: float
    expires: float | None = None
    due: float | None = None
    attempts: int = 0

    @property
    def uid(self) -> str:
        return str(self.body["metadata"].get("uid", ""))

    @property
    def driver(self) -> str:
        return str((self.body.get("spec") or {}).get("driver", ""))

    @property
    def answered(self) -> bool:
        return self.body.get("status") is not None


@dataclass(slots=True)
class Answering:
    """All requests of both kinds. ``grace``: seconds that the cluster's own controller has for its answer.

    ``processed`` and ``errors`` count, by driver, attempts to write a status and those that were refused.
    """

    calculate: Calculate
    grace: float = 30.0
    processed: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    _known: dict[_Key, _Known] = field(default_factory=dict)
    _next_sweep: float | None = None

    def seen(self, kind: RequestKind, body: JsonObject, now: float) -> None:
        """Take a request as it is now: added, changed, or read again."""
        key = (kind, str(body["metadata"]["name"]))
        known = self._known.get(key)
        if known is None or known.uid != body["metadata"].get("uid", ""):
            known = self._known[key] = _Known(body, now if kind.own else now + self.grace)
        known.body, known.attempts = body, 0
        known.expires = _expiry(body)
        known.due = None if known.answered else max(now, known.not_before)

    def gone(self, kind: RequestKind, name: str) -> None:
        """Forget a request that was deleted."""
        self._known.pop((kind, name), None)

    def absent(self, kind: RequestKind) -> None:
        """Forget all requests of a kind that is served no longer."""
        self._known = {key: known for key, known in self._known.items() if key[0] != kind}

    def pools_changed(self, driver: str, now: float) -> None:
        """Take up again what was given up because a pool of this driver was incomplete."""
        for known in self._known.values():
            if known.attempts >= ATTEMPTS and known.due is None and not known.answered and known.driver == driver:
                known.attempts, known.due = 0, now + FIRST_PAUSE

    def step(self, now: float) -> list[Write]:
        """Give what is to be written now; each is followed by ``written`` or ``refused``."""
        return [*self._answers(now), *self._sweep(now)]

    def wakes(self, now: float) -> float:
        """Give the time at which ``step`` has something to do, if nothing is seen before."""
        moments = [known.due for known in self._known.values() if known.due is not None]
        return min([*moments, now if self._next_sweep is None else self._next_sweep])

    def written(self, write: WriteStatus, now: float) -> None:
        """Take the success of a write; what the API server made of it is seen later."""
        known = self._known.get((write.kind, write.name))
        if known is not None and known.uid == write.body["metadata"].get("uid", ""):
            known.body, known.expires, known.due = write.body, now + ANSWERED_FOR, None
        self.processed[_driver(write)] += 1

    def refused(self, write: WriteStatus, now: float) -> None:
        """Take the refusal of a write: somebody changed, answered or deleted the request."""
        known = self._known.get((write.kind, write.name))
        if known is not None and not known.answered:
            self._try_again(known, now)
        self.processed[_driver(write)] += 1
        self.errors[_driver(write)] += 1

    def unanswered(self, write: WriteStatus, now: float) -> None:
        """Take a write that nobody answered: the API server is away, which uses up no attempt."""
        known = self._known.get((write.kind, write.name))
        if known is not None and not known.answered:
            known.due = now + AWAY_PAUSE

    def _answers(self, now: float) -> Iterator[WriteStatus]:
        for (kind, name), known in self._known.items():
            if known.due is None or known.due > now:
                continue
            known.due = None
            try:
                status = self._answer(known, text_of(now))
            except PoolIncomplete:
                self._try_again(known, now)
                continue
            yield WriteStatus(kind, name, {**known.body, "status": msgspec.to_builtins(status)})

    def _answer(self, known: _Known, now: str) -> PoolStatusRequestStatus:
        try:
            request = msgspec.convert(known.body, PoolStatusRequest)
            return self.calculate(request, now)
        except (InvalidInput, msgspec.ValidationError) as error:
            return failed(f"Failed to calculate the status: {error}", now)

    @staticmethod
    def _try_again(known: _Known, now: float) -> None:
        known.attempts += 1
        known.due = None if known.attempts >= ATTEMPTS else now + FIRST_PAUSE * 2 ** (known.attempts - 1)

    def _sweep(self, now: float) -> Iterator[Delete]:
        if self._next_sweep is not None and now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP
        for (kind, name), known in self._known.items():
            # The cluster's own controller sweeps as often: what is left one sweep later is not swept by it.
            patience = 0.0 if kind.own else SWEEP + self.grace
            if known.expires is not None and now - known.expires > patience:
                yield Delete(kind, name, known.uid)


def _expiry(body: JsonObject) -> float | None:
    created = seconds_of(body["metadata"].get("creationTimestamp"))
    status: JsonObject | None = body.get("status")
    if status is None:
        return None if created is None else created + PENDING_FOR
    for condition in status.get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed"):
            at = seconds_of(condition.get("lastTransitionTime"))
            return None if at is None else at + ANSWERED_FOR
    return None if created is None else created + ANSWERED_FOR


def _driver(write: WriteStatus) -> str:
    spec: dict[str, Any] = write.body.get("spec") or {}
    return str(spec.get("driver", ""))
