"""The API server as it is on bad days: slices deleted, watches cut, requests refused, nobody there."""

from __future__ import annotations

import signal

import pytest

from dragoman_testkit.sandbox.demo_scene import Hold
from tests.e2e.trial import MakeTrial, Trial, eventually

PATIENCE = 20.0
"""Seconds for what the agent does after 1.2 at most, on a machine that has other things to do. What it may not do at
once it does after 30."""


async def test_a_slice_that_somebody_deletes_is_back_at_once(trial: Trial) -> None:
    published = trial.published()
    for slice_ in trial.slices():
        trial.api.delete("resourceslices", slice_["metadata"]["name"])
    await trial.until(lambda: trial.published() == published, "the slices are back", PATIENCE)


async def test_slices_that_a_kubelet_wipes_at_its_start_are_back_at_once(trial: Trial) -> None:
    published, before = trial.published(), trial.slice_versions()
    await trial.node.kubelet.restart()
    await trial.until(lambda: not trial.slice_versions().keys() & before.keys(), "the kubelet wipes the slices")
    await trial.until(lambda: trial.published() == published, "the slices are back", PATIENCE)
    await trial.node.kubelet.registered("net.dragoman.dev")
    trial.start_pod("later")
    await trial.running("later")


async def test_what_happens_while_a_watch_is_cut_or_expired_is_seen(trial: Trial) -> None:
    published = trial.published()
    trial.api.faults.cut_watches()
    trial.api.delete("resourceslices", trial.slices()[0]["metadata"]["name"])
    trial.api.compact()
    await trial.until(lambda: trial.published() == published, "the slices are back")
    trial.api.faults.expire_after = 0
    trial.api.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "news", "namespace": "default"}})
    await eventually(lambda: trial.api.faults.expire_after is None, "the watch is answered with 410")
    trial.api.delete("resourceslices", trial.slices()[0]["metadata"]["name"])
    await trial.until(lambda: trial.published() == published, "the slices are back")


async def test_fields_that_the_server_drops_are_named(trial: Trial) -> None:
    published = trial.published()
    trial.api.faults.off = {"DRAConsumableCapacity"}
    trial.api.delete("resourceslices", trial.slices()[0]["metadata"]["name"])
    await trial.until(lambda: bool(trial.slices()), "the slice is back")
    assert "allowMultipleAllocations" not in trial.published()["uplink0-mv"]

    async def is_told() -> bool:
        warnings = (await trial.agent.ask("status"))["published"]["warnings"]
        return any("uplink0-mv" in warning and "DRAConsumableCapacity" in warning for warning in warnings)

    await eventually(is_told, "the status names device and feature gate")
    trial.api.faults.clear()
    trial.api.delete("resourceslices", trial.slices()[0]["metadata"]["name"])
    await trial.until(lambda: trial.published() == published, "the slices are whole again")


async def test_without_api_server_pods_go_on_and_what_was_to_be_told_is_told_later(trial: Trial) -> None:
    trial.node.pods.leaders.before_sandbox = hold = Hold()
    hold.hold("prepared")
    for name in ("running", "ending", "prepared"):
        trial.start_pod(name)
    await trial.running("running", "ending")
    await hold.arrived("prepared")
    await trial.settled()
    await trial.api.stop()
    hold.let_go("prepared")
    await trial.running("prepared")
    trial.delete_pod("ending")
    await trial.ended("ending")
    trial.start_pod("new")
    await trial.until(lambda: bool(trial.events("new", "FailedPrepare")), "a new pod cannot be prepared")
    assert "API server" in trial.events("new", "FailedPrepare")[0]
    assert trial.conditions(trial.claim_of("prepared")) == [{"Ready": "True", "NetworkReady": "False"}]
    for slice_ in trial.slices():
        trial.api.delete("resourceslices", slice_["metadata"]["name"])

    await trial.api.start()
    await trial.running("new")
    for name in ("prepared", "new"):
        await trial.attached(name)
    await trial.until(lambda: "dummy0" in trial.published(), "the slices are back")


async def test_what_was_to_be_told_is_told_by_the_next_agent(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.node.pods.leaders.before_sandbox = hold = Hold()
    await trial.start()
    hold.hold("told")
    trial.start_pod("told")
    await hold.arrived("told")
    await trial.api.stop()
    hold.let_go("told")
    await trial.running("told")
    await trial.agent.kill()
    await trial.agent.start()
    await trial.api.start()
    await trial.attached("told")
    await trial.clean()


async def test_a_slice_that_is_refused_does_not_cost_the_others(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    trial.api.faults.fail(422, verb="create", path="resourceslices", count=99, message="too odd")
    await reload(trial, 200)
    await trial.until(lambda: len(trial.published()) > 4, "the slices that are not refused are published")

    async def is_told() -> bool:
        return "too odd" in (await trial.agent.ask("status"))["published"]["error"]

    await eventually(is_told, "the status tells the refusal")
    written = trial.slice_versions()
    trial.api.faults.clear()
    await reload(trial, 201)
    await trial.until(lambda: len(trial.published()) == 201, "after a change it is tried again")
    assert set(written) < set(trial.slice_versions())


async def reload(trial: Trial, count: int) -> None:
    """Give the agent other settings: so many dummy devices."""
    trial.configure(deviceManagerConfigs={"dummy": trial.dummies(count)})
    trial.agent.send(signal.SIGHUP)


@pytest.mark.parametrize(("release", "versions"), [((1, 33), ("v1beta2", "v1beta1")), ((1, 32), ("v1beta1",))])
async def test_older_servers_get_what_they_know_and_no_slice_changes_over_a_restart(
    make_trial: MakeTrial, release: tuple[int, int], versions: tuple[str, ...]
) -> None:
    trial = await make_trial()
    trial.offer_uplink()
    trial.api.server_version = release
    trial.api.serve_versions(versions)
    if release < (1, 33):
        trial.api.faults.needs_share_id = True
    await trial.start()
    assert set(trial.published()) == {"dummy0", "dummy1", "dummy2", "dummy3"}  # shares are known since 1.34
    slices = trial.slice_versions()
    trial.start_pod("served", {"podIfName": "net1"})
    await trial.running("served")
    await trial.attached("served")
    assert await trial.agent.terminate() == 0
    await trial.start()
    await trial.settled()
    trial.start_pod("after")
    await trial.running("after")
    await trial.clean()
    assert trial.slice_versions() == slices


async def test_a_control_plane_that_is_upgraded_under_the_agent_gets_what_it_knows_now(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.offer_uplink()
    trial.api.server_version = (1, 33)
    trial.api.serve_versions(("v1beta2", "v1beta1"))
    await trial.start()
    assert "uplink0-mv" not in trial.published()  # shares are known since 1.34
    trial.api.server_version = (1, 37)
    trial.api.serve_versions(("v1", "v1beta2", "v1beta1"))
    trial.api.faults.cut_watches()
    await trial.until(lambda: "uplink0-mv" in trial.published(), "the shared device is published", PATIENCE)
    await trial.clean()
