"""Pods on a whole node: real namespaces, real links, and the agent as a process of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects, kernel
from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder
from dragoman_testkit.sandbox.pod_life import Pauses

pytestmark = pytest.mark.kernel

QUICK = Pauses(prepare=0.05, sandbox=0.05, container=0.05, unprepare=0.05)


@pytest.fixture
async def node(host: str) -> AsyncIterator[SandboxNode]:
    folder = make_folder()
    try:
        async with SandboxNode(folder, settings=demo_objects.settings(host), pauses=QUICK) as node:
            node.api.create(demo_objects.device_class("lab"))
            node.api.create(demo_objects.template("nic", "lab", {"podIfName": "net1"}))
            yield node
    finally:
        remove_folder(folder)


def status(node: SandboxNode, pod: str = "web") -> JsonObject:
    found: JsonObject = node.api.get("pods", pod, "default").get("status") or {}
    return found


async def phase(node: SandboxNode, wanted: str, pod: str = "web") -> None:
    await node.until(lambda: status(node, pod).get("phase") == wanted, f"pod {pod} becomes {wanted}")


def bare(*command: str) -> JsonObject:
    pod = demo_objects.pod("web", "nic", command)
    del pod["spec"]["resourceClaims"]
    del pod["spec"]["containers"][0]["resources"]
    return pod


def reasons(node: SandboxNode) -> list[str]:
    return [event["reason"] for event in node.api.list("events") if event["involvedObject"]["name"] == "web"]


async def test_a_pod_without_claims_needs_no_agent(node: SandboxNode) -> None:
    node.api.create(bare())
    await phase(node, "Running")
    (container,) = status(node)["containerStatuses"]
    assert (container["ready"], container["restartCount"], container["state"]) == (True, 0, {"running": {}})
    assert [link.name for link in kernel.links(node.pods.netns("web"))] == ["lo", "eth0"]
    await node.drain()
    assert list(node.netns_dir.iterdir()) == []


@pytest.mark.parametrize(("command", "wanted"), [("true", "Succeeded"), ("false", "Failed")])
async def test_a_pod_ends_with_its_containers_and_its_object_stays(
    node: SandboxNode, command: str, wanted: str
) -> None:
    node.api.create(bare(command))
    await phase(node, wanted)
    assert list(node.netns_dir.iterdir()) == []
    await node.drain()


async def test_a_pod_waits_for_its_devices_and_says_why(node: SandboxNode) -> None:
    node.api.create(demo_objects.pod("web", "nic"))
    await node.until(lambda: bool(status(node).get("conditions")), "the pod is told to be unschedulable")
    (condition,) = status(node)["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable")
    assert "this node has no device" in condition["message"]
    await node.agent.start()
    await phase(node, "Running")
    await node.drain()
    assert node.api.list("resourceclaims") == []
    assert await node.agent.ask("allocations") == []


async def test_a_pod_that_is_prepared_later_starts_with_no_restart(node: SandboxNode) -> None:
    await node.agent.start()
    await node.agent.terminate()
    await node.kubelet.deregistered("net.dragoman.dev")
    node.api.create(demo_objects.pod("web", "nic"))
    await node.until(lambda: bool(reasons(node)), "the failure is told")
    assert set(reasons(node)) == {"FailedPrepareDynamicResources"}
    await node.agent.start()
    await phase(node, "Running")
    assert status(node)["containerStatuses"][0]["restartCount"] == 0
    await node.drain()


async def test_a_pod_that_is_deleted_while_it_is_prepared_leaves_nothing(node: SandboxNode) -> None:
    await node.agent.start()
    before = sorted(link.name for link in kernel.links())
    arrived = asyncio.Event()

    async def hold(_pod: JsonObject) -> None:
        arrived.set()
        await asyncio.Event().wait()

    node.pods.leaders.before_sandbox = hold
    node.api.create(demo_objects.pod("web", "nic"))
    async with asyncio.timeout(60):
        await arrived.wait()
    assert len(kernel.links()) > len(before)
    await node.drain()
    assert sorted(link.name for link in kernel.links()) == before
    assert list(node.cdi_dir.iterdir()) == []


async def test_a_container_sees_its_metadata_at_the_path_of_the_protocol_and_the_host_does_not(
    node: SandboxNode,
) -> None:
    await node.agent.start()
    node.api.create(demo_objects.pod("web", "nic"))
    await phase(node, "Running")
    reader = (sys.executable, "-m", "dragoman_metadata.cli", "show", "--pod-claim", "nic", "--get", "interface")
    assert await node.pods.container("web").exec(*reader) == "net1\n"
    assert "dra-device-attributes" not in kernel_mounts()
    await node.drain()


def kernel_mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()
