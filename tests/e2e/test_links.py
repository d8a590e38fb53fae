"""Links under other hands: workloads change theirs, and somebody makes others of our names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman_kit import netns
from dragoman_kit.netlink import Netlink
from tests.e2e import objects
from tests.e2e.trial import MakeTrial, Trial, eventually


@contextmanager
def inside(trial: Trial, pod: str) -> Iterator[Netlink]:
    """Act as a workload that may change the network of its pod."""
    with netns.opened(str(trial.node.pods.netns(pod))) as handle, Netlink.inside(handle) as netlink:
        yield netlink


def rename(trial: Trial, pod: str, old: str, new: str) -> None:
    with inside(trial, pod) as netlink:
        link = netlink.link(old)
        assert link is not None
        netlink.set_link(link.index, up=False)
        netlink.set_link(link.index, ifname=new)
        netlink.set_link(link.index, up=True)


async def test_a_link_that_its_pod_deleted_or_renamed_can_be_given_back(trial: Trial) -> None:
    trial.start_pod("deleting", {"podIfName": "net1"})
    trial.start_pod("renaming", {"podIfName": "net1"})
    await trial.running("deleting", "renaming")
    with inside(trial, "deleting") as netlink:
        link = netlink.link("net1")
        assert link is not None
        netlink.delete_link(link.index)
    rename(trial, "renaming", "net1", "mine")
    trial.delete_pod("deleting")
    trial.delete_pod("renaming")
    await trial.ended("deleting", "renaming")
    for name in ("a", "b", "c", "d"):
        trial.start_pod(name)
    await trial.running("a", "b", "c", "d")


async def test_a_restart_does_not_take_a_link_away_that_its_pod_renamed(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    trial.start_pod("renaming", {"podIfName": "net1"})
    await trial.running("renaming")
    rename(trial, "renaming", "net1", "mine")
    before = trial.pod_links("renaming")["mine"]
    await trial.agent.kill()
    await trial.start()
    assert trial.pod_links("renaming") == {"mine": before}
    assert len(trial.guards()) == 1
    await trial.clean()


async def test_a_foreign_link_of_a_devices_name_is_left_alone(trial: Trial) -> None:
    with Netlink() as host:
        host.add_link("dummy3", trial.link_kind)
        foreign = host.link("dummy3")
        assert foreign is not None
        try:
            await trial.until(lambda: "dummy3" not in trial.published(), "the device is withdrawn")
            for name in ("a", "b", "c"):
                trial.start_pod(name, request=objects.request(device_class_name="dummy"))
            await trial.running("a", "b", "c")
            trial.start_pod("d", request=objects.request(device_class_name="dummy"))
            await trial.until(lambda: "cannot be had (in use: 3" in trial.scheduling("d"), "pod d waits for a device")
            assert host.link("dummy3") == foreign
        finally:
            host.delete_link(foreign.index)
    await trial.until(lambda: "dummy3" in trial.published(), "the device is back")
    await eventually(lambda: trial.phase("d") == "Running", "pod d gets it")
