"""Claim status beside the hot path: latest wins for each claim, tried again while the API server is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.ports import ClaimStatusSink
from dragoman.engine.wakeup import Wakeup
from dragoman.model.errors import NotKept, Refused, Unavailable
from dragoman.model.status import ClaimStatus
from dragoman_hookspecs import DragomanError

FIRST_DELAY, LAST_DELAY = 1.0, 60.0
"""Seconds between attempts while the API server does not answer: doubled from the first to the last."""

SETTLE = 0.2
"""Seconds before a status is told: the answer to kubelet or runtime goes first, and a pod that starts at once is told
attached in the same request."""

RETURN_SETTLE = 5.0
"""Seconds before a return is told: a claim that is unprepared in the meantime needs no word any more."""


Make = Callable[[], Awaitable[ClaimStatus | None]]
"""Gives the status of a claim when its turn comes, or None where there is nothing to say any more."""


class Reporting:
    """A slot for each claim and one task that empties them. What a server does not keep waits for the next one."""

    def __init__(self, sink: ClaimStatusSink, clock: Clock) -> None:
        self._sink = sink
        self._clock = clock
        self._due: dict[str, tuple[float, Make]] = {}
        self._not_kept: dict[str, Make] = {}
        self._wake = asyncio.Event()
        self._hurry = Wakeup()
        self._hurries = 0
        self._delay = FIRST_DELAY

    def report(self, claim_uid: str, make: Make, *, after: float = SETTLE) -> None:
        """Have the status that ``make`` gives written; an earlier one of the claim not yet written is dropped."""
        self._not_kept.pop(claim_uid, None)
        self._due[claim_uid] = (self._clock.monotonic() + after, make)
        self._wake.set()

    def forget(self, claim_uid: str) -> None:
        """Write nothing more for a claim."""
        self._due.pop(claim_uid, None)
        self._not_kept.pop(claim_uid, None)

    def hurry(self) -> None:
        """Say that what kept statuses from being written, or from being kept, may be over: they are tried now."""
        self._delay = FIRST_DELAY
        self._hurries += 1
        for uid, make in tuple(self._not_kept.items()):
            self.report(uid, make, after=0.0)
        self._hurry.ring()

    @property
    def pending(self) -> int:
        """How many claims have a status that is not written yet; those that the server does not keep do not count."""
        return len(self._due)

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        while True:
            self._wake.clear()
            now = self._clock.monotonic()
            ready = [uid for uid, (due, _) in self._due.items() if due <= now]
            for uid in ready:
                if not await self._write(uid):
                    pause, self._delay = self._delay, min(self._delay * 2, LAST_DELAY)
                    await self._hurry.heard(self._clock, pause)
                    break
            else:
                await self._wait()

    async def _wait(self) -> None:
        timers = [due for due, _ in self._due.values()]
        waits: set[asyncio.Future[object]] = {asyncio.ensure_future(self._wake.wait())}
        if timers:
            seconds = max(0.0, min(timers) - self._clock.monotonic())
            waits.add(asyncio.ensure_future(self._clock.sleep(seconds)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    async def _write(self, uid: str) -> bool:
        """Write one; give False where it has to be tried again."""
        slot, hurries = self._due.get(uid), self._hurries
        if slot is None:
            return True
        try:
            await self._tell(uid, slot[1])
        except Unavailable as error:
            logger.bind(claim=uid).warning("the status of a claim is written later: {}", error)
            # Behind the others: what is missing may concern this claim only.
            if self._due.get(uid) is slot:
                self._due[uid] = self._due.pop(uid)
            return False
        except NotKept:
            if hurries != self._hurries:
                return True  # the server that kept nothing may be the former one
            if self._due.get(uid) is slot:
                self._not_kept[uid] = slot[1]
        self._delay = FIRST_DELAY
        if self._due.get(uid) is slot:
            del self._due[uid]
        return True

    async def _tell(self, uid: str, make: Make) -> None:
        """Make and write a status; one that nobody will ever take is logged. Raises ``Unavailable`` or ``NotKept``."""
        try:
            status = await make()
            if status is not None:
                await self._sink.write(status)
        except (Unavailable, NotKept):
            raise
        except Refused as error:
            logger.bind(claim=uid).error("the status of a claim was refused: {}", error)
        except DragomanError as error:
            logger.bind(claim=uid).error("the status of a claim cannot be told: {}", error)
        except Exception as error:  # noqa: BLE001 - begun again, the queue would meet the same fault first
            logger.bind(claim=uid).opt(exception=error).error("the status of a claim cannot be told: internal error")
