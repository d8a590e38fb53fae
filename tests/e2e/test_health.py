"""Health on its way from a manager to the kubelet and the scheduler."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from dragoman_testkit.sandbox.node import DRIVER
from tests.e2e import objects
from tests.e2e.trial import Trial, eventually
from tests.e2e.workplace import workplace


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def watched() -> AsyncIterator[Trial]:
    """A node with a manager that watches the health of its two devices, and one that does not."""
    async with workplace() as make:
        trial = await make()
        script = trial.script("odd")
        trial.script("plain")
        script.play(health={"odd0": ["Healthy", "", 30.0], "odd1": ["Healthy", "", 30.0]})
        await trial.start()
        yield trial


def seen(trial: Trial, device: str) -> tuple[str, str]:
    """Give state and message as the kubelet shows them."""
    return trial.node.kubelet.health().get((DRIVER, "sandbox", device), ("", ""))


def taints(trial: Trial, device: str) -> list[str]:
    return [f"{taint['key']}:{taint['effect']}" for taint in trial.published()[device].get("taints") or ()]


async def test_an_unhealthy_device_is_shown_and_gets_no_new_pod_until_it_is_well(watched: Trial) -> None:
    trial = watched
    for device in ("odd0", "odd1", "dummy0"):
        await eventually(lambda device=device: seen(trial, device) == ("Healthy", ""), f"the kubelet knows of {device}")  # type: ignore[misc]  # mypy has no types for defaults of lambdas
    trial.start_pod("user", request=objects.request(device_class_name="odd"))
    await trial.running("user")
    assert trial.device_of("user") == "odd0"
    slices = trial.slice_versions()

    trial.odd.play(health={"odd0": ["Unhealthy", "no carrier", 30.0], "odd1": ["Healthy", "", 30.0]})
    await eventually(lambda: seen(trial, "odd0") == ("Unhealthy", "no carrier"), "the kubelet shows it with the reason")
    await trial.until(lambda: taints(trial, "odd0") == [f"{DRIVER}/unhealthy:NoSchedule"], "the device is tainted")
    assert taints(trial, "odd1") == []
    assert seen(trial, "odd1") == ("Healthy", "")
    views = {view["device"]: view for view in await trial.show("devices")}
    assert (views["odd0"]["health"], views["odd0"]["note"]) == ("Unhealthy", "no carrier")
    spec = next(iter(trial.node.kubelet.pods.values()))
    (status,) = trial.node.kubelet.pod_status(spec)["app"]
    assert [(entry["health"], entry["message"]) for entry in status["resources"]] == [("Unhealthy", "no carrier")]
    assert slices.keys() == trial.slice_versions().keys()

    slices = trial.slice_versions()
    await trial.agent.kill()
    trial.odd.play()  # the sensors take a while
    await trial.start()
    assert taints(trial, "odd0") == [f"{DRIVER}/unhealthy:NoSchedule"]
    assert trial.slice_versions() == slices
    trial.odd.play(health={"odd0": ["Unhealthy", "no carrier", 30.0], "odd1": ["Healthy", "", 30.0]})
    await eventually(lambda: seen(trial, "odd0") == ("Unhealthy", "no carrier"), "the next agent tells the same")
    assert taints(trial, "odd0") == [f"{DRIVER}/unhealthy:NoSchedule"]
    trial.delete_pod("user")
    await trial.ended("user")


async def test_a_report_is_repeated_before_it_expires_and_silence_is_unknown(watched: Trial) -> None:
    trial = watched
    trial.odd.play(health={"odd1": ["Healthy", "", 3.0]})
    await eventually(lambda: seen(trial, "odd1")[0] == "Healthy", "the kubelet knows that it is healthy")
    trial.odd.play(health="raise")
    await eventually(lambda: seen(trial, "odd1")[0] == "Unknown", "a watch that fails says nothing of its devices")
    assert "odd" in seen(trial, "odd1")[1]
    assert seen(trial, "dummy0") == ("Healthy", "")
    assert taints(trial, "odd1") == []
    trial.odd.play(health={"odd1": ["Healthy", "", 1.0]})
    await eventually(lambda: seen(trial, "odd1")[0] == "Healthy", "the watch is begun again")
    trial.odd.play()
    await eventually(lambda: seen(trial, "odd1")[0] == "Unknown", "a manager that is silent for too long")


async def test_devices_of_a_manager_that_cannot_be_scanned_are_unknown_until_it_can(watched: Trial) -> None:
    trial, published = watched, watched.published()
    await eventually(lambda: seen(trial, "plain0") == ("Healthy", ""), "a scan vouches for devices without a watch")
    trial.scripts["plain"].play(discover_devices="raise")
    trial.start_pod("hint", request=objects.request(device_class_name="dummy"))
    await eventually(lambda: seen(trial, "plain0")[0] == "Unknown", "a scan that fails vouches for nothing")
    assert "discover_devices is broken" in seen(trial, "plain0")[1]
    assert trial.published() == published
    trial.scripts["plain"].play()
    await eventually(lambda: seen(trial, "plain0") == ("Healthy", ""), "the next scan does")
    await trial.clean()
