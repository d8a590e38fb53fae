"""What a pod, or whoever is in it, did to its link does not reach the host, and nothing that lasts becomes another."""

from __future__ import annotations

import errno
import json
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_hookspecs import DeviceError, JsonObject, Link, Parameters
from dragoman_hookspecs.rules import dns_label, interface_name
from dragoman_kit import tags
from dragoman_kit.configure import step
from dragoman_kit.links import move_back, move_in, snapshot
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_testkit.netns import Pod

NIC = Link(name="eth1", identity="mac:02:00:00:00:00:01")
PROMISC, ALLMULTI, NOARP, MULTICAST = 0x100, 0x200, 0x80, 0x1000
DEPRECATED, FOREVER = 0x20, 0xFFFFFFFF


def taken() -> JsonObject:
    """The snapshot as the ledger gives it back."""
    former: JsonObject = json.loads(json.dumps(snapshot(NIC)))
    return former


def shown(host: Netlink) -> LinkInfo:
    found = host.link("eth1")
    assert found is not None
    return found


def move(pod: Pod) -> JsonObject:
    before = taken()
    move_in(before, Parameters(pod_if_name="net1"), pod.netns)
    return before


@pytest.mark.kernel
def test_flags_group_queue_length_and_alternative_names_of_the_pod_stay_there(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    host.set_link(nic.index, flags=ALLMULTI, change=ALLMULTI, group=3, txqlen=77)
    host.add_altname(nic.index, "enp3s0")
    before = shown(host)
    assert (before.group, before.queue_length, before.altnames) == (3, 77, ("enp3s0",))
    former = move(pod)
    with pod.entered(), Netlink() as inside:
        index = socket.if_nametoindex("net1")
        inside.set_link(index, flags=PROMISC | NOARP, change=PROMISC | NOARP | ALLMULTI | MULTICAST)
        inside.set_link(index, group=9, txqlen=5)
        inside.delete_altname(index, "enp3s0")
        inside.add_altname(index, "podname")
    move_back(former, pod.netns)
    assert shown(host) == before


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["switch", "eth1"])
def test_an_alternative_name_that_is_in_the_way_on_the_host_does_not_keep_the_link_in_the_pod(
    host: Netlink, nic: LinkInfo, pod: Pod, name: str
) -> None:
    before = shown(host)
    former = move(pod)
    with pod.entered(), Netlink() as inside:
        inside.add_altname(socket.if_nametoindex("net1"), name)
    move_back(former, pod.netns)
    assert shown(host) == before


@pytest.mark.kernel
def test_an_alternative_name_that_another_link_took_meanwhile_is_left_to_it(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    host.add_altname(nic.index, "enp3s0")
    former = move(pod)
    host.add_altname(socket.if_nametoindex("switch"), "enp3s0")
    move_back(former, pod.netns)
    assert shown(host).altnames == ()
    other = host.link("enp3s0")
    assert other is not None
    assert other.name == "switch"


@pytest.mark.kernel
def test_a_link_goes_into_the_pod_under_its_own_alternative_name(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    host.add_altname(nic.index, "net1")
    before = shown(host)
    former = move(pod)
    with pod.entered():
        assert socket.if_nametoindex("net1")
    move_back(former, pod.netns)
    assert shown(host) == before


@pytest.mark.kernel
def test_a_snapshot_of_an_earlier_version_brings_the_link_back(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    former = move(pod)
    for key in ("flags", "group", "queue_length", "altnames"):
        del former[key]
    assert move_back(former, pod.netns)
    assert shown(host).name == "eth1"


@pytest.mark.kernel
def test_addresses_stay_deprecated_and_routes_keep_their_end(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    life = {"ifa_preferred": 0, "ifa_valid": FOREVER, "cstamp": 0, "tstamp": 0}
    for entry in (
        {"family": 2, "prefixlen": 24, "local": "192.0.2.9", "address": "192.0.2.9"},
        {"family": 10, "prefixlen": 64, "address": "2001:db8::1", "flags": 2},
    ):
        host.add_address(entry | {"index": nic.index, "cacheinfo": life})
    host.add_route(
        {"family": 10, "type": 1, "proto": 4, "oif": nic.index, "table": 254}
        | {"dst": "2001:db8:1::", "dst_len": 48, "expires": 3000}
    )
    former = move(pod)
    move_back(former, pod.netns)
    told = [(entry["flags"] & DEPRECATED, entry["cacheinfo"]["ifa_valid"]) for entry in taken()["addresses"]]
    assert told == [(DEPRECATED, FOREVER)] * 2
    (route,) = (route for route in host.routes(shown(host).index) if route.get("dst") == "2001:db8:1::")
    assert 0 < route["cacheinfo"]["rta_expires"] <= 3000 * 100


def test_a_kernel_that_does_not_answer_is_told_in_a_sentence() -> None:
    with pytest.raises(DeviceError, match=r"^cannot read link eth1: timed out$"), step("read link eth1"):
        raise TimeoutError("timed out")
    with pytest.raises(DeviceError, match=r"^cannot read link eth1: not now$"), step("read link eth1"):
        raise OSError(errno.EBUSY, "not now")


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(max_size=80), st.text("abyz019-AZ./:% é", max_size=80))
def test_names_of_any_stem_and_suffix_are_good(stem: str, suffix: str) -> None:
    assert interface_name(tags.fitting_name(stem, suffix)) is None
    assert dns_label(tags.device_name(stem, suffix)) is None


def test_a_link_whose_name_is_no_text_has_a_device_name() -> None:
    assert dns_label(tags.device_name("eth\udcff")) is None
    assert interface_name(tags.fitting_name("eth\udcff", "-mv0")) is None


def test_stems_and_suffixes_that_do_not_fit_stay_different() -> None:
    pairs = [("eth0", "-port1234567890"), ("eth1", "-port1234567890"), ("eth0", "-port1234567891"), ("e", "e" * 90)]
    for shorten in (tags.fitting_name, tags.device_name):
        assert len({shorten(stem, suffix) for stem, suffix in pairs}) == len(pairs)
