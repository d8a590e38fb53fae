"""The life of one pod on this node, as controller, scheduler and kubelet lead it.

Claims are made and allocated; the kubelet prepares them; the runtime makes the sandbox, then creates and starts the
containers. What fails is tried again, told as an event, and counted as a restart only where a kubelet counts one.
After the pod: containers and sandbox end, claims are unprepared, then given back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dragoman.clock import Clock
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox.apiserver import ApiServer
from dragoman_testkit.sandbox.kubelet import FakeKubelet, PodSpec, PrepareFailed, UnprepareFailed
from dragoman_testkit.sandbox.pod_claims import PodClaims
from dragoman_testkit.sandbox.pod_records import PodRecords, command, pod_spec
from dragoman_testkit.sandbox.runtime import FakeRuntime, FakeSandbox, SandboxError
from dragoman_testkit.sandbox.runtime_container import CreateContainerError, RunContainerError
from dragoman_testkit.sandbox.scheduler import Scheduler

BeforeSandbox = Callable[[JsonObject], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Seconds between attempts. A kubelet takes longer (60 to 90, 10 and more); people who watch need not."""

    prepare: float = 1.0
    sandbox: float = 1.0
    container: float = 0.5
    unprepare: float = 1.0


async def at_once(_pod: JsonObject) -> None:
    """Go on without waiting."""


@dataclass(slots=True, kw_only=True)
class Leaders:
    """Those who lead pods on a node.

    ``before_sandbox`` is awaited between prepare and the sandbox of a pod: a place for those who want to interfere.
    """

    api: ApiServer
    node_name: str
    kubelet: FakeKubelet
    runtime: FakeRuntime
    clock: Clock
    pauses: Pauses = field(default_factory=Pauses)
    before_sandbox: BeforeSandbox = at_once


class PodLife:
    """One pod, from its appearance until its object is gone."""

    def __init__(self, pod: JsonObject, leaders: Leaders) -> None:
        self.pod = pod
        self.sandbox: FakeSandbox | None = None
        self._with = leaders
        self._records = PodRecords(leaders.api, leaders.node_name)
        self._claims = PodClaims(leaders.api)
        self._scheduler = Scheduler(leaders.api, leaders.node_name)
        self._spec: PodSpec | None = None
        self._making: asyncio.Task[FakeSandbox] | None = None

    async def run(self) -> None:
        """Lead the pod. Cancelled, everything stays where it is."""
        up = asyncio.create_task(self._up())
        deleted = asyncio.create_task(self._deleted())
        try:
            await asyncio.wait({up, deleted}, return_when=asyncio.FIRST_COMPLETED)
            phase = up.result() if up.done() else ""
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)
            await self._down()
            if phase:
                self._records.phase(self.pod, phase)
                await deleted
            self._records.gone(self.pod)
        finally:
            tasks = [task for task in (up, deleted, self._making) if task]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _deleted(self) -> None:
        while self._records.wanted(self.pod):
            await self._with.api.changed(self._with.api.version)

    async def _up(self) -> str:
        """Bring the pod up and wait for the end of its containers. Gives ``Succeeded`` or ``Failed``."""
        spec = await self._schedule()
        await self._prepare(spec)
        await self._with.before_sandbox(self.pod)
        sandbox = await self._run_sandbox()
        async with asyncio.TaskGroup() as group:
            bodies = self.pod["spec"]["containers"]
            tasks = [group.create_task(self._run_container(spec, sandbox, body)) for body in bodies]
        return "Failed" if any(task.result() for task in tasks) else "Succeeded"

    async def _schedule(self) -> PodSpec:
        """Have the claims made and allocated; what is missing may come with any change in the API server."""
        api = self._with.api
        while True:
            try:
                claims = self._claims.resolve(self.pod)
                self._scheduler.schedule(self.pod, [claim for _, claim in claims])
            except DragomanError as error:
                self._records.unschedulable(self.pod, str(error))
                await api.changed(api.version)
            else:
                self._records.scheduled(self.pod)
                return pod_spec(self.pod, claims)

    async def _prepare(self, spec: PodSpec) -> None:
        self._spec = spec
        while True:
            try:
                return await self._with.kubelet.prepare_pod(spec)
            except PrepareFailed as error:
                text = f"Failed to prepare dynamic resources: {error}"
                self._records.event(self.pod, "FailedPrepareDynamicResources", text)
                await self._with.clock.sleep(self._with.pauses.prepare)

    async def _run_sandbox(self) -> FakeSandbox:
        while True:
            self._making = asyncio.create_task(self._make_sandbox())
            try:
                # A deletion does not stop the runtime half way: it waits for the sandbox and then stops that.
                self.sandbox = await asyncio.shield(self._making)
            except SandboxError as error:
                self._records.event(self.pod, "FailedCreatePodSandBox", str(error))
                await self._with.clock.sleep(self._with.pauses.sandbox)
            else:
                return self.sandbox

    async def _make_sandbox(self) -> FakeSandbox:
        metadata = self.pod["metadata"]
        return await self._with.runtime.run_sandbox(
            uid=metadata["uid"],
            namespace=metadata["namespace"],
            name=metadata["name"],
            annotations=metadata.get("annotations") or {},
            host_network=bool(self.pod["spec"].get("hostNetwork")),
        )

    async def _run_container(self, spec: PodSpec, sandbox: FakeSandbox, body: JsonObject) -> int:
        """Create and start one container, however often it takes, and wait for its end. Gives its exit code."""
        runtime, name, restarts = self._with.runtime, body["name"], 0
        while True:
            try:
                devices = self._with.kubelet.cdi_devices(spec, name)
                container = await runtime.create_container(sandbox, name, cdi_devices=devices, argv=command(body))
                await runtime.start_container(container)
            except CreateContainerError as error:
                self._records.waiting(self.pod, name, "CreateContainerError", str(error), restarts)
            except RunContainerError as error:
                restarts += 1
                self._records.waiting(self.pod, name, "RunContainerError", str(error), restarts)
            else:
                self._records.running(self.pod, name, restarts, sandbox.ips)
                code = await container.wait()
                self._records.ended(self.pod, name, code, restarts)
                return code
            await self._with.clock.sleep(self._with.pauses.container)

    async def _down(self) -> None:
        runtime = self._with.runtime
        if self._making:
            with contextlib.suppress(SandboxError):
                self.sandbox = await self._making
        if self.sandbox:
            await runtime.stop_sandbox(self.sandbox)
        if self._spec:
            await self._unprepare(self._spec)
        if self.sandbox:
            await runtime.remove_sandbox(self.sandbox)
        self._claims.release(self.pod)

    async def _unprepare(self, spec: PodSpec) -> None:
        while True:
            try:
                return await self._with.kubelet.unprepare_pod(spec)
            except UnprepareFailed as error:
                self._records.event(self.pod, "FailedUnprepareDynamicResources", str(error))
                await self._with.clock.sleep(self._with.pauses.unprepare)
