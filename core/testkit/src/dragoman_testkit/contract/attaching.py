"""Into the pod and back."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import ipaddress
import threading
from dataclasses import replace

import pytest

from dragoman_hookspecs import DeviceError, Link, Record, Recovered, Recovery
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns as namespaces
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract.base import Ground, target, target_link, without_index
from dragoman_testkit.descriptors import held
from dragoman_testkit.netns import Pod

_AGAIN_SECONDS, _GONE_SECONDS = 0.1, 60.0


class Attaching(Ground):
    """A link is moved into a pod and comes back."""

    def test_into_the_pod_and_back(self, bench: Bench, movable: Record, pod: Pod) -> None:
        before = host_links()
        descriptors = held()
        attached = bench.attach(movable, pod.netns)
        assert attached.attached is not None
        with pod.entered():
            inside = host_links()
        assert attached.attached.interface in inside
        assert attached.attached.mac in (None, inside[attached.attached.interface][2])
        assert attached.attached.interface == (self.parameters().pod_if_name or target_link(movable).name)
        assert target_link(movable).name not in host_links()
        back = bench.detach(attached, pod.netns)
        assert without_index(host_links()) == without_index(before)
        assert held() - descriptors == set()
        bench.free(back)

    def test_detaching_again_and_detaching_what_never_moved_is_nothing(
        self, bench: Bench, movable: Record, pod: Pod
    ) -> None:
        before = host_links()
        attached = bench.attach(movable, pod.netns)
        for _ in range(2):
            bench.detach(attached, pod.netns)
        assert without_index(host_links()) == without_index(before)
        bench.detach(replace(attached, attached=None), None)
        bench.detach(replace(attached, attached=None, snapshot=None), pod.netns)
        assert without_index(host_links()) == without_index(before)

    def test_the_common_parameters_reach_the_pod(self, bench: Bench, pod: Pod) -> None:
        mtu = 1400 if "mtu" in self.descriptor.applies else None
        addresses = {"192.0.2.200/24"} if "addresses" in self.descriptor.applies else set()
        parameters = replace(self.parameters(), mtu=mtu, addresses=tuple(addresses))
        record = bench.prepare(allocate(bench.scan().devices[0], parameters))
        if not isinstance(target(record), Link):
            pytest.skip("no link of this manager is moved into a pod")
        attached = bench.attach(record, pod.netns).attached
        assert attached is not None
        assert addresses <= set(attached.ips)
        assert list(attached.ips) == [str(ipaddress.ip_interface(address)) for address in attached.ips]
        with pod.entered(), Netlink() as netlink:
            link = netlink.link(attached.interface)
            assert link is not None
            held = {f"{entry['address']}/{entry['prefixlen']}" for entry in netlink.addresses(link.index)}
        assert mtu in (None, link.mtu)
        assert addresses <= held

    def test_attaching_to_one_pod_after_another(self, bench: Bench, movable: Record, pod: Pod) -> None:
        first = bench.detach(bench.attach(movable, pod.netns), pod.netns)
        with namespaces.pod() as second:
            bench.detach(bench.attach(first, second.netns), second.netns)

    def test_detaching_after_the_namespace_is_gone_succeeds_and_recovery_tells_what_became_of_the_device(
        self, bench: Bench, movable: Record, pod: Pod
    ) -> None:
        attached = bench.attach(movable, pod.netns)
        pod.end()
        gone = bench.detach(attached, None)
        answer = self.recovered(bench, gone)
        if answer.outcome is Recovery.LOST:
            assert movable.allocation.device.link is not None, "a link that is made can be made again"
            assert answer.message
            return
        with namespaces.pod() as second:
            bench.attach(replace(gone, prepared=answer.prepared or gone.prepared), second.netns)

    def recovered(self, bench: Bench, record: Record) -> Recovered:
        """Recover, and again as core would: the kernel ends a namespace, and what its links held, in the background."""
        for _ in range(round(_GONE_SECONDS / _AGAIN_SECONDS)):
            (answer,) = bench.recover(record)
            if answer.outcome is not Recovery.LOST or record.allocation.device.link is not None:
                break
            threading.Event().wait(_AGAIN_SECONDS)
        return answer

    def test_nothing_is_attached_to_a_namespace_that_is_gone(self, bench: Bench, movable: Record, pod: Pod) -> None:
        before = host_links()
        pod.end()
        with pytest.raises(DeviceError):
            bench.attach(movable, pod.netns)
        assert host_links() == before

    def test_a_path_that_leads_to_another_namespace_is_not_followed(
        self, bench: Bench, movable: Record, pod: Pod
    ) -> None:
        before = host_links()
        with namespaces.pod() as other:
            stale = replace(pod.netns, path=other.netns.path)
            with pytest.raises(DeviceError):
                bench.attach(movable, stale)
            assert host_links() == before
            attached = bench.attach(movable, other.netns)
            bench.detach(attached, stale)
            with other.entered():
                assert attached.attached is not None
                assert attached.attached.interface in host_links()
