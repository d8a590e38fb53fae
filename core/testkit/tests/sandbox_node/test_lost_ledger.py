"""The agent comes back without its ledger, under running pods: real links, and the agent as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator

import pytest

from dragoman.control.client import AgentUnreachable
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects, kernel
from dragoman_testkit.sandbox.kernel import LinkView
from dragoman_testkit.sandbox.kubelet import Timings
from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder
from dragoman_testkit.sandbox.pod_life import Pauses

pytestmark = pytest.mark.kernel

QUICK = Pauses(prepare=0.05, sandbox=0.05, container=0.05, unprepare=0.05)
PATIENT = Timings(wipe=600)
"""Slices are not wiped while an agent takes its time to start."""


@pytest.fixture
async def node(host: str) -> AsyncIterator[SandboxNode]:
    folder = make_folder()
    try:
        async with SandboxNode(folder, settings=demo_objects.settings(host), pauses=QUICK, timings=PATIENT) as node:
            for pool, address in (("lab", "192.0.2.1/24"), ("uplink", "192.0.2.2/24")):
                node.api.create(demo_objects.device_class(pool))
                parameters = {"podIfName": "net1", "addresses": [address]}
                node.api.create(demo_objects.template(pool, pool, parameters))
            yield node
    finally:
        remove_folder(folder)


async def running(node: SandboxNode, *names: str) -> None:
    def run() -> bool:
        pods = [node.api.get("pods", name, "default") for name in names]
        return all((pod.get("status") or {}).get("phase") == "Running" for pod in pods)

    await node.until(run, f"pods {', '.join(names)} run")


async def told(node: SandboxNode, *conditions: str) -> None:
    """Wait until every claim's status has these conditions, all of them true."""

    def entries() -> list[JsonObject]:
        return [entry for claim in node.api.list("resourceclaims") for entry in claim["status"].get("devices") or [{}]]

    def told_of(entry: JsonObject) -> set[str]:
        return {each["type"] for each in entry.get("conditions") or () if each["status"] == "True"}

    await node.until(
        lambda: bool(entries()) and all(told_of(entry) >= set(conditions) for entry in entries()),
        f"claims are told to be {', '.join(conditions)}",
    )


async def lose_ledger(node: SandboxNode, *, gone: bool = False) -> None:
    await node.agent.kill()
    if gone:
        shutil.rmtree(node.state_dir)
        return
    (node.state_dir / "ledger.db").write_bytes(b"this is no database any more" * 200)
    # The log alone may hold every page, and then nothing is lost.
    (node.state_dir / "ledger.db-wal").unlink()


async def says(node: SandboxNode, reason: str) -> None:
    """Wait until the agent, which is not ready, gives the reason."""
    why = "nothing yet"
    async with asyncio.timeout(60):
        while reason not in why:
            await asyncio.sleep(0.05)
            with contextlib.suppress(AgentUnreachable):
                status = await node.agent.ask("status")
                assert not status["ready"]
                why = status["reason"]


def in_pod(node: SandboxNode, pod: str) -> LinkView:
    (link,) = [link for link in kernel.links(node.pods.netns(pod)) if link.name == "net1"]
    return link


def host_links() -> list[str]:
    return sorted(link.name for link in kernel.links())


async def attachments(node: SandboxNode) -> set[tuple[str, str, str]]:
    rows = await node.agent.ask("allocations")
    return {(row["pods"][0], row["attachment"], row["interface"]) for row in rows}


@pytest.mark.parametrize("gone", [False, True], ids=["broken", "gone"])
async def test_running_pods_keep_their_devices_and_give_them_back_at_their_end(node: SandboxNode, gone: bool) -> None:
    before = host_links()
    await node.agent.start()
    for name, pool in (("web", "lab"), ("api", "uplink")):
        node.api.create(demo_objects.pod(name, pool))
    await running(node, "web", "api")
    await told(node, "Ready", "NetworkReady")
    links = {name: in_pod(node, name) for name in ("web", "api")}
    slices = node.api.list("resourceslices")
    specs = {path.name: path.read_text() for path in node.cdi_dir.iterdir()}
    rows = await node.agent.ask("allocations")

    await lose_ledger(node, gone=gone)
    await node.agent.start()
    assert await node.agent.ask("allocations") == rows
    assert {name: in_pod(node, name) for name in ("web", "api")} == links
    assert {path.name: path.read_text() for path in node.cdi_dir.iterdir()} == specs
    assert node.api.list("resourceslices") == slices

    await node.drain()
    assert await node.agent.ask("allocations") == []
    assert (host_links(), list(node.cdi_dir.iterdir())) == (before, [])


async def test_an_attachment_that_nobody_was_told_of_is_found_in_the_pod(node: SandboxNode) -> None:
    before = host_links()
    await node.agent.start()
    go = asyncio.Event()

    async def hold(_pod: JsonObject) -> None:
        await go.wait()

    node.pods.leaders.before_sandbox = hold
    node.api.create(demo_objects.pod("web", "lab"))
    await node.until(lambda: bool(node.api.list("resourceclaims")), "the claim is made")
    await told(node, "Ready")
    node.api.faults.fail(503, verb="apply", path="/status", count=1000)
    go.set()
    await running(node, "web")
    link = in_pod(node, "web")

    await lose_ledger(node)
    node.api.faults.clear()
    await node.agent.start()
    assert in_pod(node, "web") == link
    assert await attachments(node) == {("web", "ATTACHED", "net1")}
    await told(node, "Ready", "NetworkReady")
    await node.drain()
    assert (host_links(), list(node.cdi_dir.iterdir())) == (before, [])


async def test_the_agent_serves_degraded_and_says_why_until_the_claims_can_be_read(node: SandboxNode) -> None:
    before = host_links()
    await node.agent.start()
    node.api.create(demo_objects.pod("web", "lab"))
    await running(node, "web")
    await told(node, "Ready", "NetworkReady")
    await lose_ledger(node)
    node.api.faults.fail(403, reason="Forbidden", message="no", path="/pods", verb="list", count=1000)
    await node.agent.launch()
    await says(node, "allow list on pods")
    node.api.create(demo_objects.pod("api", "uplink"))
    await running(node, "api")
    assert await attachments(node) == {("api", "ATTACHED", "net1")}

    node.api.faults.clear()
    await node.agent.ready()
    assert await attachments(node) == {("web", "ATTACHED", "net1"), ("api", "ATTACHED", "net1")}
    await node.drain()
    assert (host_links(), list(node.cdi_dir.iterdir())) == (before, [])


async def test_where_no_status_was_kept_pods_run_on_and_nothing_is_left_of_them(node: SandboxNode) -> None:
    before = host_links()
    node.api.faults.off.add("DRAResourceClaimDeviceStatus")
    await node.agent.start()
    node.api.create(demo_objects.pod("web", "lab"))
    await running(node, "web")
    link = in_pod(node, "web")
    await lose_ledger(node)
    await node.agent.start()
    assert in_pod(node, "web") == link
    assert await node.agent.ask("allocations") == []
    await node.drain()
    assert host_links() == before
