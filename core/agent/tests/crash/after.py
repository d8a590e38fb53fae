"""How the cluster goes on after an agent ended itself: with the next life, to the expected end."""

from __future__ import annotations

from dragoman.model.claims import Claim
from dragoman.model.sandboxes import Container

from .inspection import Picture, faults, leftovers
from .life import Life
from .scenarios import Scenario


class After:
    """Goes on, and notes all that is wrong on the way."""

    def __init__(self, life: Life, scenario: Scenario, before: Picture) -> None:
        self.problems: list[str] = []
        self._life = life
        self._scenario = scenario
        self._world = life.world
        self._before = before

    async def go_on(self) -> None:
        """Synchronise, repeat what the kubelet and the runtime asked for, and give everything back."""
        self._look("after recovery")
        await self._life.sandboxes.synchronize(self._world.sandboxes())
        going = [claim for claim in self._world.all_claims if claim.name in self._scenario.going]
        staying = [claim for claim in self._world.all_claims if claim.name not in self._scenario.going]
        for claim in staying:
            if claim.name in self._world.running:
                await self._life.run_sandbox(claim)
        self._look("after the runtime told what runs")
        for claim in going:
            await self._give_back(claim)
        for claim in staying:
            await self._use(claim)
        self._look("in use")
        for claim in staying:
            await self._life.stop_sandbox(claim)
        self._look("after the pods stopped")
        for claim in staying:
            await self._give_back(claim)
        self._note("at the end", leftovers(self._world, self._life.opened(), self._before))

    async def _use(self, claim: Claim) -> None:
        """Ask for the claim again, and start the pod that the kubelet would."""
        answer = await self._life.prepare(claim)
        devices = [device.device for device in answer.devices]
        if answer.error or devices != [result.device for result in claim.results or ()]:
            self.problems.append(f"{claim.name} asked for again: {devices} {answer.error}")
        if claim.name not in self._world.running:
            if claim.name in self._world.pods:
                self._world.end_pod(claim)
            self._world.start_pod(claim)
        await self._life.run_sandbox(claim)
        sandbox = self._world.sandbox(claim)
        container = Container(id="c1", sandbox_id=sandbox.id, name="main")
        if refusal := await self._life.sandboxes.create_container(sandbox, container):
            self.problems.append(f"{claim.name} in use: {refusal}")
        if len(self._life.opened().attachments_in(sandbox.id)) != len(claim.results or ()):
            self.problems.append(f"{claim.name} in use: not every device is attached")

    async def _give_back(self, claim: Claim) -> None:
        if error := await self._life.unprepare(claim.ref):
            self.problems.append(f"{claim.name} given back: {error}")

    def _look(self, when: str) -> None:
        self._note(when, faults(self._world, self._life.opened(), self._before))

    def _note(self, when: str, found: list[str]) -> None:
        self.problems += [f"{when}: {fault}" for fault in found]
