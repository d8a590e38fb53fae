from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import grpc
import pytest

from dragoman.kubelet._proto import podresources_pb2 as messages
from dragoman.kubelet.podresources import PodDevice, PodResourcesClient
from dragoman.kubelet.rpc import service
from dragoman.model.errors import Unavailable


def resource(device: str, *cdi: str, share: str | None = None) -> Any:
    found = messages.ClaimResource(
        driver_name="nic.example.com",
        pool_name="node-7",
        device_name=device,
        cdi_devices=[messages.CDIDevice(name=name) for name in cdi],
    )
    if share is not None:
        found.share_id = share
    return found


def container(name: str, *resources: Any) -> Any:
    claim = messages.DynamicResource(claim_name="nics", claim_namespace="team", claim_resources=resources)
    return messages.ContainerResources(name=name, dynamic_resources=[claim])


def device(name: str, share: str = "") -> PodDevice:
    return PodDevice(
        claim_namespace="team",
        claim_name="nics",
        driver="nic.example.com",
        pool="node-7",
        device=name,
        share_id=share,
    )


class Kubelet:
    """Serves what the test says; each entry of ``faults`` fails one call."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.containers: list[Any] = []
        self.faults: list[tuple[grpc.StatusCode, str]] = []
        self.asked: list[tuple[str, str]] = []
        self.hang: Callable[[], Awaitable[object]] | None = None

    async def get(self, request: Any, context: Any) -> Any:
        self.asked.append((request.pod_namespace, request.pod_name))
        if self.hang:
            await self.hang()
        if self.faults:
            await context.abort(*self.faults.pop(0))
        pod = messages.PodResources(name=request.pod_name, namespace=request.pod_namespace, containers=self.containers)
        return messages.GetPodResourcesResponse(pod_resources=pod)

    async def list(self, _request: Any, _context: Any) -> Any:
        return messages.ListPodResourcesResponse()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        server = grpc.aio.server()
        methods = {"Get": self.get, "List": self.list}
        server.add_generic_rpc_handlers([service(messages.DESCRIPTOR, "PodResourcesLister", methods)])
        server.add_insecure_port(f"unix:{self.socket}")
        await server.start()
        try:
            yield
        finally:
            await server.stop(0)


class Glances:
    """Time that passes with each look at it: half a minute, in which even a slow machine answers a call."""

    def __init__(self) -> None:
        self._time = 0.0

    def now(self) -> float:
        return self.monotonic()

    def monotonic(self) -> float:
        self._time += 30
        return self._time

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture
def kubelet(root: Path) -> Kubelet:
    return Kubelet(root / "kubelet.sock")


async def test_devices_are_told_by_driver_pool_device_and_share_each_once(kubelet: Kubelet, real_clock: Any) -> None:
    first, second = resource("vf-1", "cdi-1"), resource("vf-2", "cdi-1", "cdi-2")
    shares = [resource("p0", share="s-1"), resource("p0", share="s-2")]
    kubelet.containers = [container("a", first, second), container("b", first, second, *shares)]
    async with kubelet.serving():
        found = await PodResourcesClient(kubelet.socket, real_clock, timeout=60).devices_of("team", "web-0")
    assert found == [device("vf-1"), device("vf-2"), device("p0", "s-1"), device("p0", "s-2")]
    assert kubelet.asked == [("team", "web-0")]


async def test_a_claim_that_is_not_prepared_yet_has_no_devices(kubelet: Kubelet, real_clock: Any) -> None:
    kubelet.containers = [container("a"), messages.ContainerResources(name="b")]
    async with kubelet.serving():
        assert await PodResourcesClient(kubelet.socket, real_clock, timeout=60).devices_of("team", "web-0") == []


async def test_a_pod_that_the_kubelet_does_not_know_has_no_devices(kubelet: Kubelet, real_clock: Any) -> None:
    kubelet.faults = [(grpc.StatusCode.UNKNOWN, "pod web-0 in namespace team not found")]
    async with kubelet.serving():
        assert await PodResourcesClient(kubelet.socket, real_clock, timeout=60).devices_of("team", "web-0") == []


async def test_the_kubelets_rate_limit_is_waited_out(kubelet: Kubelet, real_clock: Any) -> None:
    kubelet.containers = [container("a", resource("vf-1"))]
    kubelet.faults = [(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")] * 2
    async with kubelet.serving():
        found = await PodResourcesClient(kubelet.socket, real_clock, timeout=60).devices_of("team", "web-0")
    assert found == [device("vf-1")]


async def test_a_socket_that_appears_in_time_is_found(kubelet: Kubelet, real_clock: Any) -> None:
    kubelet.containers = [container("a", resource("vf-1"))]
    client = PodResourcesClient(kubelet.socket, real_clock, timeout=60)
    asking = asyncio.create_task(client.devices_of("team", "web-0"))
    await asyncio.sleep(0)
    async with kubelet.serving():
        assert await asking == [device("vf-1")]


@pytest.mark.parametrize(
    ("faults", "told"),
    [
        ([], "UNAVAILABLE"),
        ([(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")] * 1000, "RESOURCE_EXHAUSTED, rejected by"),
        ([(grpc.StatusCode.UNIMPLEMENTED, "unknown service")], "UNIMPLEMENTED, unknown service"),
    ],
    ids=["no socket", "rate limit", "not served"],
)
async def test_what_cannot_be_had_in_time_is_unavailable_with_pod_socket_and_reason(
    kubelet: Kubelet, faults: list[tuple[grpc.StatusCode, str]], told: str
) -> None:
    kubelet.faults = list(faults)
    client = PodResourcesClient(kubelet.socket, Glances(), timeout=180)
    async with kubelet.serving() if faults else nullcontext():
        with pytest.raises(Unavailable, match=rf"team/web-0 on {kubelet.socket}: {told}"):
            await client.devices_of("team", "web-0")


async def test_a_kubelet_that_hangs_costs_no_more_than_the_time_out(kubelet: Kubelet, real_clock: Any) -> None:
    never = asyncio.Event()

    kubelet.hang = never.wait
    async with kubelet.serving():
        with pytest.raises(Unavailable, match="DEADLINE_EXCEEDED"):
            await PodResourcesClient(kubelet.socket, real_clock, timeout=0.05).devices_of("team", "web-0")
