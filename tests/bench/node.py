"""The sandbox node as the benchmark leads it: claims without a scheduler, calls without a kubelet in between."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from dragoman.kubelet._proto import dra_v1_pb2 as dra
from dragoman.kubelet.rpc import call
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox import kernel
from dragoman_testkit.sandbox.kubelet.connection import dra_channel
from dragoman_testkit.sandbox.node import DRIVER, SandboxNode
from dragoman_testkit.sandbox.pod_claims import POD_CLAIM_NAME
from tests.bench import process
from tests.bench.bare import Wanted

UPLINK = "uplink0"
PLUGINS = ("dragoman-dummy", "dragoman-macvlan", "dragoman-metadata")
"""Distributions that must be loaded: a figure without one of them would flatter."""

DEVICES = 32
"""Dummy devices of the node, unless a part wants more."""

_DRA_SECONDS = 45.0
_KUBELET_LOOKS = 1.1
"""Seconds after which the kubelet stand-in has seen that the registration socket is gone."""


class NotMeasured(DragomanError):
    """The agent did not do what was to be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A start of the agent until the kubelet has registered it, in seconds."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim in the API server, allocated and reserved for a pod that has no object."""

    uid: str
    name: str
    pod_uid: str
    links: Sequence[Wanted]


def settings(link_kind: str, devices: int) -> JsonObject:
    """Give the agent's settings: all plugins are on, and the log is as in production."""
    return {
        "deviceManagerConfigs": {
            "dummy": {"count": devices, "linkKind": link_kind},
            "macvlan": {"ifaces": [{"parentIfName": UPLINK, "count": 4}]},
        },
        "requiredPlugins": list(PLUGINS),
    }


def wanted(number: int, position: int) -> Wanted:
    """Describe the link of dummy device ``number``, the one at ``position`` in its pod."""
    return Wanted(
        host_name=f"dummy{number}",
        name=f"net{position}",
        address=f"10.80.{position}.2/24",
        destination=f"10.81.{position}.0/24",
        gateway=f"10.80.{position}.1",
    )


class BenchNode:
    """A started sandbox node, and ``link_kind``, the kind of link that its dummy devices have."""

    def __init__(self, node: SandboxNode, link_kind: str) -> None:
        self.node = node
        self.link_kind = link_kind
        self._channel = dra_channel(node.folder / "kubelet" / "plugins" / DRIVER / "dra.sock")

    @property
    def pid(self) -> int:
        """The process id of the agent."""
        assert self.node.agent.pid is not None, "the agent does not run"
        return self.node.agent.pid

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close(None)

    def configure(self, devices: int) -> None:
        """Write other settings, for the next start."""
        present = yaml.safe_load(self.node.settings_file.read_text())
        present |= settings(self.link_kind, devices)
        self.node.settings_file.write_text(yaml.safe_dump(present))

    async def start(self) -> Start:
        """Start the agent and read its clocks when it is registered; return once its slices are published."""
        began = time.perf_counter()
        await self.node.agent.launch()
        async with asyncio.timeout(30):
            await self.node.kubelet.registered(DRIVER)
        start = Start(cpu=process.cpu_seconds(self.pid), wall=time.perf_counter() - began)
        await self.node.agent.ready()
        await self.settled()
        return start

    async def stop(self) -> None:
        """End the agent in order, and wait until the kubelet has forgotten it."""
        await self.node.agent.terminate()
        await asyncio.sleep(_KUBELET_LOOKS)

    async def settled(self) -> JsonObject:
        """Wait until the agent has published and written everything; give its status. Raises ``NotMeasured``."""
        for _ in range(400):
            status: JsonObject = await self.node.agent.ask("status")
            if not status["pendingStatus"] and status["published"]["publishedAt"]:
                return status
            await asyncio.sleep(0.05)
        raise NotMeasured(f"the agent has not written everything after 20 s: {status['published']}")

    def claim(self, numbers: Sequence[int], pod_uid: str = "") -> Claim:
        """Make a claim of these dummy devices, as from a template, allocated and reserved for one pod."""
        pod_uid = pod_uid or str(uuid.uuid4())
        links = [wanted(number, position) for position, number in enumerate(numbers)]
        made = self.node.api.create(_claim_object(f"claim-{uuid.uuid4().hex[:12]}", len(links)))
        results = [
            {"request": link.name, "driver": DRIVER, "pool": self.node.name, "device": link.host_name} for link in links
        ]
        configs = [{"source": "FromClaim", "requests": [link.name], "opaque": _parameters(link)} for link in links]
        status = {
            "allocation": {"devices": {"results": results, "config": configs}},
            "reservedFor": [{"resource": "pods", "name": f"pod-{pod_uid[:8]}", "uid": pod_uid}],
        }
        self.node.api.update_status({**made, "status": status})
        return Claim(uid=made["metadata"]["uid"], name=made["metadata"]["name"], pod_uid=pod_uid, links=links)

    async def prepare(self, claims: Sequence[Claim]) -> float:
        """Have claims prepared; give the seconds. Raises ``NotMeasured``."""
        request = dra.NodePrepareResourcesRequest(claims=_named(claims))
        return await self._timed("NodePrepareResources", request, len(claims))

    async def unprepare(self, claims: Sequence[Claim]) -> float:
        """Have claims unprepared; give the seconds. Raises ``NotMeasured``."""
        request = dra.NodeUnprepareResourcesRequest(claims=_named(claims))
        return await self._timed("NodeUnprepareResources", request, len(claims))

    def forget(self, claims: Sequence[Claim]) -> None:
        """Delete claims from the API server."""
        for claim in claims:
            self.node.api.delete("resourceclaims", claim.name, "default")

    async def _timed(self, method: str, request: object, count: int) -> float:
        ask = call(self._channel, dra.DESCRIPTOR, f"DRAPlugin.{method}")
        began = time.perf_counter()
        answer = await ask(request, timeout=_DRA_SECONDS, wait_for_ready=True)
        took = time.perf_counter() - began
        errors = [one.error for one in answer.claims.values() if one.error]
        if errors or len(answer.claims) != count:
            raise NotMeasured(f"{method} of {count} claims failed: {'; '.join(errors) or 'claims are missing'}")
        return took


def furnish() -> str:
    """Make the uplink; give the kind of link that stands for dummy links here."""
    return kernel.furnish((UPLINK,))


def _named(claims: Sequence[Claim]) -> list[dra.Claim]:
    return [dra.Claim(uid=claim.uid, namespace="default", name=claim.name) for claim in claims]


def _claim_object(name: str, requests: int) -> JsonObject:
    asked = [{"name": f"net{position}", "exactly": {"deviceClassName": "any"}} for position in range(requests)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": {POD_CLAIM_NAME: "nic"}},
        "spec": {"devices": {"requests": asked}},
    }


def _parameters(link: Wanted) -> JsonObject:
    parameters = {
        "podIfName": link.name,
        "addresses": [link.address],
        "routes": [{"destination": link.destination, "gateway": link.gateway}],
    }
    return {"driver": DRIVER, "parameters": parameters}
