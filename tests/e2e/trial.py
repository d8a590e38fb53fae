"""A sandbox node as the tests of the whole agent lead it and look at it."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import kernel
from dragoman_testkit.sandbox.agent_process import AgentProcess
from dragoman_testkit.sandbox.kernel import LinkView
from dragoman_testkit.sandbox.kubelet import Timings
from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder
from dragoman_testkit.sandbox.pod_life import Pauses
from dragoman_testkit.sandbox.runtime import NriOptions
from tests.e2e import objects, thirdparty
from tests.e2e.thirdparty import Script

UPLINK = "uplink0"
_LOOK = 0.02
_NRI = NriOptions(request_timeout=5.0)
_TIMINGS = Timings(reconcile=0.05, dial=60, get_info=60, notify=60, wipe=600)
"""A kubelet that looks often, and in which an agent may take its time to start without losing its slices."""
_PAUSES = Pauses(prepare=0.2, sandbox=0.2, container=0.1, unprepare=0.1)
_HOOKS = (
    *("checkConfig", "planDevice", "setupDevice", "attachDevice", "detachDevice", "freeDevice", "recoverDevices"),
    *("deviceMetadata", "containerEdits", "writeMetadata", "removeMetadata"),
)
_LIMITS = dict.fromkeys(_HOOKS, 300)
"""Hooks take as long as a busy machine has them take, and as long as a test holds them."""

Condition = Callable[[], bool | Awaitable[bool]]
MakeTrial = Callable[..., Awaitable["Trial"]]
"""Makes a node; ``nri`` is the runtime's NRI, other keyword arguments are settings of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the error output."""
        return self.err.splitlines()


class Trial:
    """A node, its agents, and short words for what is done with them."""

    def __init__(self, node: SandboxNode, link_kind: str) -> None:
        self.node = node
        self.api = node.api
        self.agent = node.agent
        self.link_kind = link_kind
        self.environ: dict[str, str] = {}
        self.scripts: dict[str, Script] = {}
        self._more: list[AgentProcess] = []

    # --- agents ------------------------------------------------------------------------------------------------------

    async def start(self) -> JsonObject:
        """Start the agent and wait until its devices are published; give its status."""
        self.agent.environ.update(self.environ)
        status = await self.agent.start()
        await self.settled()
        return status

    async def settled(self) -> None:
        """Wait until the agent has published and written everything."""

        async def is_settled() -> bool:
            status = await self.agent.ask("status")
            return not status["pendingStatus"] and status["published"]["publishedAt"] is not None

        await eventually(is_settled, "the agent has written everything")

    @property
    def odd(self) -> Script:
        """The scripted manager of the shared node, with the class ``odd``."""
        return self.scripts["odd"]

    def offer_uplink(self) -> None:
        """Offer shares of the uplink, with the class ``uplink``; before the agent is started."""
        section = {"ifaces": [{"parentIfName": UPLINK, "count": 4, "shared": True}]}
        self.configure(deviceManagerConfigs={**self.settings()["deviceManagerConfigs"], "macvlan": section})
        self.apply(objects.device_class("uplink", objects.manager_is("macvlan")))

    def script(self, type_: str, count: int = 2) -> Script:
        """Install a manager that plays a part, with so many devices; before the agent is started."""
        folder = self.node.folder / "site"
        script = self.scripts[type_] = Script(folder, type_, self.link_kind)
        self.environ.update(thirdparty.path(folder))
        sections = self.settings()["deviceManagerConfigs"]
        self.configure(deviceManagerConfigs={**sections, type_: script.section(count)})
        self.apply(objects.device_class(type_, objects.manager_is(type_)))
        return script

    def another_agent(self, name: str, **settings: Any) -> AgentProcess:
        """Give a second agent of this node, not started, with settings that differ."""
        path = self.node.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**self.settings(), **settings}))
        control = self.node.folder / "run" / "control.sock"
        agent = AgentProcess(settings=path, log=self.node.folder / f"{name}.log", control=control)
        agent.environ.update(self.environ)
        self._more.append(agent)
        return agent

    async def close(self) -> None:
        """End the further agents."""
        for agent in self._more:
            await agent.close()

    def settings(self) -> JsonObject:
        """Read the settings file."""
        read: JsonObject = yaml.safe_load(self.node.settings_file.read_text())
        return read

    def configure(self, **changes: Any) -> None:
        """Change the settings file."""
        self.node.settings_file.write_text(yaml.safe_dump({**self.settings(), **changes}))

    def dummies(self, count: int) -> JsonObject:
        """Give the section of the dummy manager."""
        return {"count": count, "linkKind": self.link_kind}

    async def run(self, *arguments: str, **environ: str) -> Output:
        """Run a command of ``dragoman`` as a user would."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "dragoman",
            *arguments,
            env={**os.environ, "DRAGOMAN_CONFIG": str(self.node.settings_file), **self.environ, **environ},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return Output(code=process.returncode or 0, out=out.decode(), err=err.decode())

    async def show(self, *arguments: str) -> Any:
        """Run a command with JSON output that has to succeed."""
        output = await self.run(*arguments, "-o", "json")
        assert output.code == 0, output.err
        return json.loads(output.out)

    # --- objects -----------------------------------------------------------------------------------------------------

    def apply(self, *things: JsonObject) -> None:
        """Create objects."""
        for thing in things:
            self.api.create(thing)

    def start_pod(
        self, name: str, parameters: Mapping[str, Any] | None = None, request: JsonObject | None = None
    ) -> None:
        """Create a pod with a claim ``nic`` of one device, from a template."""
        configs = [objects.config(parameters)] if parameters else []
        spec = objects.devices([request or objects.request()], configs)
        self.apply(objects.template(name, spec), objects.pod(name, templates={"nic": name}))

    def delete_pod(self, name: str) -> None:
        """Ask for the end of a pod."""
        self.api.delete("pods", name, "default", grace_seconds=None)

    async def ended(self, *names: str) -> None:
        """Wait until pods are gone."""
        await self.until(lambda: not {p["metadata"]["name"] for p in self.api.list("pods")} & set(names), "pods end")

    async def running(self, *names: str) -> None:
        """Wait until pods run."""
        for name in names:
            await self.until(partial(self._is, "Running", name), f"pod {name} runs")

    async def until(self, condition: Callable[[], bool], what: str, limit: float = 60.0) -> None:
        """Wait for a condition on objects of the API server; the pods and the log are told where it does not come."""
        try:
            await self.node.until(condition, what, limit)
        except BaseException as error:
            for line in (*self.node.describe_pods(), *self.agent.log_tail(15)):
                error.add_note(line)
            raise

    def phase(self, pod: str) -> str:
        """Give the phase of a pod."""
        return str((self.api.get("pods", pod, "default").get("status") or {}).get("phase", ""))

    def scheduling(self, pod: str) -> str:
        """Give why a pod is not scheduled, "" where it is."""
        conditions = (self.api.get("pods", pod, "default").get("status") or {}).get("conditions") or ()
        return "; ".join(condition.get("message", "") for condition in conditions)

    def container(self, pod: str, name: str = "app") -> JsonObject:
        """Give the state of a container; empty before there is one."""
        statuses = (self.api.get("pods", pod, "default").get("status") or {}).get("containerStatuses") or ()
        state: JsonObject = next((s["state"] for s in statuses if s["name"] == name), {})
        return state

    def waits(self, pod: str, name: str = "app") -> str:
        """Give the message with which a container waits, "" where it does not."""
        return str(self.container(pod, name).get("waiting", {}).get("message", ""))

    def events(self, pod: str, reason: str = "") -> list[str]:
        """Give the messages of a pod's events of this reason."""
        found = self.api.list("events")
        return [
            event["message"]
            for event in found
            if event["involvedObject"]["name"] == pod and event["reason"].startswith(reason)
        ]

    def claim_of(self, pod: str) -> JsonObject:
        """Read the claim that was made for a pod."""
        statuses = self.api.get("pods", pod, "default")["status"]["resourceClaimStatuses"]
        return self.api.get("resourceclaims", statuses[0]["resourceClaimName"], "default")

    def results(self, claim: JsonObject) -> list[JsonObject]:
        """Give what a claim was given."""
        given: list[JsonObject] = claim["status"]["allocation"]["devices"]["results"]
        return given

    def device_of(self, pod: str) -> str:
        """Give the device of a pod's claim."""
        return str(self.results(self.claim_of(pod))[0]["device"])

    def conditions(self, claim: JsonObject) -> list[dict[str, str]]:
        """Give the conditions of each device entry of a claim: type to status."""
        entries = self.api.get("resourceclaims", claim["metadata"]["name"], "default")["status"].get("devices") or ()
        return [{c["type"]: c["status"] for c in entry.get("conditions") or ()} for entry in entries]

    async def attached(self, *pods: str) -> None:
        """Wait until the claims of pods tell that their devices are in them."""
        told = [{"Ready": "True", "NetworkReady": "True"}]
        for pod in pods:
            await self.until(partial(self._tells, pod, told), f"the status of pod {pod}'s claim")

    def _tells(self, pod: str, conditions: list[dict[str, str]]) -> bool:
        return self.conditions(self.claim_of(pod)) == conditions

    def _is(self, phase: str, pod: str) -> bool:
        return self.phase(pod) == phase

    def slices(self) -> list[JsonObject]:
        """Read the slices."""
        return list(self.api.list("resourceslices"))

    def slice_versions(self) -> dict[str, str]:
        """Give UID to resource version of each slice."""
        return {s["metadata"]["uid"]: s["metadata"]["resourceVersion"] for s in self.slices()}

    def published(self) -> dict[str, JsonObject]:
        """Give the published devices by name."""
        return {d["name"]: d for slice_ in self.slices() for d in slice_["spec"].get("devices") or ()}

    # --- the kernel --------------------------------------------------------------------------------------------------

    def host_links(self) -> set[str]:
        """Name the links of the host, without those that the runtime made."""
        return {link.name for link in kernel.links() if not link.name.startswith("veth")}

    def pod_links(self, pod: str) -> dict[str, LinkView]:
        """Give the links in a pod that a claim brought."""
        return {link.name: link for link in kernel.links(self.node.pods.netns(pod)) if link.name not in ("lo", "eth0")}

    def guards(self) -> list[Path]:
        """List the CDI specs of open guards."""
        return sorted(self.node.cdi_dir.glob("*-guard_*.json"))

    def guards_of(self, pod: str) -> list[Path]:
        """List the open guards of a pod's claim."""
        uid = self.claim_of(pod)["metadata"]["uid"]
        return [path for path in self.guards() if uid in path.name]

    async def clean(self) -> None:
        """End all pods and faults, and check that nothing is left behind."""
        self.api.faults.clear()
        for script in self.scripts.values():
            script.play()
        await self.node.drain()
        for plural in ("resourceclaims", "resourceclaimtemplates", "events"):
            for thing in self.api.list(plural):
                self.api.delete(plural, thing["metadata"]["name"], thing["metadata"]["namespace"])
        assert await self.agent.ask("allocations") == []
        assert self.host_links() == {"lo", UPLINK, f"{UPLINK}-wire"}
        assert [path.name for path in self.node.cdi_dir.rglob("*.json")] == []
        assert list(self.node.netns_dir.iterdir()) == []


def trials(stack: AsyncExitStack, link_kind: str) -> MakeTrial:
    """Give the function that makes nodes, which end with the stack."""

    async def make(*, nri: NriOptions = _NRI, **settings: Any) -> Trial:
        folder = make_folder()
        stack.callback(remove_folder, folder)
        dummy = {"count": 4} | ({"linkKind": link_kind} if link_kind != "dummy" else {})
        merged = {
            "deviceManagerConfigs": {"dummy": dummy},
            "inventory": {"settle": 0.1},
            "logging": {"level": "debug"},
            **settings,
            "limits": {**_LIMITS, **settings.get("limits", {})},
        }
        node = await stack.enter_async_context(
            SandboxNode(folder, settings=merged, pauses=_PAUSES, timings=_TIMINGS, nri=nri)
        )
        trial = Trial(node, link_kind)
        stack.push_async_callback(trial.close)
        trial.apply(objects.device_class(), objects.device_class("dummy", objects.manager_is("dummy")))
        return trial

    return make


async def eventually(condition: Condition, what: str, limit: float = 60.0) -> None:
    """Wait until a condition holds that nobody announces."""
    try:
        async with asyncio.timeout(limit):
            while True:
                held = condition()
                if await held if inspect.isawaitable(held) else held:
                    return
                await asyncio.sleep(_LOOK)
    except TimeoutError as error:
        raise AssertionError(f"not within {limit:g} s: {what}") from error


async def holds(condition: Callable[[], bool], what: str, seconds: float) -> None:
    """Check that something stays true for a while, where nothing tells that nothing happens."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert condition(), what
        await asyncio.sleep(_LOOK)


def names(devices: Sequence[JsonObject]) -> set[str]:
    """Give the names of devices."""
    return {str(device["name"]) for device in devices}
