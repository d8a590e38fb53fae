"""A node to play with: API server, kubelet, runtime and pods around a real agent, in one folder."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from dragoman.clock import SystemClock
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox.agent_process import AgentProcess
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer
from dragoman_testkit.sandbox.kubelet import FakeKubelet, Timings
from dragoman_testkit.sandbox.pod_life import Leaders, Pauses
from dragoman_testkit.sandbox.pods import Pods
from dragoman_testkit.sandbox.runtime import FakeRuntime, NriOptions

DRIVER = "net.dragoman.dev"


class NotReached(DragomanError):
    """What was waited for did not happen in time."""


def make_folder() -> Path:
    """Make a folder with a short path: sockets are in it, and their paths have at most 107 bytes."""
    base = Path("/tmp")  # noqa: S108  # TMPDIR may be far down, as tox sets it
    return Path(tempfile.mkdtemp(prefix="dragoman-", dir=base if base.is_dir() else None))


class SandboxNode:
    """A node; an async context manager. Everything but the agent runs in this process.

    ``settings`` are the agent's, beside those that tell it about this node; ``timings`` are the kubelet's, ``nri`` the
    runtime's. The agent is started by ``agent.start()``. It works on the links of the network namespace that the
    process is in.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        name: str = "sandbox",
        pauses: Pauses | None = None,
        timings: Timings | None = None,
        nri: NriOptions | None = None,
    ) -> None:
        self.folder = folder
        self.name = name
        self.settings_file = folder / "settings.yaml"
        self.netns_dir = folder / "netns"
        self.cdi_dir = folder / "cdi"
        self.state_dir = folder / "state"
        self.api = ApiServer()
        clock = SystemClock()
        self.kubelet = FakeKubelet(folder / "kubelet", name, clock, self._read_claim, wipe=self._wipe, timings=timings)
        self.runtime = FakeRuntime(
            nri_socket=folder / "nri.sock",
            cdi_dirs=[self.cdi_dir],
            netns_dir=self.netns_dir,
            clock=clock,
            options=nri,
        )
        self.agent = AgentProcess(
            settings=self.settings_file, log=folder / "agent.log", control=folder / "run" / "control.sock"
        )
        self.pods = Pods(
            Leaders(
                api=self.api,
                node_name=name,
                kubelet=self.kubelet,
                runtime=self.runtime,
                clock=clock,
                pauses=pauses or Pauses(),
            )
        )
        self._settings = dict(settings or {})
        self._leading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    async def until(self, condition: Callable[[], bool], what: str, limit: float = 60.0) -> None:
        """Wait until a condition on the API server's objects holds. Raises ``NotReached`` or a fault of the sandbox."""
        assert self._leading, "the node is not started"
        waiting = asyncio.create_task(self.api.until(condition, limit))
        try:
            await asyncio.wait({waiting, self._leading}, return_when=asyncio.FIRST_COMPLETED)
            if self._leading.done():
                self._leading.result()
            await waiting
        except TimeoutError as error:
            raise NotReached(f"{what}: not within {limit:g} s") from error
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def run(self) -> None:
        """Wait for a fault of the sandbox itself, and raise it."""
        assert self._leading, "the node is not started"
        await asyncio.shield(self._leading)

    def describe_pods(self) -> list[str]:
        """Tell of each pod where it is, and what was said of it: for messages when something went wrong."""
        pods = self.api.list("pods")
        told = [(pod["metadata"]["name"], json.dumps(pod.get("status") or {})) for pod in pods]
        told += [(e["involvedObject"]["name"], f"{e['reason']}: {e['message']}") for e in self.api.list("events")]
        return [f"{name}: {text}" for name, text in told]

    async def drain(self, limit: float = 60.0) -> None:
        """Delete all pods and wait until they are gone. Raises ``NotReached``."""
        for pod in self.api.list("pods"):
            self.api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"], grace_seconds=None)
        await self.until(lambda: not self.api.list("pods"), "all pods are gone", limit)

    async def _start(self) -> None:
        for folder in (self.cdi_dir, self.state_dir, self.folder / "run"):
            folder.mkdir(parents=True, exist_ok=True)
        await self.api.start()
        self.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}})
        await self.runtime.start()
        await self.kubelet.start()
        self._leading = asyncio.create_task(self.pods.run())
        self.settings_file.write_text(yaml.safe_dump(self._all_settings(), sort_keys=False))

    async def _stop(self) -> None:
        if self._leading:
            self._leading.cancel()
            await asyncio.gather(self._leading, return_exceptions=True)
        await self.agent.close()
        await self.kubelet.stop()
        await self.runtime.close()
        await self.api.stop()

    def _all_settings(self) -> JsonObject:
        own = {
            "nodeName": self.name,
            "driverName": DRIVER,
            "kubernetes": {"server": self.api.url},
            "paths": {
                "kubeletRoot": str(self.folder / "kubelet"),
                "cdiDir": str(self.cdi_dir),
                "nriSocket": str(self.folder / "nri.sock"),
                "stateDir": str(self.state_dir),
                "runDir": str(self.folder / "run"),
            },
        }
        return {**own, **self._settings}

    async def _read_claim(self, namespace: str, name: str) -> JsonObject | None:
        try:
            return self.api.get("resourceclaims", name, namespace)
        except ApiFault:
            return None

    async def _wipe(self, driver: str | None) -> None:
        selector = f"spec.nodeName={self.name}" + (f",spec.driver={driver}" if driver else "")
        for slice_ in self.api.list("resourceslices", field_selector=selector):
            self.api.delete("resourceslices", slice_["metadata"]["name"])


def remove_folder(folder: Path) -> None:
    """Remove the folder of a node that has ended."""
    shutil.rmtree(folder, ignore_errors=True)
