"""Runs one scenario for every boundary that it has. Usage: python -m core.agent.tests.crash.runner SCENARIO FOLDER

This process only imports; each case is forked from it and forks its agents. It prints a JSON object: the labels of all
``boundaries`` in order, ``tried``, how many of them are different and were tried, and ``failures``, number of the
boundary to sentences.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from loguru import logger

from dragoman.model import parameters
from dragoman.schema import misfits
from dragoman_hookspecs import (
    Attached,
    ContainerEdits,
    Inventory,
    Metadata,
    Prepared,
    Recovered,
    WrittenMetadata,
)

from .after import After
from .boundaries import DIED, Boundaries
from .inspection import Picture, host_picture, open_guards
from .life import PLUGINS, SECTIONS, Life
from .scenarios import SCENARIOS, Newcomer, Scenario, give_up, serve
from .world import World, world

AT_ONCE = 4
SECONDS = 300
"""A case that takes longer hangs."""


class Child:
    """A forked process that does some work, says a JSON value and ends without any clean-up."""

    def __init__(self, work: Callable[[], Any]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            signal.alarm(SECONDS)
            try:
                said = json.dumps(work())
            except BaseException:  # noqa: BLE001 - whatever it is, the parent has to know
                said = json.dumps({"fault": traceback.format_exc()})
            os.write(writing, said.encode())
            os._exit(0)
        os.close(writing)
        self._reading = reading

    def join(self) -> Any:
        """Give what the child said; None if it ended itself at its boundary. Raises ``RuntimeError`` for a fault."""
        with os.fdopen(self._reading, "rb") as stream:
            said = stream.read()
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == DIED:
            return None
        value = json.loads(said) if said else {"fault": f"ended with {code}"}
        if isinstance(value, dict) and "fault" in value:
            raise RuntimeError(value["fault"])
        return value


def live(made: World, boundaries: Boundaries, act: Callable[[Life], Awaitable[None]]) -> dict[str, Any]:
    """Be an agent: act, and tell the boundaries that were passed."""

    async def run() -> None:
        await act(Life(made, boundaries))
        boundaries.disarm()

    # The loop is not closed in order: nothing of this life is told to end.
    asyncio.new_event_loop().run_until_complete(run())
    return {"boundaries": boundaries.passed, "different": boundaries.different}


def go_on(made: World, scenario: Scenario, before: Picture) -> list[str]:
    """Be the next life."""

    async def run() -> list[str]:
        life = Life(made)
        await life.take()
        after = After(life, scenario, before)
        await after.go_on()
        return after.problems

    return asyncio.new_event_loop().run_until_complete(run())


def case(folder: Path, scenario: Scenario, number: int) -> dict[str, Any]:
    """End an agent at that boundary, and go on; 0 ends none. Runs in a process of its own."""
    with world(folder) as made:
        before = host_picture()
        scenario.setting(made)
        if (lead_up := scenario.lead_up) is not None:
            Child(lambda: live(made, Boundaries(holds=scenario.holds), lead_up)).join()
            scenario.meanwhile(made)
        problems = open_guards(made)
        passed = Child(lambda: live(made, Boundaries(number), scenario.act)).join()
        problems += open_guards(made)
        if scenario.lead_up is None:
            scenario.meanwhile(made)
        return {"passed": passed, "problems": problems + go_on(made, scenario, before)}


def handover_case(folder: Path, scenario: Scenario, number: int) -> dict[str, Any]:
    """Have an agent give up the lock, end the newcomer at that boundary, and let the first one take the lock back."""
    with world(folder) as made:
        before = host_picture()
        scenario.setting(made)
        passive, lost = os.pipe(), os.pipe()
        old = Child(lambda: hand_over_and_take_back(made, scenario, before, passive[1], lost[0]))
        os.read(passive[0], 1)
        passed = Child(lambda: live(made, Boundaries(number), scenario.act)).join()
        problems = open_guards(made)
        os.write(lost[1], b"!")
        return {"passed": passed, "problems": problems + old.join()}


def hand_over_and_take_back(made: World, scenario: Scenario, before: Picture, passive: int, lost: int) -> list[str]:
    """Be the agent that gives up the lock."""

    async def run() -> list[str]:
        life, newcomer = Life(made), Newcomer()
        await serve(life)
        await give_up(life, newcomer)
        os.write(passive, b"!")
        await asyncio.to_thread(os.read, lost, 1)
        newcomer.lose()
        await life.activated.wait()
        after = After(life, scenario, before)
        await after.go_on()
        return after.problems

    return asyncio.new_event_loop().run_until_complete(run())


def run_all(name: str, folder: Path) -> dict[str, Any]:
    """Run the scenario whole, then once for each boundary that is different, some at a time."""
    scenario = SCENARIOS[name]
    run = handover_case if name == "handover-take" else case
    whole = _one(run, folder / "0", scenario, 0).join()
    failures = {"0": whole["problems"]} if whole["problems"] else {}
    running: list[tuple[int, Child]] = []
    passed = whole["passed"]
    for number in passed["different"]:
        running.append((number, _one(run, folder / str(number), scenario, number)))
        if len(running) == AT_ONCE:
            failures |= _ended(*running.pop(0))
    for each in running:
        failures |= _ended(*each)
    return {"boundaries": passed["boundaries"], "tried": len(passed["different"]), "failures": failures}


def _one(run: Callable[[Path, Scenario, int], Any], folder: Path, scenario: Scenario, number: int) -> Child:
    def work() -> Any:
        try:
            return run(folder, scenario, number)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    return Child(work)


def _ended(number: int, child: Child) -> dict[str, list[str]]:
    try:
        result = child.join()
    except RuntimeError as error:
        return {str(number): [str(error)]}
    problems = result["problems"] if result["passed"] is None else ["the agent came not so far", *result["problems"]]
    return {str(number): problems} if problems else {}


def warm_up() -> None:
    """Build what is otherwise built at the first use of each process: what types mean."""
    for hint in (Inventory, Prepared, Attached, list[Recovered], Metadata, ContainerEdits, WrittenMetadata):
        misfits(hint, None)
    for _, descriptor in PLUGINS:
        SECTIONS.open(descriptor)
    parameters.decode({}, None)


def main() -> None:
    """Run one scenario, or list them."""
    if len(sys.argv) == 1:
        sys.stdout.write(json.dumps(list(SCENARIOS)))
        return
    logger.remove()
    warm_up()
    gc.collect()
    gc.freeze()
    name, folder = sys.argv[1:]
    sys.stdout.write(json.dumps(run_all(name, Path(folder))))


if __name__ == "__main__":
    main()
