"""Routes over nexthop objects are routes over their links, also where the kernel shows the object only."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path

import pytest

from dragoman_hookspecs import Link, Parameters
from dragoman_kit import wire
from dragoman_kit.links import move_back, move_in, snapshot
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.rtnl import NLM_F_CREATE
from dragoman_kit.uplinks import protected_links
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel

NEW_NEXTHOP = 104
GATEWAYS = {2: "192.0.2.9", 10: "2001:db8::9"}
NIC = Link(name="eth1", identity="mac:02:00:00:00:00:01")


@pytest.fixture(params=["0", "1"], ids=["object only", "object and link"])
def shown(host: Netlink, request: pytest.FixtureRequest) -> None:
    """How the kernel shows such routes; the setting is the namespace's."""
    del host
    Path("/proc/sys/net/ipv4/nexthop_compat_mode").write_text(request.param)


def add_default(host: Netlink, index: int, family: int, *, group: bool) -> None:
    """Add a default route over a nexthop object, or over a group that has one."""
    own = {2: ("192.0.2.1", 24), 10: ("2001:db8::1", 64)}[family]
    address = {"family": family, "address": own[0], "local": own[0], "prefixlen": own[1], "index": index, "flags": 2}
    host.add_address({key: value for key, value in address.items() if family == 2 or key != "local"})
    gateway = socket.inet_pton(family, GATEWAYS[family])
    hop = {"family": family, "id": 5, "oif": index, "gateway": gateway}
    host.request(wire.NEXTHOP, NEW_NEXTHOP, hop, NLM_F_CREATE)
    if group:
        members = struct.pack("=IBBH", 5, 0, 0, 0)
        host.request(wire.NEXTHOP, NEW_NEXTHOP, {"id": 6, "group": members}, NLM_F_CREATE)
    host.add_route({"family": family, "type": 1, "proto": 4, "table": 254, "nh_id": 6 if group else 5})


@pytest.mark.parametrize("group", [False, True], ids=["alone", "group"])
@pytest.mark.parametrize("family", GATEWAYS)
@pytest.mark.usefixtures("shown")
def test_the_link_of_a_default_route_is_protected(host: Netlink, nic: LinkInfo, family: int, group: bool) -> None:
    add_default(host, nic.index, family, group=group)
    assert protected_links() == {"eth1", "switch"}


@pytest.mark.parametrize("group", [False, True], ids=["alone", "group"])
@pytest.mark.parametrize("family", GATEWAYS)
@pytest.mark.usefixtures("shown")
def test_the_route_comes_back_with_its_gateway(
    host: Netlink, nic: LinkInfo, pod: Pod, family: int, group: bool
) -> None:
    add_default(host, nic.index, family, group=group)
    former = json.loads(json.dumps(snapshot(NIC)))
    move_in(former, Parameters(pod_if_name="net1"), pod.netns)
    move_back(former, pod.netns)
    (route,) = host.default_routes()
    hops = route.get("multipath") or [{"attrs": [["RTA_GATEWAY", route["gateway"]]]}]
    assert [hop["attrs"] for hop in hops] == [[["RTA_GATEWAY", GATEWAYS[family]]]]
