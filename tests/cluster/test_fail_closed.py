"""No container that names a device runs without it, whatever happens to the agent; then it starts by itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman_hookspecs import DragomanError
from tests.cluster import objects, witness
from tests.cluster.agent import Agent
from tests.cluster.case import Case
from tests.cluster.relay import Relay
from tests.cluster.witness import HEALED_WITHIN, restarts
from tests.e2e import thirdparty
from tests.e2e.thirdparty import Script


@pytest.fixture
def stand(case: Case) -> Iterator[Case]:
    """A case whose pods bear witness; afterwards the runtime holds nothing of them."""
    case.create(witness.nic())
    yield case
    witness.end(case)
    # It does not come back where it holds records of sandboxes that were refused.
    case.node.parts["containerd"].end()
    case.node.repair()
    case.until(lambda: case.agent.status()["nri"]["synchronized"], "the agent has met the runtime again")


@pytest.fixture
def odd(stand: Case, tmp_path: Path) -> Iterator[Script]:
    """A manager of somebody else that plays a part, with the class ``odd`` and a template of that name."""
    script = Script(tmp_path, "odd", stand.node.link_kind())
    settings, env = stand.agent.settings, dict(stand.agent.part.env)
    settings["deviceManagerConfigs"]["odd"] = script.section(3)
    settings["pools"].append({"name": "odd", "filter": {"deviceManagers": ["odd"]}})
    stand.agent.part.env |= thirdparty.path(tmp_path)
    stand.agent.restart()
    stand.api.apply(objects.device_class("odd"))
    stand.create(witness.nic("odd", "odd"))
    yield script
    script.play()
    stand.close()  # it is needed until its devices are free
    stand.agent.part.env = env


@pytest.fixture
def relay(stand: Case) -> Iterator[Relay]:
    """Something between the agent and the runtime."""
    place = "/run/relay/nri.sock"
    relay = Relay(stand.node.spaces.path(place), stand.node.spaces.path("/run/nri/nri.sock"))
    stand.agent.settings["paths"] = {"nriSocket": place}
    stand.agent.restart()
    yield relay
    relay.close()


@pytest.mark.parametrize("leave", [Agent.terminate, Agent.kill, Agent.freeze])
def test_what_starts_while_the_agent_is_away_waits_and_heals(stand: Case, leave: Callable[[Agent], object]) -> None:
    back = Agent.thaw if leave is Agent.freeze else Agent.start
    with witness.held(stand, "always", "never", "job") as all_held:
        _start(stand)
        all_held()
        leave(stand.agent)
    _refused(stand)
    back(stand.agent)
    stand.agent.part.wait_ready()
    _heals(stand)


def test_an_attach_that_fails_at_first_is_made_up_for(stand: Case, odd: Script) -> None:
    odd.play(attach_device="refuse")
    _start(stand, "odd")
    _refused(stand)
    for name in ("always", "never", witness.pod_of(stand, "job")):
        stand.event(name, "DeviceNotAttached", "attach_device is refused")
    odd.play()
    # The agent tries each again in its own time. A row is gone when its job is done.
    stand.until(lambda: {row["attachment"] for row in stand.rows()} == {"ATTACHED"}, "the devices are in their pods")
    _heals(stand)


def test_a_sandbox_that_is_remade_while_the_agent_is_dead_is_no_way_past_the_guard(stand: Case) -> None:
    stand.create(
        witness.pod(stand, "always"),
        witness.pod(stand, "never", policy="Never"),
        witness.job(stand, "job", then="trap 'exit 1' TERM; sleep 1000000 & wait", retries=1),
    )
    first = witness.pod_of(stand, "job")
    stand.running("always", "never", first)
    witness.saw(stand, "always", "never", "job")
    (old,) = witness.sandboxes(stand, stand.pod("always"))
    guards = _guards(stand)
    stand.agent.kill()
    ended = time.monotonic()
    for name in ("always", "never", first):
        witness.kill_sandbox(stand, stand.pod(name))
    stand.until(lambda: set(witness.sandboxes(stand, stand.pod("always"))) - {old}, "the sandbox is remade")
    stand.until(lambda: restarts(stand, "always") or stand.events("always", "Failed"), "its container was refused")
    assert _guards(stand) == guards
    assert witness.notes(stand, "always") == ["with"]
    stand.agent.start()
    # A container that ran before is subject to the kubelet's back-off, which is 10 s at first, doubled with each try,
    # counted from its end, and waited for up to half as long again: as long as the agent was away, with that.
    limit = HEALED_WITHIN + 1.5 * (time.monotonic() - ended)
    stand.until(lambda: len(witness.notes(stand, "always")) > 1, "its container starts by itself", limit)
    stand.running("always")
    stand.phase("never", "Failed", "Succeeded")
    witness.saw(stand, "always", times=2)
    witness.saw(stand, "never")
    # The job makes another pod in place of the one that failed, with a claim and a device of its own.
    second = witness.pod_of(stand, "job", but=first)
    stand.until(lambda: witness.is_up(stand, second), "the second pod of the job runs")
    witness.saw(stand, "job", times=2)


def test_with_the_agent_dead_a_second_pod_can_start_without_the_exclusive_device_of_its_claim(stand: Case) -> None:
    """The limit that the first page names. The runtime's guard of the claim is open for the first pod."""
    request = objects.request("nic", "lab")
    stand.create(objects.claim("one", request, config=[objects.config({"podIfName": "net1"})]))
    stand.create(witness.pod(stand, "first", objects.of_claim("one")))
    stand.running("first")
    stand.agent.kill()
    stand.create(objects.pod("second", objects.of_claim("one")))
    stand.running("second")
    assert "net1" not in stand.exec("second", "ip", "link")
    assert "net1" in stand.exec("first", "ip", "link")
    stand.agent.start()
    stand.event("second", "DeviceNotAttached", f"{stand.namespace}/first")
    stand.delete("first")
    stand.until(lambda: "net1" in stand.exec("second", "ip", "link"), "the device follows to the second pod")


def test_pods_of_a_claim_with_an_exclusive_device_run_one_after_the_other(stand: Case) -> None:
    request = objects.request("nic", "lab")
    stand.create(objects.claim("one", request, config=[objects.config({"podIfName": "net1"})]))
    claim = objects.of_claim("one")
    stand.create(witness.pod(stand, "first", claim))
    stand.running("first")
    holder = "first"
    for name, follower in (
        ("never", witness.pod(stand, "never", claim, policy="Never")),
        ("always", witness.pod(stand, "always", claim)),
        ("job", witness.job(stand, "job", claim, then=objects.FOREVER)),
    ):
        stand.create(follower)
        pod = witness.pod_of(stand, "job") if name == "job" else name
        stand.event(pod, "DeviceNotAttached", f"{stand.namespace}/{holder}")
        # The guard is open for the pod that has the device: it is the agent that refuses the other.
        stand.waits(pod, "CreateContainerError", f"{stand.namespace}/{holder}")
        stand.delete(holder)
        stand.running(pod)
        assert restarts(stand, pod) == 0
        holder = pod
    witness.saw(stand, "first", "never", "always", "job")


def test_a_pod_in_the_hosts_network_never_starts_and_is_told_why(stand: Case) -> None:
    _start(stand, hostNetwork=True)
    pods = "always", "never", witness.pod_of(stand, "job")
    for name in pods:
        stand.event(name, "DeviceNotAttached", "no network namespace of its own")
    _refused(stand)
    stand.api.delete("Job", "job")
    stand.delete(*pods)
    assert [witness.notes(stand, name) for name in ("always", "never", "job")] == [[]] * 3


def test_pods_run_on_when_containerd_is_restarted(stand: Case) -> None:
    stand.create(
        witness.pod(stand, "before"),
        witness.pod(stand, "never", policy="Never"),
        witness.job(stand, "job", then=objects.FOREVER),
        witness.pod(stand, "ending"),
    )
    before = "before", "never", witness.pod_of(stand, "job")
    stand.running(*before, "ending")
    containerd = stand.node.parts["containerd"]
    containerd.end()
    stand.api.delete("Pod", "ending")
    stand.until(lambda: not stand.agent.status()["nri"]["connected"], "the agent notices")
    containerd.start(stand.node.spaces)
    stand.until(lambda: stand.agent.status()["nri"]["synchronized"], "the agent is back", HEALED_WITHIN)
    stand.until(lambda: stand.api.get("Pod", "ending") is None, "the other pod has ended")
    stand.create(witness.pod(stand, "after"))
    stand.running("after")
    for name in before:
        assert "net1" in stand.exec(name, "ip", "-o", "link")
        assert restarts(stand, name) == 0
    witness.saw(stand, "before", "never", "job", "ending", "after")


def test_without_the_nri_socket_pods_wait_until_the_runtime_has_remade_it(stand: Case) -> None:
    stand.create(witness.pod(stand, "before"))
    stand.running("before")
    with _no_nri_socket(stand):
        stand.agent.kill()
        stand.agent.launch()
        stand.until(lambda: _lacks_nri(stand), "the agent says what is missing, and prepares claims all the same")
        _start(stand)
        _refused(stand)
    stand.agent.part.wait_ready()
    _heals(stand)
    assert restarts(stand, "before") == 0


@contextlib.contextmanager
def _no_nri_socket(case: Case) -> Iterator[None]:
    """Take the socket away; the runtime, started anew, makes it again at the end."""
    case.node.spaces.path("/run/nri/nri.sock").unlink()
    try:
        yield
    finally:
        case.node.parts["containerd"].end()
        case.node.parts["containerd"].start(case.node.spaces)


def test_a_runtime_that_dropped_the_agent_without_a_word_is_met_again(stand: Case, relay: Relay) -> None:
    stand.create(witness.pod(stand, "before"))
    stand.running("before")
    with witness.held(stand, "always", "never", "job") as all_held:
        _start(stand)
        all_held()
        stand.agent.restart()  # half a minute after it has met the runtime, it asks whether that still knows it
        met = stand.agent.status()["nri"]["since"]
        relay.forget()
    _refused(stand)
    assert stand.agent.status()["nri"]["since"] == met
    stand.until(lambda: stand.agent.status()["nri"]["since"] > met, "the agent has doubts")
    stand.agent.part.wait_ready()
    _heals(stand)


def _start(case: Case, template: str = "nic", **spec: Any) -> None:
    """Create pods with restart policy Always and Never, and a job; ``spec``: further fields of all three."""
    claim = objects.of_template(template)
    case.create(
        witness.pod(case, "always", claim, **spec),
        witness.pod(case, "never", claim, policy="Never", **spec),
        witness.job(case, "job", claim, **spec),
    )


def _refused(case: Case) -> None:
    """Wait until the runtime has refused the containers of all three, as their guards are closed."""
    for name in ("always", "never", witness.pod_of(case, "job")):
        case.waits(name, "CreateContainerError", "/guard=")


def _heals(case: Case) -> None:
    """See pods ``always`` and ``never`` and the job ``job`` start by themselves, each once and with its device."""

    names = "always", "never", "job"
    case.until(lambda: all(witness.notes(case, name) for name in names), "they start by themselves", HEALED_WITHIN)
    witness.saw(case, *names)
    case.running("always", "never")
    case.until(lambda: witness.is_done(case, "job"), "the job is done")
    assert restarts(case, "always") == restarts(case, "never") == 0


def _guards(case: Case) -> dict[str, str]:
    folder = case.node.spaces.path("/run/cdi")
    return {path.name: path.read_text() for path in folder.glob("*-guard_*.json")}


def _lacks_nri(case: Case) -> bool:
    try:
        status = case.agent.status()
    except DragomanError:
        return False
    return not status["ready"] and "no NRI socket" in status["reason"] and bool(status["registered"])
