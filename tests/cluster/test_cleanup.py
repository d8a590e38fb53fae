"""Pods that end in unkind ways leave nothing: no sandbox, no file, no device, and every link of the host is back."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from tests.cluster import files, objects, witness
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import LENDERS

MANY = {"lab": 78, "uplink": 8, "shared": 14}
"""Pods of each class that one node is drained of: 100, of the 110 that a kubelet takes by default."""
POOLS = ("lab", "uplink", "shared")


@pytest.fixture
def stand(case: Case) -> Iterator[Case]:
    """A case with a template for each class; afterwards the host is as it was before."""
    for pool in (*POOLS, "borrowed"):
        named = [objects.config({"podIfName": "net1"})]
        case.create(objects.template(pool, objects.request("nic", pool), config=named))
    before = _links(case)
    yield case
    witness.end(case)
    case.until(lambda: _links(case) == before, f"the host has its links as before: {before}")


def test_pods_deleted_by_force_while_the_agent_is_down_are_cleaned_up_when_it_is_back(stand: Case) -> None:
    # The kernel keeps real NICs of a namespace that ends, and destroys veth ends, as the node's own links are.
    stand.create(*(_pod(stand, pool, pool) for pool in POOLS))
    stand.running(*POOLS)
    stand.agent.kill()
    stand.delete(*POOLS, grace=0)
    stand.until(lambda: not witness.running(stand), "the runtime has ended the pods")
    stand.agent.start()
    stand.until(lambda: not stand.agent.allocations(), "all devices are free")


def test_a_sandbox_that_is_killed_is_made_again_with_its_device(stand: Case) -> None:
    names = ("lab", "shared")
    stand.create(*(_pod(stand, name, name) for name in names))
    witness.saw(stand, *names)
    for name in names:
        witness.kill_sandbox(stand, stand.pod(name))
    witness.saw(stand, *names, times=2)
    stand.running(*names)


def test_a_network_namespace_that_is_taken_away_keeps_no_pod_from_ending(stand: Case) -> None:
    stand.create(*(_pod(stand, name, name) for name in POOLS))
    stand.running(*POOLS)
    for path in stand.node.spaces.path("/run/netns").iterdir():
        stand.node.run("ip", "netns", "delete", path.name)
    stand.delete(*POOLS)
    stand.until(lambda: not stand.agent.allocations(), "all devices are free")


def test_a_sandbox_may_be_stopped_again_and_again_and_removed_without_being_stopped(stand: Case) -> None:
    names = ("lab", "borrowed")
    stand.create(*(_pod(stand, name, name) for name in names))
    stand.running(*names)
    witness.saw(stand, *names)
    lab, borrowed = (witness.sandboxes(stand, stand.pod(name)) for name in names)
    kubelet = stand.node.parts["kubelet"]
    kubelet.end()
    for _ in range(3):
        _runtime(stand, "StopPodSandbox", *lab)
    _runtime(stand, "RemovePodSandbox", *lab)
    _runtime(stand, "RemovePodSandbox", *borrowed)
    stand.until(lambda: set(LENDERS) <= set(_links(stand)), "the node has its links back")
    assert not witness.running(stand)
    kubelet.start(stand.node.spaces)
    witness.saw(stand, *names, times=2)
    stand.running(*names)


@pytest.fixture
def large(stand: Case) -> Case:
    """The same with enough links for many pods."""
    stand.agent.settings["deviceManagerConfigs"]["dummy"]["count"] = MANY["lab"]
    stand.agent.restart()
    return stand


@pytest.mark.timeout(2400)
def test_a_node_is_drained_of_many_pods(large: Case) -> None:
    stand = large
    names = [f"{pool}-{number}" for pool, count in MANY.items() for number in range(count)]
    assert len(names) == 100
    stand.create(*(_pod(stand, name, name.partition("-")[0]) for name in names))
    stand.running(*names, limit=800)
    witness.saw(stand, *names)
    try:
        stand.node.kubectl("drain", files.NODE, "--force", "--grace-period=1", "--timeout=800s", limit=820)
    finally:
        stand.node.kubectl("uncordon", files.NODE)
    assert stand.api.list("Pod") == []
    stand.until(lambda: not stand.agent.allocations(), "all devices are free")
    witness.saw(stand, *names)


def _pod(case: Case, name: str, template: str) -> Object:
    return witness.pod(case, name, objects.of_template(template))


def _links(case: Case) -> list[str]:
    """Name the links of the host, but for those that CNI makes."""
    lines = case.node.run("ip", "-oneline", "link").splitlines()
    names = [line.split(": ")[1].partition("@")[0] for line in lines]
    return sorted(name for name in names if name != "cni0" and not name.startswith("veth"))


def _runtime(case: Case, method: str, sandbox: str) -> None:
    """Call the runtime as the kubelet does. Both messages are one string, the sandbox's id, as field 1."""
    socket = case.node.spaces.path("/run/containerd/containerd.sock")
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        call = channel.unary_unary(f"/runtime.v1.RuntimeService/{method}", bytes, bytes)
        call(b"\x0a" + bytes([len(sandbox)]) + sandbox.encode(), timeout=120)
