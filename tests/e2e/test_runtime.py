"""The runtime as it is on bad days: NRI gone, plugins dropped, events that do not come or come thrice."""

from __future__ import annotations

from functools import partial

import pytest

from dragoman_testkit.sandbox import kernel
from dragoman_testkit.sandbox.runtime import FakeSandbox
from tests.e2e import objects
from tests.e2e.trial import Trial, eventually


async def state(trial: Trial) -> dict[str, object]:
    """Give what the agent tells of its connection to the runtime."""
    told: dict[str, object] = (await trial.agent.ask("status"))["nri"]
    return told


async def is_connected(trial: Trial) -> bool:
    return bool((await state(trial))["synchronized"])


async def is_gone(trial: Trial) -> bool:
    status = await trial.agent.ask("status")
    return not status["ready"] and f"no NRI socket at {trial.node.folder / 'nri.sock'}" in status["reason"]


async def test_without_nri_containers_wait_for_their_devices_and_start_by_themselves(trial: Trial) -> None:
    trial.start_pod("before", {"podIfName": "net1"})
    await trial.running("before")
    await trial.node.runtime.nri.stop()
    await eventually(partial(is_gone, trial), "the agent tells that it is not ready, and why")
    trial.start_pod("during", {"podIfName": "net1"})
    await trial.until(lambda: "/guard=" in trial.waits("during"), "the container of pod during waits for the guard")
    assert trial.pod_links("during") == {}
    assert "net1" in trial.pod_links("before")
    await trial.node.runtime.nri.start()
    await trial.running("during")
    assert "net1" in trial.pod_links("during")
    assert trial.api.get("pods", "during", "default")["status"]["containerStatuses"][0]["restartCount"] == 0
    await trial.agent.ready()


@pytest.mark.parametrize("how", ["restart", "drop"])
async def test_pods_do_not_notice_when_the_runtime_comes_back(trial: Trial, how: str) -> None:
    trial.start_pod("before", {"podIfName": "net1"})
    trial.start_pod("ending", {"podIfName": "net1"})
    await trial.running("before", "ending")
    mac = trial.pod_links("before")["net1"].mac
    if how == "restart":
        await trial.node.runtime.restart()
    else:
        await trial.node.runtime.nri.drop_plugins()
    trial.delete_pod("ending")
    await trial.ended("ending")
    await trial.node.runtime.nri.wait_for_plugins()
    await eventually(partial(is_connected, trial), "the agent has worked through the sandboxes")
    trial.start_pod("after", {"podIfName": "net1"})
    await trial.running("after")
    assert trial.pod_links("before")["net1"].mac == mac


async def test_a_new_sandbox_of_a_pod_gets_the_device_of_the_old_one(trial: Trial) -> None:
    trial.start_pod("renewed", {"podIfName": "net1"})
    await trial.running("renewed")
    old, runtime = trial.node.pods.sandbox("renewed"), trial.node.runtime
    new = await runtime.run_sandbox(uid=old.uid, namespace=old.namespace, name=old.name)
    try:
        assert trial.pod_links("renewed") == {}
        assert new.netns_path is not None
        assert "net1" in [link.name for link in kernel.links(new.netns_path)]
        (guard,) = trial.guards()
        assert str(new.netns_path) in guard.read_text()
    finally:
        await runtime.stop_sandbox(new)
        await runtime.remove_sandbox(new)


async def test_what_a_dead_sandbox_left_is_found_when_the_runtime_comes_back(trial: Trial) -> None:
    trial.start_pod("dying", {"podIfName": "net1"})
    await trial.running("dying")
    runtime, sandbox = trial.node.runtime, trial.node.pods.sandbox("dying")
    twin = await runtime.run_sandbox(uid=sandbox.uid, namespace=sandbox.namespace, name=sandbox.name)
    await runtime.nri.stop()
    await runtime.kill_sandbox(twin)
    await runtime.nri.start()
    await eventually(lambda: "net1" in trial.pod_links("dying"), "the device is in the sandbox that lives")


async def test_a_pod_in_the_hosts_network_is_told_that_it_gets_no_device(trial: Trial) -> None:
    trial.apply(
        objects.template("hosted", objects.devices([objects.request()])),
        objects.pod("hosted", templates={"nic": "hosted"}, host_network=True),
    )
    await trial.until(lambda: bool(trial.events("hosted", "DeviceNotAttached")), "an event tells it")
    assert "no network namespace of its own" in trial.events("hosted", "DeviceNotAttached")[0]
    assert trial.device_of("hosted") in trial.host_links()
    assert "running" not in trial.container("hosted")


async def stop_thrice(trial: Trial, sandbox: FakeSandbox) -> None:
    for _ in range(3):
        await trial.node.runtime.stop_sandbox(sandbox)
    await trial.node.runtime.remove_sandbox(sandbox)


async def remove_only(trial: Trial, sandbox: FakeSandbox) -> None:
    await trial.node.runtime.remove_sandbox(sandbox)


async def kill(trial: Trial, sandbox: FakeSandbox) -> None:
    await trial.node.runtime.kill_sandbox(sandbox)


async def stop_without_netns(trial: Trial, sandbox: FakeSandbox) -> None:
    trial.node.runtime.crio_order = True
    await trial.node.runtime.stop_sandbox(sandbox)
    trial.node.runtime.crio_order = False


@pytest.mark.parametrize("end", [stop_thrice, remove_only, kill, stop_without_netns])
async def test_however_a_sandbox_ends_its_pod_can_be_given_back(trial: Trial, end: object) -> None:
    assert callable(end)
    trial.start_pod("ending", {"podIfName": "net1"})
    await trial.running("ending")
    await end(trial, trial.node.pods.sandbox("ending"))
    trial.delete_pod("ending")
    await trial.ended("ending")
    trial.start_pod("again", {"podIfName": "net1"})
    await trial.running("again")


async def test_a_further_pod_of_a_claim_follows_when_the_device_is_free(trial: Trial) -> None:
    trial.apply(
        objects.claim("nic", objects.devices([objects.request()], [objects.config({"podIfName": "net1"})])),
        objects.pod("first", claims={"nic": "nic"}),
    )
    await trial.running("first")
    trial.apply(objects.pod("second", claims={"nic": "nic"}))
    await trial.until(lambda: bool(trial.events("second", "DeviceNotAttached")), "an event tells why it waits")
    await trial.until(lambda: bool(trial.waits("second")), "its container waits")
    assert "default/first" in trial.events("second", "DeviceNotAttached")[0]
    assert trial.pod_links("second") == {}
    assert "running" not in trial.container("second")
    trial.delete_pod("first")
    await trial.running("second")
    assert "net1" in trial.pod_links("second")


async def test_no_container_of_a_pod_is_created_before_its_devices_are_there(trial: Trial) -> None:
    trial.odd.play(attach_device="block")
    trial.apply(
        objects.template("both", objects.devices([objects.request(device_class_name="odd")])),
        objects.pod("both", templates={"nic": "both"}, containers={"app": [{"name": "nic"}], "side": []}),
    )
    await trial.until(lambda: bool(trial.waits("both", "side")), "the container that names no claim waits as well")
    assert "NRI" in trial.waits("both", "side")
    trial.odd.play()
    await trial.running("both")
    assert trial.odd.calls("attach_device") == 1
