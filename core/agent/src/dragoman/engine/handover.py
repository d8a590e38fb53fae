"""One active agent for a node: how an agent gets the lock, gives it up to a newcomer, and takes it back.

A newcomer (rolling update) loads, then asks the holder for the lock. The holder lets its operations end, closes the
ledger, releases the lock and turns passive; the newcomer locks, recovers and serves. A connection between the two
tells the holder when the newcomer has died: it then takes the lock back. The lock itself decides in every case, as only
its owner opens the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from loguru import logger

from dragoman.clock import Clock
from dragoman.engine.course import Course, State
from dragoman.engine.gate import Gate, StillRunning
from dragoman.engine.waiting import finished
from dragoman.model.errors import OtherSurroundings
from dragoman.store.lock import NodeLock
from dragoman_hookspecs import DragomanError

DRAIN_WITHIN = 20.0
"""Seconds that running operations get to end, and background work after them; above the limits of most hooks."""
LOCK_WITHIN = 10.0
"""Seconds that a newcomer waits for a lock that was given up; it is free already."""
ASK_AGAIN = 2.0
"""Seconds between two attempts to get the lock, or to take it back."""


_ENDS = "this agent ends; ask again"


class HandoverRefused(DragomanError):
    """The lock is not given up now. Says why."""


class Node(Protocol):
    """What the application does on the way. Errors other than ``DragomanError`` are faults of the program."""

    async def open_ledger(self) -> None:
        """Open the ledger; the lock is held."""

    async def recover(self) -> None:
        """Start the plugins, undo what is unfinished, recover devices, assert files.

        Operations of its own pass the closed gate. Called before each ``become_active``, also with the ledger still
        open and plugins stopped by ``become_passive`` or by a part of it.
        """

    async def take_calls(self) -> None:
        """Have the control socket's path lead to this process: what others hand on is done here. The gate is open."""

    async def become_active(self) -> None:
        """Serve: sockets that are not there yet, runtime connection, background work. The gate is open.

        It may be called again after ``become_passive``, with the ledger still open or opened anew: sandboxes that came
        or went meanwhile must be learned (``GatedSandboxes.resynchronize``).
        """

    async def catch_up(self) -> None:
        """Learn what the runtime told while the gate was closed for a handover that came to nothing."""

    async def become_passive(self) -> None:
        """End all background work that uses the ledger or changes devices, slices or claim status; keep the sockets.

        Called with the ledger open and no operation running.
        """

    async def close_ledger(self) -> None:
        """Close the ledger if it is open."""


class LifeLine(Protocol):
    """A newcomer's connection to the agent that gave up the lock for it."""

    async def serving(self) -> None:
        """Tell it that this agent is active. Raises ``DragomanError``."""

    def close(self) -> None:
        """Let it take the lock back."""


class Asker(Protocol):
    """Reaches the agent that holds the lock."""

    async def ask(self) -> LifeLine:
        """Have the lock given up. Raises ``Unavailable`` where nobody answers in time, ``Refused`` with the reason.

        Raises ``OtherSurroundings``, with nothing given up, where this agent would not find what the holder has.
        """


class Newcomer(Protocol):
    """An agent that asked for the lock."""

    @property
    def lost(self) -> bool:
        """Whether it is gone."""

    async def wait_lost(self) -> None:
        """Wait until it is gone."""


class Handover:
    """Both sides: ``take`` at start, then ``hand_over`` when a newcomer asks.

    ``unfinished`` names calls of plugins that nobody waits for any more and that may still change a device. A thread
    cannot be stopped, so the lock stays with this process until they have returned, or the process has ended.
    """

    def __init__(
        self,
        *,
        node: Node,
        gate: Gate,
        lock: NodeLock,
        asker: Asker,
        clock: Clock,
        unfinished: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._node = node
        self._gate = gate
        self._lock = lock
        self._asker = asker
        self._clock = clock
        self._unfinished = unfinished
        self._course = Course()
        self._line: LifeLine | None = None
        self._telling: asyncio.Task[None] | None = None
        self._newcomer: Newcomer | None = None
        self._watch: asyncio.Task[None] | None = None
        self._giving: asyncio.Task[Any] | None = None
        self._given = asyncio.Event()
        self._ending = False

    @property
    def state(self) -> State:
        """Where this agent is."""
        return self._course.state

    @property
    def reason(self) -> str:
        """Why it is not active, for the readiness probe; "" where it is."""
        return self._course.reason

    async def take(self) -> None:
        """Become the active agent, however long the holder takes to let go. Cancel it to stop waiting.

        Raises ``OtherSurroundings`` where the holder was not even asked for it. Raises what ``open_ledger``,
        ``recover`` or ``become_active`` raised; the lock is then free again, and the agent that gave it up takes it
        back.
        """
        line = await self._get_lock()
        try:
            await self._become_active(otherwise=State.LOADING, line=line)
        except BaseException:
            if line is not None:
                line.close()
            raise
        self._line = line

    async def _get_lock(self) -> LifeLine | None:
        while not self._lock.try_acquire():
            if self._course.state is not State.ASKING:
                self._course.go(State.ASKING, self._held())
            try:
                line = await self._asker.ask()
            except OtherSurroundings:
                raise  # it does not pass, and who started this agent must learn of it
            except DragomanError as error:
                self._course.go(State.ASKING, f"{self._held()}: {error}")
                await self._clock.sleep(ASK_AGAIN)
                continue
            self._course.go(State.LOCKING, "the lock of the node was given up")
            try:
                if await self._lock.acquire(LOCK_WITHIN):
                    return line
            except BaseException:
                line.close()
                raise
            line.close()
        return None

    def _held(self) -> str:
        return f"the lock of the node is held by {self._lock.holder() or 'another process'}"

    async def _become_active(self, otherwise: State, line: LifeLine | None = None) -> None:
        self._gate.close()
        self._course.go(State.RECOVERING, "the ledger and the devices are brought in order")
        try:
            await self._node.open_ledger()
            await self._serve(line)
        except BaseException as error:
            await self._give_in(otherwise, error)
            raise
        self._course.go(State.ACTIVE)

    async def _give_in(self, otherwise: State, error: BaseException) -> None:
        """Free the lock: this agent cannot serve."""
        if self._telling is not None:
            self._telling.cancel()
        self._gate.close()
        await _attempt("end its operations", lambda: self._gate.drain(self._clock, DRAIN_WITHIN))
        await _attempt("become passive", self._node.become_passive)
        await self._let_go()
        self._course.go(otherwise, f"recovery failed: {error}")

    async def _serve(self, line: LifeLine | None = None) -> None:
        async with self._gate.exclusive("recovery"):
            await self._node.recover()
        self._gate.open()
        await self._node.take_calls()
        if line is not None:
            # Before it serves in full: the runtime may wait for the other agent, and lets nobody connect meanwhile.
            self._telling = asyncio.create_task(self._tell(line))
        await self._node.become_active()

    async def _tell(self, line: LifeLine) -> None:
        try:
            await line.serving()
        except DragomanError as error:
            # It cannot take the lock back while this agent has it, so there is nothing to fear.
            logger.warning("the agent that handed over was not told that this one serves: {}", error)

    async def _let_go(self) -> None:
        await _attempt("close the ledger", self._node.close_ledger)
        if calls := self._unfinished():
            logger.warning("the lock of the node stays with this process: {} has not returned", ", ".join(calls))
            return
        self._lock.release()

    def _check_returned(self) -> None:
        if calls := self._unfinished():
            raise StillRunning(
                f"{', '.join(calls)} has not returned, and no other agent may meet it half way; the lock is handed "
                "over once it returns, or when this agent is ended (delete its pod)"
            )

    async def hand_over(self, newcomer: Newcomer, name: str) -> None:
        """Give up the lock; ``name`` is the newcomer's, for people. Once this returns, tell it so.

        Raises ``HandoverRefused`` where this agent is not the active one, operations do not end in time, a call of a
        plugin has not returned, or the newcomer is gone; this agent then is as active as before, or tries to become so.
        """
        if self._ending:
            raise HandoverRefused(_ENDS)
        if self._course.state is not State.ACTIVE:
            raise HandoverRefused(f"this agent is {self._course.state} ({self._course.reason}); ask again")
        try:
            self._check_returned()
        except StillRunning as error:
            raise _refused(name, error) from error
        self._course.go(State.DRAINING, f"handing over to {name}")
        self._giving, self._given = asyncio.current_task(), asyncio.Event()
        try:
            await self._give_up(newcomer, name)
        finally:
            self._given.set()

    async def _give_up(self, newcomer: Newcomer, name: str) -> None:
        self._gate.close()
        quiet = False
        try:
            await self._gate.drain(self._clock, DRAIN_WITHIN)
            self._check_returned()
            quiet = True
            await self._quieten()
            self._check_returned()
            if newcomer.lost:
                raise HandoverRefused(f"{name} is gone")
        except BaseException as error:
            if self._ending:
                raise self._interrupted() from error
            await self._stay(again=quiet)
            if isinstance(error, DragomanError):
                raise _refused(name, error) from error
            raise
        await self._let_go()
        self._course.go(State.PASSIVE, f"{name} is taking over")
        self._newcomer = newcomer
        self._watch = asyncio.create_task(self._outlive(newcomer, name))

    async def _quieten(self) -> None:
        work = asyncio.ensure_future(self._node.become_passive())
        try:
            if not await finished(self._clock, DRAIN_WITHIN, work):
                raise StillRunning(f"background work has not ended within {DRAIN_WITHIN:g} s")
            work.result()
        finally:
            work.cancel()
            # What is still on its way to rest must not meet what begins again.
            await asyncio.wait({work})

    async def _stay(self, *, again: bool) -> None:
        if again:
            try:
                await self._serve()
            except Exception as error:  # noqa: BLE001 - whatever it is, the node needs an active agent
                logger.opt(exception=error).error("this agent cannot go on as the active one: {}", error)
                await self._give_in(State.PASSIVE, error)
                self._watch = asyncio.create_task(self._take_back())
                return
        else:
            self._gate.open()
            await _attempt("make up for what it missed", self._node.catch_up)
        self._course.go(State.ACTIVE)

    async def newcomer_serves(self, newcomer: Newcomer) -> None:
        """Hand calls on from now; the newcomer has recovered and serves."""
        if self._course.state is State.PASSIVE and newcomer is self._newcomer:
            self._course.go(State.PASSIVE, "another agent is the active one of this node")
            self._gate.elsewhere()

    async def _outlive(self, newcomer: Newcomer, name: str) -> None:
        """Wait for the newcomer's end, then for the lock: only the kernel knows when the last user of it is gone."""
        await newcomer.wait_lost()
        logger.warning("{} has gone; this agent takes the lock back as soon as it is free", name)
        await self._take_back()

    async def _take_back(self) -> None:
        # Calls go to whoever answers, and are tried again, until this agent has the lock.
        self._gate.elsewhere()
        while True:
            try:
                await self._lock.acquire()
                await self._become_active(otherwise=State.PASSIVE)
            except Exception as error:  # noqa: BLE001 - a node without an active agent has to be tried again
                fault = None if isinstance(error, DragomanError) else error
                logger.opt(exception=fault).error("this agent cannot take the lock back and serve: {}", error)
                self._gate.elsewhere()
                await self._clock.sleep(ASK_AGAIN)
            else:
                return

    def _interrupted(self) -> HandoverRefused:
        # The cancellation was this agent's own and ends here; the caller gets an ordinary answer.
        if self._giving is not None:
            self._giving.uncancel()
        return HandoverRefused(_ENDS)

    async def interrupt(self) -> None:
        """End a handover that has not given up the lock yet, and begin no other: the agent ends.

        What runs is as far as it got: the application has to drain its calls and end its work in any case.
        """
        self._ending = True
        if self._course.state is State.DRAINING and self._giving is not None:
            self._giving.cancel()
            await self._given.wait()

    async def stop(self) -> None:
        """End: close the ledger and release the lock, if held. The application has drained its calls before."""
        for task in (self._watch, self._telling):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        if self._line is not None:
            self._line.close()
        self._gate.close()
        await self._let_go()


def _refused(name: str, why: DragomanError) -> HandoverRefused:
    return HandoverRefused(f"the lock is not handed over to {name}: {why}")


async def _attempt(what: str, step: Callable[[], Awaitable[None]]) -> None:
    """Take a step that has no alternative: a failure is told and the way goes on."""
    try:
        await step()
    except Exception as error:  # noqa: BLE001 - see above
        logger.opt(exception=error).error("the agent could not {}: {}", what, error)
