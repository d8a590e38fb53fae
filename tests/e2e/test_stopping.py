"""The agent is asked to end: everything stays, and the next one goes on with it."""

from __future__ import annotations

import json
import signal

from dragoman_testkit.sandbox.node import DRIVER
from tests.e2e import objects
from tests.e2e.trial import MakeTrial, Trial, eventually


def files(trial: Trial) -> dict[str, bytes]:
    """Read all CDI specs and metadata."""
    return {str(path): path.read_bytes() for path in sorted(trial.node.cdi_dir.rglob("*")) if path.is_file()}


def versions(trial: Trial) -> dict[str, str]:
    """Give UID to resource version of each claim."""
    return {c["metadata"]["uid"]: c["metadata"]["resourceVersion"] for c in trial.api.list("resourceclaims")}


async def test_a_restart_changes_nothing_of_what_pods_have(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.offer_uplink()
    await trial.start()
    trial.start_pod("red", {"podIfName": "net1", "addresses": ["192.0.2.1/24"]})
    trial.start_pod("blue", request=objects.request(device_class_name="uplink"))
    await trial.running("red", "blue")
    await trial.settled()
    before = (trial.slice_versions(), trial.pod_links("red"), trial.pod_links("blue"), files(trial))
    links, rows = trial.host_links(), await trial.agent.ask("allocations")
    claims = versions(trial)

    assert await trial.agent.terminate() == 0
    await trial.node.kubelet.deregistered(DRIVER)
    sockets = [path for path in trial.node.folder.rglob("*.sock") if path.name not in ("nri.sock", "kubelet.sock")]
    assert sockets == []
    assert (trial.slice_versions(), trial.pod_links("red"), trial.pod_links("blue"), files(trial)) == before
    assert trial.host_links() == links

    for path in trial.node.cdi_dir.iterdir():
        path.unlink()  # as a reboot does
    await trial.start()
    assert await trial.agent.ask("allocations") == rows
    assert (trial.slice_versions(), trial.pod_links("red"), trial.pod_links("blue"), files(trial)) == before
    assert versions(trial) == claims
    await trial.clean()
    assert trial.slice_versions() == before[0]
    assert await trial.agent.terminate() == 0


async def test_the_registration_goes_first_and_calls_in_progress_are_answered(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    slow = trial.script("slow")
    await trial.start()
    slow.play(setup_device="block")
    trial.start_pod("slow", request=objects.request(device_class_name="slow"))
    await eventually(lambda: slow.calls("setup_device") == 1, "a prepare is in progress")
    registration = trial.node.kubelet.root / "plugins_registry" / f"{DRIVER}-reg.sock"
    served = trial.node.kubelet.root / "plugins" / DRIVER / "dra.sock"
    trial.agent.send(signal.SIGTERM)
    await eventually(lambda: not registration.exists(), "the registration socket is gone")
    assert served.exists()
    slow.play()
    assert await trial.agent.wait() == 0
    assert not served.exists()
    assert "calls of the kubelet still run" not in trial.agent.log.read_text()
    await trial.start()
    await trial.running("slow")
    assert slow.calls("setup_device") == 1
    await trial.clean()


async def test_an_agent_that_starts_without_api_server_serves_what_it_knows(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    for name in ("kept", "ending"):
        trial.start_pod(name, {"podIfName": "net1"})
    await trial.running("kept", "ending")
    await trial.settled()
    slices = trial.slice_versions()
    await trial.agent.kill()
    await trial.api.stop()
    await trial.agent.start()
    trial.delete_pod("ending")
    await trial.ended("ending")
    assert "net1" in trial.pod_links("kept")
    await trial.api.start()
    await trial.settled()
    trial.start_pod("new")
    await trial.running("new")
    await trial.clean()
    assert trial.slice_versions() == slices


async def test_an_agent_that_starts_without_runtime_prepares_and_is_not_ready(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.node.runtime.nri.stop()
    await trial.agent.launch()
    await trial.node.kubelet.registered(DRIVER)
    await trial.until(lambda: bool(trial.published()), "the devices are published")
    trial.start_pod("early", {"podIfName": "net1"})
    await trial.until(lambda: "/guard=" in trial.waits("early"), "its container waits for the guard")
    status = await trial.run("agent", "status")
    assert status.code == 1
    assert "no NRI socket" in json.loads(status.out)["reason"]
    await trial.node.runtime.nri.start()
    await trial.running("early")
    await trial.agent.ready()
    await trial.clean()
