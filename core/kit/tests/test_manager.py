"""The manager base, with links that it finds and links that it makes."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman_hookspecs import (
    Allocation,
    CheckConfig,
    Device,
    DeviceError,
    DeviceManager,
    ForeignLink,
    Inventory,
    NoSettings,
    Parameters,
    Recovery,
)
from dragoman_kit import identity, made, tags
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract import ManagerContract
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel

NIC_MAC = "02:00:00:00:00:01"


class Found(NetdevManager[NoSettings]):
    type = "found"

    def inventory(self) -> Inventory:
        return Inventory(devices=(Device(name="nic0", identity=f"mac:{NIC_MAC}", link="eth1"),))


class Made(NetdevManager[NoSettings]):
    type = "made"

    def inventory(self) -> Inventory:
        return Inventory(devices=(Device(name="made0", identity="tag:made/made0"), Device(name="made1", identity="x")))

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        netlink.add_link(name, "ifb")


class TestFound(ManagerContract):
    descriptor = DeviceManager(type="found", settings_key="found", create=Found)

    def prepare_host(self, netlink: Netlink) -> None:
        netlink.add_link("eth1", "veth", peer="switch", address=NIC_MAC)

    def test_a_link_that_was_renamed_is_restored_under_its_new_name(self, bench: Bench, pod: Pod) -> None:
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        with Netlink() as netlink:
            netlink.set_link(socket.if_nametoindex("eth1"), ifname="eth7")
        (answer,) = bench.recover(record)
        assert answer.outcome is Recovery.RESTORED
        assert answer.prepared is not None
        bench.detach(bench.attach(replace(record, prepared=answer.prepared), pod.netns), pod.netns)
        assert "eth7" in host_links()

    def test_a_foreign_link_under_the_name_of_the_device_is_refused(self, bench: Bench) -> None:
        allocation = allocate(bench.scan().devices[0], self.parameters())
        with Netlink() as netlink:
            netlink.delete_link(socket.if_nametoindex("eth1"))
            netlink.add_link("eth1", "ifb")
        with pytest.raises(ForeignLink, match="eth1"):
            bench.prepare(allocation)


class TestMade(ManagerContract):
    descriptor = DeviceManager(type="made", settings_key="made", create=Made)

    def test_an_ipv6_address_needs_the_mtu_of_ipv6(self, bench: Bench) -> None:
        device = bench.scan().devices[0]
        for addresses, faulty in ((("2001:db8::1/64",), True), (("192.0.2.1/24",), False)):
            allocation = allocate(device, Parameters(mtu=1279, addresses=addresses))
            fault = bench.call("check_config", CheckConfig(device=device, allocation=allocation))
            assert (fault is not None) is faulty

    def test_at_start_links_of_no_record_are_deleted_but_not_those_of_another_driver(
        self, bench: Bench, tmp_path: Path
    ) -> None:
        first, second = self.two(bench)
        made.ensure("other0", f"{tags.owner('other.example.com', 'made')}/x", ifb)
        self.life(tmp_path).recover(second, complete=True)
        assert first.plan["name"] not in host_links()
        assert {second.plan["name"], "other0"} <= set(host_links())

    def test_at_start_a_link_that_was_just_set_up_is_not_taken_for_a_leftover(self, bench: Bench) -> None:
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        bench.recover(complete=True)
        assert record.plan["name"] in host_links()

    def test_at_start_a_link_that_is_set_up_meanwhile_is_not_taken_for_a_leftover(self, bench: Bench) -> None:
        # A manager whose calls may overlap; an audit hook stays, so this one falls silent by itself.
        allocation = allocate(bench.scan().devices[0], self.parameters())
        waiting = [allocation]
        records = []

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            del arguments
            if event == "socket.__new__" and waiting and threading.current_thread().name == "recover_devices":
                records.append(bench.prepare(waiting.pop()))

        sys.addaudithook(hook)
        bench.recover(complete=True)
        assert bench.recover(*records)[0].outcome is Recovery.INTACT

    def test_a_link_that_ended_with_its_pod_is_marked_gone_until_it_is_made_again(self, bench: Bench, pod: Pod) -> None:
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        attached = bench.attach(record, pod.netns)
        pod.end()
        gone = bench.detach(attached, None)
        assert gone.prepared is not None
        assert gone.prepared.state["gone"] is True
        (answer,) = bench.recover(gone)
        assert answer.prepared == record.prepared

    def test_a_link_that_may_be_in_a_pod_is_not_made_twice(self, bench: Bench, pod: Pod) -> None:
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        attached = bench.attach(record, pod.netns)
        for away in (attached, replace(attached, attached=None)):
            (answer,) = bench.recover(away)
            assert answer.outcome is Recovery.INTACT
            assert record.plan["name"] not in host_links()

    def test_one_record_that_cannot_be_recovered_does_not_cost_the_others(self, bench: Bench) -> None:
        first, second = self.two(bench)
        for name in (first.plan["name"], second.plan["name"]):
            delete(name)
        with Netlink() as netlink:
            netlink.add_link(first.plan["name"], "ifb")
        lost, restored = bench.recover(first, second)
        assert lost.outcome is Recovery.LOST
        assert "is not ours" in lost.message
        assert restored.outcome is Recovery.RESTORED


def ifb(netlink: Netlink, name: str) -> None:
    netlink.add_link(name, "ifb")


def delete(name: str) -> None:
    with Netlink() as netlink:
        netlink.delete_link(socket.if_nametoindex(name))


def half_made(netlink: Netlink) -> None:
    ifb(netlink, tags.staging_name("made/x"))


def tagged(netlink: Netlink) -> None:
    half_made(netlink)
    netlink.set_link(socket.if_nametoindex(tags.staging_name("made/x")), ifalias="dragoman:made/x")


@pytest.mark.parametrize("interrupted", [half_made, tagged], ids=["before the tag", "before the name"])
def test_a_link_whose_making_was_interrupted_is_finished_or_deleted(
    host: Netlink, interrupted: Callable[[Netlink], None]
) -> None:
    interrupted(host)
    made.ensure("made0", "made/x", ifb)
    assert sorted(host_links()) == ["lo", "made0"]
    assert host_links()["made0"][5] == "dragoman:made/x"
    made.remove("made/x")
    interrupted(host)
    made.remove("made/x")
    assert sorted(host_links()) == ["lo"]


def test_a_name_that_is_taken_while_the_link_is_made_leaves_nothing_behind(host: Netlink) -> None:
    def make(netlink: Netlink, name: str) -> None:
        ifb(netlink, name)
        ifb(netlink, "made0")

    with pytest.raises(ForeignLink, match="rename it"):
        made.ensure("made0", "made/x", make)
    assert sorted(host_links()) == ["lo", "made0"]
    assert host_links()["made0"][5] == ""


def test_a_kind_that_the_kernel_lacks_is_refused_in_a_sentence(host: Netlink) -> None:
    with pytest.raises(DeviceError, match=r"cannot make link made0: .*Unknown device type"):
        made.ensure("made0", "made/x", lambda netlink, name: netlink.add_link(name, "no-such-kind"))


def test_tags_tell_allocations_apart_and_fit_the_alias() -> None:
    device = Device(name="d" * 63, identity="x")
    shared = replace(device, allow_multiple_allocations=True)
    long = replace(allocate(shared, Parameters()), request=f"{'r' * 63}/{'s' * 63}")
    found = {
        tags.tag("made-1", allocate(shared, Parameters(), 0)),
        tags.tag("made-1", allocate(device, Parameters(), 1)),
    }
    assert len(found) == 2
    assert len(identity.alias_of(tags.tag("made-1", long))) <= 255
    assert tags.tag("made-1", long).startswith(f"made-1/{long.claim_uid}/")


@pytest.mark.parametrize("stem", ["eth0.100", "Eth0", "e" * 80, "…", "-x-"])
def test_device_names_are_labels_and_different_stems_stay_different(stem: str) -> None:
    name = tags.device_name(stem, "-mv0")
    assert len(name) <= 63
    assert name != tags.device_name(stem + "x", "-mv0")
    assert name != tags.device_name("eth0-100", "-mv0")
    assert name.endswith("-mv0")
