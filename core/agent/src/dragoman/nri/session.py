"""What the runtime calls: each call of NRI's Plugin service, for the life of one connection."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from loguru import logger

from dragoman.clock import Clock
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.ports import SandboxService
from dragoman.nri.state import Board, NriState
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman.nri.work import Queues, within

if TYPE_CHECKING:
    from loguru import Logger

PLUGIN_SERVICE = "nri.pkg.api.v1alpha1.Plugin"
EVENTS = 0x000F
"""Run, stop and remove sandboxes, create containers: bit (number - 1). Bits that a runtime does not know make it refuse
the plugin, and none at all means all, which makes the plugin a validator of every container."""
FAILURE_POLICY = pb.FailurePolicy(fail_request=False, keep_connected=True)
"""Sandboxes are never failed (containerd leaks those), and a late answer does not cost the connection."""

DEFAULT_BUDGET = 2.0
SERVICE_SHARE = 0.75
"""Part of the budget that the service gets, so that it ends by itself before the answer is due."""
ANSWER_SHARE = 0.9
"""Part of the budget after which the answer goes out whatever the service does."""

_NUMBERS = itertools.count(1)
"""For the ids of requests in the log, which go on over connections."""
_SYNCHRONIZE = ""
"""Queue of synchronizing; no sandbox has this id."""

_LIFECYCLE: Mapping[str, tuple[int, Callable[[bytes], pb.PodSandbox]]] = {
    "RunPodSandbox": (pb.RUN_POD_SANDBOX, lambda payload: pb.RunPodSandboxRequest.FromString(payload).pod),
    "StopPodSandbox": (pb.STOP_POD_SANDBOX, lambda payload: pb.StopPodSandboxRequest.FromString(payload).pod),
    "RemovePodSandbox": (pb.REMOVE_POD_SANDBOX, lambda payload: pb.RemovePodSandboxRequest.FromString(payload).pod),
}
_NEVER_FAILED = frozenset({*_LIFECYCLE, "StateChange"})
_Serve = Callable[[Sandbox, float], Awaitable[None]]


def sandbox_of(pod: pb.PodSandbox) -> Sandbox:
    """Convert a message. An absent or empty path is a pod of the host's network, or a namespace that is gone."""
    path = next((namespace.path for namespace in pod.linux.namespaces if namespace.type == "network"), "")
    return Sandbox(
        id=pod.id,
        pod_uid=pod.uid,
        pod_namespace=pod.namespace,
        pod_name=pod.name,
        netns_path=path or None,
        ips=tuple(pod.ips),
    )


class Session:
    """Answers the calls of one connection. Work that outlasts its call goes to ``queues``, which outlast the session.

    Every answer goes out within the budget of the runtime: what it announced when it configured us, or what the call
    itself says where that is less.
    """

    def __init__(self, service: SandboxService, board: Board, queues: Queues, clock: Clock) -> None:
        self._service = service
        self._board = board
        self._queues = queues
        self._clock = clock
        self._budget = DEFAULT_BUDGET
        self._collected: list[Sandbox] = []
        self._methods: Mapping[str, Callable[[Call], Awaitable[bytes]]] = {
            "Configure": self._configure,
            "Synchronize": self._synchronize,
            "Shutdown": self._shutdown,
            "StateChange": self._state_change,
            "CreateContainer": self._create_container,
        } | dict.fromkeys(_LIFECYCLE, self._lifecycle)
        self._serves: Mapping[int, _Serve] = {
            pb.RUN_POD_SANDBOX: service.run_sandbox,
            pb.STOP_POD_SANDBOX: service.stop_sandbox,
            pb.REMOVE_POD_SANDBOX: service.remove_sandbox,
        }

    async def handle(self, call: Call) -> bytes:
        """Answer a call. Raises ``CallError``; UNIMPLEMENTED is what tells a runtime to use older calls."""
        if call.service != PLUGIN_SERVICE:
            raise CallError(Code.UNIMPLEMENTED, f"service {call.service}")
        method = self._methods.get(call.method)
        if method is None:
            raise CallError(Code.UNIMPLEMENTED, f"method {call.method}")
        try:
            return await method(call)
        except DecodeError as error:
            if call.method in _NEVER_FAILED:
                logger.error(f"NRI {call.method} cannot be read, and the sandbox goes on without us: {error}")
                return b""
            raise CallError(Code.INVALID_ARGUMENT, f"{call.method} cannot be read: {error}") from error

    async def _configure(self, call: Call) -> bytes:
        request = pb.ConfigureRequest.FromString(call.payload)
        self._budget = request.request_timeout / 1000 if request.request_timeout > 0 else DEFAULT_BUDGET
        self._board.update(
            reason="the runtime has not synchronized yet",
            runtime_name=request.runtime_name,
            runtime_version=request.runtime_version,
            nri_version=request.nri_version,
        )
        logger.info(f"NRI: {request.runtime_name} {request.runtime_version} waits {self._budget:g} s for an answer")
        return pb.ConfigureResponse(events=EVENTS, failure_policy=FAILURE_POLICY).SerializeToString()

    async def _synchronize(self, call: Call) -> bytes:
        request = pb.SynchronizeRequest.FromString(call.payload)
        self._collected += [sandbox_of(pod) for pod in request.pods if not _has_ended(pod)]
        if not request.more:
            sandboxes, self._collected = self._collected, []
            self._board.update(connected=True, reason="")
            met = self._board.state
            self._queues.add(_SYNCHRONIZE, lambda: self._work_through(sandboxes, met))
        return pb.SynchronizeResponse(more=request.more).SerializeToString()

    async def _work_through(self, sandboxes: list[Sandbox], met: NriState) -> None:
        try:
            await self._service.synchronize(sandboxes)
        except Exception:  # noqa: BLE001  # the runtime was answered already: there is nobody else to tell
            logger.opt(exception=True).error(f"NRI: synchronizing {len(sandboxes)} sandboxes failed")
        else:
            logger.info(f"NRI: {len(sandboxes)} running sandboxes worked through")
            if self._board.state is met:
                self._board.update(synchronized=True)

    async def _shutdown(self, _call: Call) -> bytes:
        logger.info("NRI: the runtime shuts down")
        return b""

    async def _lifecycle(self, call: Call) -> bytes:
        event, pod_of = _LIFECYCLE[call.method]
        return await self._happen(call, event, pod_of(call.payload))

    async def _state_change(self, call: Call) -> bytes:
        change = pb.StateChangeEvent.FromString(call.payload)
        return await self._happen(call, change.event, change.pod) if change.event in self._serves else b""

    async def _happen(self, call: Call, event: int, pod: pb.PodSandbox) -> bytes:
        sandbox, name = sandbox_of(pod), pb.Event.Name(event)
        budget = self._budget_of(call)
        due = self._clock.monotonic() + budget * SERVICE_SHARE
        work = self._queues.add(sandbox.id, lambda: self._serve(name, self._serves[event], sandbox, due))
        if not await within(self._clock, budget * ANSWER_SHARE, work):
            _log(sandbox).warning(f"NRI {name} takes longer than the runtime waits; it goes on in the background")
        return b""

    async def _serve(self, name: str, serve: _Serve, sandbox: Sandbox, due: float) -> None:
        began = self._clock.monotonic()
        with logger.contextualize(request=f"{name.partition('_')[0].lower()}-{next(_NUMBERS)}"):
            # Most pods of a node have no devices: what is done for those that have is logged where it is done.
            _log(sandbox).debug(f"NRI {name} begins")
            try:
                await serve(sandbox, max(due - began, 0.0))
            except Exception:  # noqa: BLE001  # an error would fail the sandbox, and containerd leaks failed sandboxes
                _log(sandbox).opt(exception=True).error(f"NRI {name} failed; the runtime was told nothing of it")
            else:
                _log(sandbox).debug(f"NRI {name} done in {self._clock.monotonic() - began:.3f} s")

    async def _create_container(self, call: Call) -> bytes:
        request = pb.CreateContainerRequest.FromString(call.payload)
        sandbox = sandbox_of(request.pod)
        container = Container(id=request.container.id, sandbox_id=sandbox.id, name=request.container.name)
        if reason := await self._refusal(sandbox, container, self._budget_of(call) * ANSWER_SHARE):
            _log(sandbox).info(f"NRI container {container.name} refused: {reason}")
            raise CallError(Code.UNKNOWN, reason)
        return pb.CreateContainerResponse().SerializeToString()

    async def _refusal(self, sandbox: Sandbox, container: Container, limit: float) -> str | None:
        """Ask the service. Refuse at once while an event of the sandbox is worked on: the runtime holds one lock for
        the whole node, so that waiting here would delay every other pod, and the kubelet tries again soon."""
        if self._queues.busy(sandbox.id):
            return f"{sandbox}: its devices are still being worked on; the kubelet tries again"
        asking = asyncio.ensure_future(self._service.create_container(sandbox, container))
        try:
            if not await within(self._clock, limit, asking):
                return f"{sandbox}: nobody could tell in time whether its devices are attached; see the agent's log"
            return asking.result()
        finally:
            asking.cancel()

    def _budget_of(self, call: Call) -> float:
        return min(self._budget, call.timeout or self._budget)


def _has_ended(pod: pb.PodSandbox) -> bool:
    """Tell whether a listed sandbox has ended: runtimes list those as well, until they are removed.

    Its process is gone, and so is its namespace, whose path may still be told. One that never had a namespace is of the
    host's network, and one that runs without a process of its own has a namespace.
    """
    path = sandbox_of(pod).netns_path
    return not pod.pid and (path is None or not Path(path).exists())


def _log(sandbox: Sandbox) -> Logger:
    return logger.bind(pod=sandbox.label, sandbox=sandbox.id)
