"""Two agents on one node, as in a rolling update: one is active, and the node is served all the time."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from dragoman_testkit.sandbox.agent_process import AgentProcess
from dragoman_testkit.sandbox.demo_scene import Hold
from dragoman_testkit.sandbox.runtime import NriOptions
from tests.e2e import objects
from tests.e2e.trial import MakeTrial, Trial, eventually, holds

PATIENT = NriOptions(request_timeout=60.0)
"""A runtime that waits until a newcomer, a whole process, has come so far."""


def names(together: bool) -> dict[str, Any]:
    """Settings of one agent: sockets of its own, or the same as every agent of this driver."""
    return {} if together else {"podUid": str(uuid.uuid4())}


async def test_a_rolling_update_fails_no_prepare_and_writes_no_slice(make_trial: MakeTrial) -> None:
    trial = await make_trial(nri=PATIENT, **names(together=False))
    slow = trial.script("slow")
    await trial.start()
    trial.start_pod("before", {"podIfName": "net1", "addresses": ["192.0.2.1/24"]})
    await trial.running("before")
    slices, mac = trial.slice_versions(), trial.pod_links("before")["net1"].mac

    slow.play(setup_device="block")
    trial.start_pod("slow", request=objects.request(device_class_name="slow"))
    await eventually(lambda: slow.calls("setup_device") == 1, "a prepare is in progress")
    new = trial.another_agent("new", **names(together=False))
    taking = asyncio.create_task(new.start())
    await eventually(lambda: is_draining(trial), "the old agent is asked to hand over")
    for number in range(3):
        trial.start_pod(f"during{number}")
    slow.play()
    await taking
    everyone = ("before", "slow", "during0", "during1", "during2")
    await trial.running(*everyone)
    assert [trial.events(name, "Failed") for name in everyone if name != "slow"] == [[], [], [], []]
    assert trial.events("slow", "FailedPrepare") == []
    assert trial.pod_links("before")["net1"].mac == mac

    assert await trial.agent.terminate() == 0
    trial.delete_pod("before")
    await trial.ended("before")
    trial.start_pod("after")
    await trial.running("after")
    assert trial.events("after") == []
    await trial.node.drain()
    assert trial.slice_versions() == slices
    assert await new.terminate() == 0


async def is_draining(trial: Trial) -> bool:
    """Tell whether the agent waits for its operations to end."""
    return bool((await trial.agent.ask("status"))["state"] == "draining")


@pytest.mark.parametrize("together", [True, False], ids=["same sockets", "own sockets"])
async def test_the_old_agent_takes_over_again_when_the_newcomer_is_killed(
    make_trial: MakeTrial, together: bool
) -> None:
    trial = await make_trial(**names(together))
    slow = trial.script("slow")
    await trial.start()
    trial.start_pod("before")
    await trial.running("before")
    slices = trial.slice_versions()

    slow.play(recover_devices="block")
    new = trial.another_agent("new", **names(together))
    await new.launch()
    await eventually(lambda: slow.calls("recover_devices") == 2, "the newcomer recovers")
    trial.start_pod("during")
    await new.kill()
    slow.play()
    await trial.running("during")
    assert trial.events("during", "FailedPrepare") == []
    status = await trial.agent.ready()
    assert status["state"] == "active"
    assert trial.slice_versions() == slices
    await finds_new_devices(trial, trial.agent)
    assert await trial.agent.terminate() == 0


async def test_a_pod_that_starts_while_the_newcomer_recovers_has_its_device_before_its_containers(
    make_trial: MakeTrial,
) -> None:
    trial = await make_trial(nri=PATIENT, **names(together=False))
    trial.node.pods.leaders.before_sandbox = hold = Hold()
    slow = trial.script("slow")
    await trial.start()
    hold.hold("during")
    trial.start_pod("during")
    await hold.arrived("during")
    slow.play(recover_devices="block")
    new = trial.another_agent("new", **names(together=False))
    taking = asyncio.create_task(new.start())
    await eventually(lambda: slow.calls("recover_devices") == 2, "the newcomer recovers")
    hold.let_go("during")
    await eventually(lambda: trial.node.runtime.nri.waits, "the runtime has told the agent of the pod")
    slow.play()
    await taking
    await trial.running("during")
    assert trial.events("during") == []
    await trial.clean()


async def finds_new_devices(trial: Trial, agent: AgentProcess) -> None:
    """Check that the agent, active again, scans and publishes, and repairs what others do to its slices."""
    trial.configure(deviceManagerConfigs={**trial.settings()["deviceManagerConfigs"], "dummy": trial.dummies(6)})
    agent.send(signal.SIGHUP)
    await trial.until(lambda: "dummy5" in trial.published(), "new devices are published")
    gone = trial.slices()[0]["metadata"]["name"]
    trial.api.delete("resourceslices", gone)
    await trial.until(lambda: "dummy5" in trial.published(), "the slice is back")


async def test_a_newcomer_that_must_not_serve_leaves_the_node_to_the_old_agent(make_trial: MakeTrial) -> None:
    trial = await make_trial(logging={"level": "info"})
    await trial.start()
    trial.start_pod("before")
    await trial.running("before")
    slices = trial.slice_versions()
    new = trial.another_agent("new", driverName="other.dragoman.dev")
    await new.launch()
    assert await new.wait() == 1
    error = new.log_tail(1)[0]
    assert error.startswith("Error: driverName is other.dragoman.dev, but claims are still prepared"), error
    await trial.agent.ready()
    trial.start_pod("after")
    await trial.running("after")
    await trial.clean()
    assert trial.slice_versions() == slices


async def test_a_newcomer_that_does_not_see_the_pods_namespaces_is_refused_and_costs_no_pod_its_device(
    make_trial: MakeTrial,
) -> None:
    trial = await make_trial()
    await trial.start()
    trial.start_pod("before", {"podIfName": "net1"})
    await trial.running("before")
    blind = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(trial.node.netns_dir)),
        *(sys.executable, "-m", "dragoman", "--config", str(trial.node.settings_file), "agent"),
        env={**os.environ, **trial.environ},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            _, told = await blind.communicate()
    finally:
        if blind.returncode is None:
            blind.kill()
            await blind.wait()
    assert blind.returncode == 1
    error = told.decode().splitlines()[-1]
    assert error.startswith(f"Error: this agent does not see the network namespace {trial.node.netns_dir}/cni-"), error
    assert (await trial.agent.ready())["state"] == "active"
    assert "net1" in trial.pod_links("before")
    await trial.clean()


async def test_a_device_on_its_way_into_a_pod_arrives_before_the_newcomer_takes_over(make_trial: MakeTrial) -> None:
    trial = await make_trial(nri=PATIENT, **names(together=False))
    slow = trial.script("slow")
    await trial.start()
    slow.play(attach_device="block")
    trial.start_pod("slow", request=objects.request(device_class_name="slow"))
    await eventually(lambda: slow.calls("attach_device") == 1, "an attach is in progress")
    new = trial.another_agent("new", **names(together=False))
    taking = asyncio.create_task(new.start())
    await eventually(lambda: is_draining(trial), "the old agent is asked to hand over")
    slow.play()
    await taking
    await trial.running("slow")
    assert slow.calls("attach_device") == 1
    assert slow.calls("detach_device") == 0
    await trial.clean()


async def test_agents_with_the_same_sockets_do_not_fight_over_them(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    trial.start_pod("before")
    await trial.running("before")
    slices = trial.slice_versions()
    new = trial.another_agent("new")
    await new.start()
    sockets = inodes(trial)
    trial.start_pod("during")
    await trial.running("during")
    # Longer than the old agent takes to see that its sockets are not there.
    await holds(lambda: inodes(trial) == sockets, "the newcomer's sockets stay", 1.5)
    assert await trial.agent.terminate() == 0
    assert inodes(trial) == sockets
    trial.start_pod("after")
    await trial.running("after")
    await trial.node.drain()
    assert trial.slice_versions() == slices


@pytest.mark.parametrize("moved", [False, True], ids=["wiped", "moved"])
async def test_agents_that_do_not_find_the_same_state_folder_are_not_active_together(
    make_trial: MakeTrial, moved: bool
) -> None:
    trial = await make_trial()
    await trial.start()
    trial.start_pod("before", {"podIfName": "net1"})
    await trial.running("before")
    paths = trial.settings()["paths"]
    if moved:
        paths["stateDir"] = str(trial.node.folder / "elsewhere")
    else:
        for path in filter(Path.is_file, trial.node.state_dir.iterdir()):
            path.unlink()  # the lock too; metadata of plugins is mounted into containers and stays
    new = trial.another_agent("new", paths=paths)
    await new.start()
    trial.start_pod("during")
    await trial.running("during")
    # Only an agent that handed over is found at the control socket when the other one is gone.
    await new.kill()
    status = await trial.agent.ready()
    assert status["state"] == "active"
    assert "net1" in trial.pod_links("before")
    assert await trial.agent.terminate() == 0


def inodes(trial: Trial) -> dict[Path, int]:
    """Give the sockets that the kubelet sees."""
    return {path: path.stat().st_ino for path in trial.node.kubelet.root.rglob("*.sock") if path.name[0] != "."}
