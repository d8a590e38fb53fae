"""The queue of claim status: one claim that cannot be written does not keep the others waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dragoman.engine.reporting import Reporting
from dragoman.model.claims import ClaimRef
from dragoman.model.errors import NotKept, Unavailable
from dragoman.model.status import ClaimStatus
from dragoman_testkit.fakes.clock import VirtualClock


class Sink:
    """Writes every claim but those of a namespace that it may not write."""

    def __init__(self) -> None:
        self.closed = {"closed"}
        self.written: list[str] = []

    async def write(self, status: ClaimStatus) -> None:
        if status.claim.namespace in self.closed:
            raise Unavailable("no right to write there")
        self.written.append(status.claim.uid)


def status(uid: str, namespace: str) -> Callable[[], Awaitable[ClaimStatus]]:
    async def make() -> ClaimStatus:
        return ClaimStatus(claim=ClaimRef(uid=uid, namespace=namespace, name=uid), devices=())

    return make


async def test_what_may_not_be_written_goes_behind_the_others_and_is_written_later() -> None:
    clock, sink = VirtualClock(), Sink()
    reporting = Reporting(sink, clock)
    task = asyncio.create_task(reporting.run())
    for uid, namespace in (("first", "closed"), ("second", "open"), ("third", "open")):
        reporting.report(uid, status(uid, namespace))
    await clock.advance(5)
    assert (sink.written, reporting.pending) == (["second", "third"], 1)
    sink.closed.clear()
    await clock.advance(60)
    assert (sink.written, reporting.pending) == (["second", "third", "first"], 0)
    task.cancel()


async def test_what_waits_is_written_at_once_when_the_server_is_said_to_be_back() -> None:
    clock, sink = VirtualClock(), Sink()
    reporting = Reporting(sink, clock)
    task = asyncio.create_task(reporting.run())
    for uid in ("first", "second"):
        reporting.report(uid, status(uid, "closed"))
    await clock.advance(300)
    sink.closed.clear()
    reporting.hurry()
    await clock.settle()
    assert (sorted(sink.written), reporting.pending) == (["first", "second"], 0)
    task.cancel()


async def test_a_status_that_meets_a_fault_of_the_program_does_not_keep_the_others_waiting() -> None:
    clock, sink = VirtualClock(), Sink()
    reporting = Reporting(sink, clock)

    async def broken() -> ClaimStatus:
        raise RuntimeError("a fault")

    task = asyncio.create_task(reporting.run())
    reporting.report("first", broken)
    reporting.report("second", status("second", "open"))
    await clock.advance(5)
    assert not task.done()
    assert (sink.written, reporting.pending) == (["second"], 0)
    task.cancel()


class Dropping:
    """Keeps nothing before it is told to; ``during`` is called in each write."""

    def __init__(self) -> None:
        self.keeps = False
        self.asked = 0
        self.written: list[str] = []
        self.during: Callable[[], None] = lambda: None

    async def write(self, status: ClaimStatus) -> None:
        self.asked += 1
        keeps = self.keeps
        self.during()
        if not keeps:
            raise NotKept("the gate is off")
        self.written.append(status.claim.uid)


async def test_what_a_server_does_not_keep_waits_for_another_one_unless_the_claim_is_forgotten() -> None:
    clock, sink = VirtualClock(), Dropping()
    reporting = Reporting(sink, clock)
    task = asyncio.create_task(reporting.run())
    for uid in ("first", "second", "third"):
        reporting.report(uid, status(uid, "open"))
    await clock.advance(600)
    assert (sink.asked, reporting.pending) == (3, 0)
    reporting.forget("second")
    sink.keeps = True
    reporting.hurry()
    await clock.settle()
    assert sink.written == ["first", "third"]
    reporting.hurry()
    await clock.advance(600)
    assert sink.written == ["first", "third"]
    task.cancel()


async def test_what_the_former_server_did_not_keep_while_another_was_met_is_told_to_that() -> None:
    clock, sink = VirtualClock(), Dropping()
    reporting = Reporting(sink, clock)
    task = asyncio.create_task(reporting.run())

    def meet() -> None:
        if not sink.keeps:
            sink.keeps = True
            reporting.hurry()

    sink.during = meet
    reporting.report("first", status("first", "open"))
    await clock.advance(1)
    assert (sink.asked, sink.written, reporting.pending) == (2, ["first"], 0)
    task.cancel()
