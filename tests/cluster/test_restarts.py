"""Agent, kubelet, runtime and node start again, and an update changes the agent, while pods run and start."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import pytest

from dragoman_hookspecs import DragomanError
from tests.cluster import objects, witness
from tests.cluster.agent import DRIVER, Agent
from tests.cluster.case import Case
from tests.cluster.files import NODE
from tests.cluster.witness import restarts


@pytest.fixture
def stand(case: Case) -> Iterator[Case]:
    """A case whose pods bear witness, with one that runs; afterwards the runtime holds nothing of them."""
    case.create(witness.nic(), witness.nic("uplink", "uplink"))
    case.create(witness.pod(case, "before"), witness.pod(case, "uplinked", objects.of_template("uplink")))
    case.running("before", "uplinked")
    yield case
    witness.end(case)


def slices(case: Case) -> dict[str, str]:
    """Give the UIDs of the agent's slices with their resource versions."""
    found = case.api.list("ResourceSlice", fieldSelector=f"spec.driver={DRIVER},spec.nodeName={NODE}")
    return {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in found}


@pytest.mark.parametrize(
    "names",
    [["agent"], ["kubelet"], ["containerd"], ["agent", "kubelet", "containerd"]],
    ids=lambda names: "-".join(names) if len(names) == 1 else "all",
)
def test_pods_that_run_go_on_and_pods_that_start_get_their_devices(stand: Case, names: Sequence[str]) -> None:
    known = slices(stand)
    # At the network, and not later: containerd 2.1 keeps the record of a sandbox whose caller, the kubelet, goes away
    # then, and does not start again once there is a second one of that name.
    with witness.held(stand, "held") as all_held:
        stand.create(witness.pod(stand, "held"))
        all_held()
        for name in names:
            stand.node.parts[name].end()
    stand.create(witness.pod(stand, "meanwhile", policy="Never"), witness.job(stand, "job"))
    _start(stand, names)
    stand.create(witness.pod(stand, "after"))
    pods = ("before", "uplinked", "held", "meanwhile", "after")
    _running(stand, (*pods, witness.pod_of(stand, "job")))
    witness.saw(stand, *pods, "job")
    assert {name: restarts(stand, name) for name in pods} == dict.fromkeys(pods, 0)
    if "kubelet" not in names:  # which deletes all slices of its node at its start
        assert slices(stand) == known
    stand.until(lambda: slices(stand), "the devices are published")


def test_after_a_reboot_pods_get_their_devices_again(stand: Case) -> None:
    stand.create(witness.pod(stand, "once", policy="Never"))
    stand.running("once")
    assert witness.unarmed(stand) == []
    stand.node.reboot()
    stand.api = stand.node.api.within(stand.namespace)
    stand.agent.start()
    for name in ("before", "uplinked"):
        # Until the kubelet has looked, the pod is told to run as it did before.
        stand.until(functools.partial(_noted_and_up, stand, name), f"pod {name} runs again")
    witness.saw(stand, "before", "uplinked")
    stand.phase("once", "Failed", "Succeeded", "Unknown")
    assert witness.notes(stand, "once") == []
    stand.create(witness.pod(stand, "after"))
    stand.running("after")


@pytest.fixture
def update(stand: Case) -> Iterator[tuple[Agent, Agent]]:
    """Two agents as an update has them: the one that serves, and one that was not started."""
    old = stand.agent
    old.settings["podUid"] = "11111111-1111-4111-8111-111111111111"
    old.restart()
    new = Agent(stand.node, "newcomer", {"podUid": "22222222-2222-4222-8222-222222222222"})
    yield old, new
    for agent in (new, old):
        if agent.pid is not None:
            agent.terminate()
    del stand.node.parts["newcomer"]


def test_an_update_leaves_no_gap(stand: Case, update: tuple[Agent, Agent]) -> None:
    old, new = update
    known, begun = slices(stand), 0

    def start_pod() -> None:
        nonlocal begun
        begun += 1
        stand.create(witness.pod(stand, f"pod-{begun}"))

    served = _serving(old)
    with witness.held(stand, "across") as all_held:
        stand.create(witness.pod(stand, "across"))
        all_held()
        start_pod()
        new.launch()
        start_pod()
        stand.until(lambda: _serving(new) not in {None, served}, "the newcomer serves")
        assert old.pid is not None
        start_pod()
        assert slices(stand) == known
        assert old.terminate() == 0
    start_pod()
    pods = ["before", "uplinked", "across", *(f"pod-{number}" for number in range(1, begun + 1))]
    stand.running(*pods)
    assert {name: restarts(stand, name) for name in pods} == dict.fromkeys(pods, 0)
    assert [stand.events(name, "FailedPrepareDynamicResources") for name in pods] == [[]] * len(pods)
    unlucky = [
        (name, reason) for name in pods for reason in ("Failed", "DeviceNotAttached") if stand.events(name, reason)
    ]
    assert unlucky == []
    witness.saw(stand, *pods)
    assert slices(stand) == known


def _serving(agent: Agent) -> int | None:
    """Give the process id, as the node sees it, of the agent that serves completely; None where none does."""
    try:
        status = agent.status()
    except DragomanError:
        return None
    return int(status["pid"]) if status["ready"] and status["nri"]["synchronized"] else None


def _start(case: Case, names: Sequence[str]) -> None:
    """Start programs; the kubelet ends where it finds no runtime."""
    for name in sorted(names):
        case.agent.launch() if name == "agent" else case.node.parts[name].launch(case.node.spaces)
        if name == "containerd":
            case.node.parts[name].wait_ready()
    for name in names:
        case.node.parts[name].wait_ready()


def _noted_and_up(case: Case, name: str) -> bool:
    return witness.is_up(case, name) and bool(witness.notes(case, name))


def _running(case: Case, names: Sequence[str]) -> None:
    for name in names:
        case.until(functools.partial(witness.is_up, case, name), f"pod {name} runs")
