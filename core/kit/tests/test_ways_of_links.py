"""What happens on the host or in the parameters while a link is away does not keep it from its way."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from dragoman_hookspecs import (
    Allocation,
    CheckConfig,
    Context,
    Device,
    DeviceError,
    Inventory,
    JsonObject,
    Link,
    NoSettings,
    Parameters,
    Route,
)
from dragoman_kit.links import move_back, move_in, snapshot
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_testkit.netns import Pod

NIC = Link(name="eth1", identity="mac:02:00:00:00:00:01")


def taken() -> JsonObject:
    """The snapshot as the ledger gives it back."""
    former: JsonObject = json.loads(json.dumps(snapshot(NIC)))
    return former


@pytest.mark.kernel
def test_a_route_over_several_links_comes_back_over_those_that_are_left(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    host.add_link("eth9", "ifb")
    other = socket.if_nametoindex("eth9")
    host.set_link(other, up=True)
    hops = [{"oif": index, "hops": 0, "flags": 0, "attrs": []} for index in (nic.index, other)]
    host.add_route(
        {"family": 2, "type": 1, "proto": 4, "scope": 253, "table": 254, "dst": "198.51.100.0", "dst_len": 24}
        | {"multipath": hops}
    )
    former = taken()
    move_in(former, Parameters(pod_if_name="net1"), pod.netns)
    host.delete_link(other)
    move_back(former, pod.netns)
    assert "198.51.100.0" in [route.get("dst") for route in host.routes(socket.if_nametoindex("eth1"))]


@pytest.mark.kernel
def test_a_link_with_a_small_mtu_on_the_host_takes_an_ipv6_address_with_a_larger_one_in_the_pod(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    host.set_link(nic.index, mtu=600)
    attached = move_in(taken(), Parameters(mtu=1500, addresses=("2001:db8::1/64",)), pod.netns)
    assert attached.ips == ("2001:db8::1/64",)


class Typeless(NetdevManager[NoSettings]):
    def inventory(self) -> Inventory:
        return Inventory(devices=())


def test_a_manager_without_a_type_is_refused_as_its_links_could_be_those_of_another(tmp_path: Path) -> None:
    context = Context(node_name="n", driver_name="net.example.com", state_dir=tmp_path, cdi_dir=tmp_path)
    with pytest.raises(DeviceError, match="Typeless has no type"):
        Typeless(context, NoSettings())


class Typed(Typeless):
    type = "typed"


@pytest.mark.parametrize(
    "route",
    [
        Route(destination="default", gateway="2001:db8::9"),
        Route(destination="default", source="2001:db8::1"),
        Route(destination="2001:db8:1::/48"),
    ],
)
def test_a_route_of_ipv6_needs_the_mtu_of_ipv6_however_it_tells_its_family(tmp_path: Path, route: Route) -> None:
    context = Context(node_name="n", driver_name="net.example.com", state_dir=tmp_path, cdi_dir=tmp_path)
    device = Device(name="x", identity="x")
    allocation = Allocation(
        claim_uid="u",
        claim_namespace="d",
        claim_name="c",
        request="r",
        pool="p",
        device=device,
        parameters=Parameters(mtu=1000, routes=(route,)),
    )
    fault = Typed(context, NoSettings()).check_config(CheckConfig(device=device, allocation=allocation))
    assert fault is not None
    assert "1280" in str(fault)
