"""The edge to the kernel's links: the engine's Protocol over real ones, and a loop that keeps running."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from dragoman.engine.ports import Links
from dragoman.links import HostLinks
from dragoman_hookspecs import DeviceError, ForeignLink, Link, LinkMissing, Netns, Parameters
from dragoman_kit.links import move_in
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns as namespaces
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel

NIC = Link(name="eth1", identity="mac:02:00:00:00:00:01")


@pytest.fixture
def host() -> Iterator[Netlink]:
    with namespaces.private_host(), Netlink() as netlink:
        netlink.add_link("eth1", "veth", peer="switch", address="02:00:00:00:00:01")
        netlink.set_link(socket.if_nametoindex("eth1"), up=True)
        yield netlink


@pytest.fixture
def pod(host: Netlink) -> Iterator[Pod]:
    del host
    with namespaces.pod() as made:
        yield made


@pytest.fixture
def links(host: Netlink) -> Iterator[HostLinks]:
    del host
    made = HostLinks()
    yield made
    made.close()


async def test_it_is_what_the_engine_asks_for(links: HostLinks, pod: Pod) -> None:
    wanted: Links = links
    assert await wanted.netns(pod.netns.path) == pod.netns


async def test_a_namespace_is_named_compared_and_missed(links: HostLinks, pod: Pod) -> None:
    assert await links.same_netns(pod.netns)
    assert not await links.same_netns(Netns(path=pod.netns.path, cookie="1:1"))
    with pytest.raises(FileNotFoundError):
        await links.netns("/run/netns/none")
    pod.end()
    with pytest.raises(DeviceError, match="list the interfaces"):
        await links.interfaces(pod.netns)


async def test_a_link_is_read_and_brought_back_as_it_was(links: HostLinks, pod: Pod) -> None:
    former = await links.snapshot(NIC)
    move_in(former, Parameters(pod_if_name="net1"), pod.netns)
    assert await links.interfaces(pod.netns) == ["lo", "net1"]
    with pytest.raises(LinkMissing):
        await links.snapshot(NIC)
    await links.restore(former, pod.netns)
    assert await links.interfaces(pod.netns) == ["lo"]
    assert (await links.snapshot(NIC))["up"] is True
    await links.restore(former, None)


async def test_a_link_that_no_ledger_remembers_is_found_in_its_pod_and_comes_back(links: HostLinks, pod: Pod) -> None:
    assert await links.find_inside(NIC, pod.netns) is None
    moved = move_in(await links.snapshot(NIC), Parameters(pod_if_name="net1", addresses=("192.0.2.1/24",)), pod.netns)
    found = await links.find_inside(NIC, pod.netns)
    assert found is not None
    assert found[1] == moved
    await links.restore(found[0], pod.netns)
    assert (await links.snapshot(NIC))["name"] == "eth1"
    pod.end()
    assert await links.find_inside(NIC, pod.netns) is None


async def test_a_foreign_link_of_the_name_is_refused(links: HostLinks) -> None:
    with pytest.raises(ForeignLink):
        await links.snapshot(Link(name="eth1", identity="mac:02:00:00:00:00:09"))


async def test_alternative_names_inside_a_namespace_are_taken_names_too(links: HostLinks, pod: Pod) -> None:
    with pod.entered(), Netlink() as inside:
        inside.add_link("eth0", "ifb")
        inside.add_altname(socket.if_nametoindex("eth0"), "uplink")
    assert await links.interfaces(pod.netns) == ["lo", "eth0", "uplink"]


async def test_uplinks_are_protected(links: HostLinks, host: Netlink) -> None:
    assert await links.protected() == frozenset()
    host.add_route({"family": 2, "type": 1, "scope": 253, "table": 7, "oif": socket.if_nametoindex("eth1")})
    assert await links.protected() == {"eth1", "switch"}


async def test_no_call_runs_on_the_thread_of_the_loop(host: Netlink, pod: Pod) -> None:
    """The loop's thread is in another namespace meanwhile, which tells where the call ran."""
    links = HostLinks(threads=1)
    home = await links.netns("/proc/thread-self/ns/net")
    with pod.entered():
        assert await links.netns("/proc/thread-self/ns/net") == home
    assert home.cookie != pod.netns.cookie
    links.close()
