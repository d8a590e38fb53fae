"""The way of a link into a pod and back, over real links."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from dragoman_hookspecs import DeviceError, ForeignLink, HostPaths, JsonObject, Link, LinkMissing, Parameters, Route
from dragoman_kit import netns
from dragoman_kit.links import move_back, move_in, snapshot
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel

NIC = Link(name="eth1", identity="mac:02:00:00:00:00:01")
TABLE = 2000


def names() -> list[str]:
    """The links of the calling thread's namespace, as libc sees them."""
    return [name for _, name in socket.if_nameindex()]


def pod_names(pod: Pod) -> list[str]:
    with pod.entered():
        return names()


def pod_routes(pod: Pod, link: str) -> list[tuple[object, ...]]:
    with pod.entered(), Netlink() as inside:
        found = inside.link(link)
        assert found is not None
        return [
            (entry.get("dst", "default"), entry["dst_len"], entry.get("gateway"), entry.get("prefsrc"))
            for entry in inside.routes(found.index)
            if entry["proto"] != 2
        ]


def taken() -> JsonObject:
    """The snapshot as the ledger gives it back."""
    former: JsonObject = json.loads(json.dumps(snapshot(NIC)))
    return former


def dress(host: Netlink, nic: LinkInfo) -> None:
    """Give the link everything that has to come back."""
    index = nic.index
    host.set_link(index, mtu=1400)
    host.add_address({"family": 2, "prefixlen": 24, "local": "192.0.2.1", "address": "192.0.2.1", "index": index})
    host.add_address({"family": 2, "prefixlen": 24, "local": "192.0.2.2", "address": "192.0.2.2", "index": index})
    host.add_address({"family": 10, "prefixlen": 64, "address": "2001:db8::1", "flags": 2, "index": index})
    route = {"family": 2, "type": 1, "proto": 4, "oif": index}
    on_link = {"dst": "198.51.100.7", "dst_len": 32, "table": 254, "scope": 253}
    host.add_route(route | on_link)
    metrics = {"metrics": {"attrs": [["RTAX_MTU", 1300]]}, "priority": 7}
    host.add_route(route | {"dst": "203.0.113.0", "dst_len": 24, "table": 254, "gateway": "198.51.100.7"} | metrics)
    host.add_route(route | {"table": TABLE, "gateway": "192.0.2.254", "prefsrc": "192.0.2.2"})
    host.add_route(
        {"family": 10, "type": 1, "proto": 4, "oif": index, "table": TABLE, "gateway": "2001:db8::ff"}
        | {"prefsrc": "2001:db8::1"}
    )
    host.add_rule({"family": 2, "action": 1, "table": TABLE, "src": "192.0.2.2", "src_len": 32, "priority": 100})
    host.add_rule({"family": 2, "action": 1, "table": 254, "iifname": "eth1", "priority": 101})
    neighbour = {"family": 2, "ifindex": index, "state": 0x80, "dst": "192.0.2.9", "lladdr": "02:00:00:00:00:09"}
    host.add_neighbour(neighbour)


def without_indexes(former: JsonObject) -> JsonObject:
    """What must be equal before and after; the kernel may number a link anew, and restarts an address's age."""
    text = json.dumps(former | {"ifindex": 0}).replace(f'"oif": {former["ifindex"]}', '"oif": 0')
    equal: JsonObject = json.loads(text.replace(f'index": {former["ifindex"]}', 'index": 0'))
    for entry in [*equal["addresses"], *equal["neighbours"]]:
        del entry["cacheinfo"]
    return equal


def test_addresses_routes_rules_and_neighbours_of_the_host_are_back_after_the_pod(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    dress(host, nic)
    before = taken()
    assert [rule["priority"] for rule in before["rules"]] == [100, 101]
    assert len(before["routes"]) == 4
    assert len(before["addresses"]) == 3

    move_in(before, Parameters(pod_if_name="net1", mtu=1280, addresses=("10.9.9.1/24",)), pod.netns)
    for rule in host.rules():
        if rule.get("priority") in (100, 101):
            host.delete_rule(rule)
    assert "eth1" not in names()
    move_back(before, pod.netns)

    assert without_indexes(taken()) == without_indexes(before)
    assert pod_names(pod) == ["lo"]
    assert "10.9.9.1" not in json.dumps(host.addresses(socket.if_nametoindex("eth1")))


def test_sysctls_of_the_link_are_back(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    leaves = {"ipv4/conf/eth1/rp_filter": "2", "ipv6/conf/eth1/accept_ra": "0"}
    for leaf, value in leaves.items():
        Path("/proc/sys/net", leaf).write_text(value)
    before = taken()
    move_in(before, Parameters(interface_sysctl_ipv4={"rp_filter": "1"}), pod.netns)
    move_back(before, pod.netns)
    assert {leaf: Path("/proc/sys/net", leaf).read_text().strip() for leaf in leaves} == leaves


def test_a_link_that_was_down_is_down_again(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    host.set_link(nic.index, up=False)
    before = taken()
    move_in(before, Parameters(), pod.netns)
    move_back(before, pod.netns)
    assert taken()["up"] is False


def test_the_label_of_an_address_is_back(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    address = {"family": 2, "prefixlen": 24, "local": "192.0.2.1", "address": "192.0.2.1"}
    host.add_address(address | {"label": "eth1:a", "index": nic.index})
    before = taken()
    move_in(before, Parameters(pod_if_name="net1", inherit=("addresses",)), pod.netns)
    move_back(before, pod.netns)
    assert [entry["label"] for entry in taken()["addresses"]] == ["eth1:a"]


def test_a_port_of_a_bridge_is_its_port_again(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    host.add_link("br0", "bridge", address="02:00:00:00:00:b0")
    host.set_link(nic.index, master=socket.if_nametoindex("br0"))
    before = taken()
    move_in(before, Parameters(), pod.netns)
    move_back(before, pod.netns)
    assert before["master"] == "br0"
    assert taken()["master"] == "br0"


def test_in_the_pod_the_link_has_its_name_mtu_mac_addresses_routes_and_sysctls(host: Netlink, pod: Pod) -> None:
    host.add_link("made", "veth", peer="other", address="02:00:00:00:00:07")
    host.set_link(socket.if_nametoindex("made"), ifalias="dragoman:t")
    former = snapshot(Link(name="made", identity="tag:t"))
    attached = move_in(
        former,
        Parameters(
            pod_if_name="net1",
            mtu=1400,
            mac="02:00:00:00:00:aa",
            addresses=("192.0.2.1/24", "2001:DB8::1/64"),
            routes=(
                Route(destination="default", gateway="198.51.100.1"),
                Route(destination="2001:db8:1::/48", gateway="2001:db8::2", metric=5),
                Route(destination="198.51.100.0/24", source="192.0.2.1"),
            ),
            interface_sysctl_ipv4={"arp_filter": "1"},
            interface_sysctl_ipv6={"accept_ra": "0"},
        ),
        pod.netns,
    )
    assert attached.interface == "net1"
    assert attached.mac == "02:00:00:00:00:aa"
    assert attached.ips == ("192.0.2.1/24", "2001:db8::1/64")
    assert sorted(pod_routes(pod, "net1"), key=str) == [
        ("198.51.100.0", 24, None, "192.0.2.1"),
        ("2001:db8:1::", 48, "2001:db8::2", None),
        ("default", 0, "198.51.100.1", None),
    ]
    with pod.entered():
        assert Path("/proc/sys/net/ipv4/conf/net1/arp_filter").read_text() == "1\n"
        assert Path("/proc/sys/net/ipv6/conf/net1/accept_ra").read_text() == "0\n"
        assert " net1\n" in Path("/proc/thread-self/net/if_inet6").read_text()
    assert not Path("/proc/sys/net/ipv4/conf/net1").exists()


def test_mtu_mac_and_addresses_stay_behind_or_come_along_as_asked(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    dress(host, nic)
    attached = move_in(taken(), Parameters(), pod.netns)
    assert attached.mac == "02:00:00:00:00:01"
    assert attached.ips == ()
    with pod.entered(), Netlink() as inside:
        link = inside.link("eth1")
        assert link is not None
        assert link.mtu == 1400


def test_inherited_routes_are_added_on_link_first_and_without_a_source_that_the_pod_lacks(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    dress(host, nic)
    attached = move_in(
        taken(), Parameters(addresses=("192.0.2.50/24", "2001:db8::1/64"), inherit=("routes", "neighbours")), pod.netns
    )
    assert attached.ips == ("192.0.2.50/24", "2001:db8::1/64")
    assert sorted(pod_routes(pod, "eth1"), key=str) == [
        ("198.51.100.7", 32, None, None),
        ("203.0.113.0", 24, "198.51.100.7", None),
        ("default", 0, "192.0.2.254", None),
        ("default", 0, "2001:db8::ff", "2001:db8::1"),
    ]
    with pod.entered():
        assert "02:00:00:00:00:09" in Path("/proc/thread-self/net/arp").read_text()


def test_an_ipv6_address_works_in_a_pod_whose_runtime_switched_ipv6_off(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    with pod.entered():
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    attached = move_in(taken(), Parameters(addresses=("2001:db8::1/64",)), pod.netns)
    assert attached.ips == ("2001:db8::1/64",)


def test_inherited_addresses_keep_their_prefixes(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    dress(host, nic)
    attached = move_in(taken(), Parameters(inherit=("addresses",)), pod.netns)
    assert attached.ips == ("192.0.2.1/24", "192.0.2.2/24", "2001:db8::1/64")


@pytest.mark.parametrize(
    "routes",
    [
        (Route(destination="192.0.2.0/24"),),
        (Route(destination="2001:db8::/64", metric=256),),
        (Route(destination="198.51.100.0/24"), Route(destination="198.51.100.0/24")),
    ],
)
def test_a_route_that_the_kernel_made_already_is_no_fault(
    host: Netlink, nic: LinkInfo, pod: Pod, routes: tuple[Route, ...]
) -> None:
    move_in(taken(), Parameters(addresses=("192.0.2.1/24", "2001:db8::1/64"), routes=routes), pod.netns)
    assert "eth1" in pod_names(pod)


def test_a_route_that_another_link_of_the_pod_holds_is_refused_and_not_taken_for_a_duplicate(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    with pod.entered(), Netlink() as inside:
        inside.add_link("eth0", "ifb")
        index = socket.if_nametoindex("eth0")
        inside.set_link(index, up=True)
        inside.add_route({"family": 2, "type": 1, "proto": 4, "scope": 253, "table": 254, "oif": index})
    with pytest.raises(DeviceError, match="add route default"):
        move_in(taken(), Parameters(routes=(Route(destination="default"),)), pod.netns)
    assert "eth1" in names()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (Parameters(pod_if_name="lo"), "reserved"),
        (Parameters(pod_if_name="taken"), "move link eth1 into the pod as taken: File exists"),
        (Parameters(mtu=65536), "set the MTU of link eth1 to 65536"),
        (Parameters(mac="02:00:00:00:00:aa"), "MAC of link eth1 cannot be changed"),
        (Parameters(routes=(Route(destination="default", gateway="203.0.113.1"),)), "default via 203.0.113.1"),
        (Parameters(interface_sysctl_ipv4={"no_such": "1"}), "net.ipv4.conf.eth1.no_such does not exist"),
        (Parameters(interface_sysctl_ipv4={"../all/forwarding": "1"}), "plain name"),
        (Parameters(interface_sysctl_ipv6={"mtu": "x"}), "net.ipv6.conf.eth1.mtu cannot be set to 'x'"),
    ],
)
def test_a_step_that_fails_is_named_and_the_link_is_on_the_host_as_before(
    host: Netlink, nic: LinkInfo, pod: Pod, parameters: Parameters, sentence: str
) -> None:
    with pod.entered(), Netlink() as inside:
        inside.add_link("taken", "ifb")
    dress(host, nic)
    before = taken()
    with pytest.raises(DeviceError, match=sentence):
        move_in(before, parameters, pod.netns)
    assert without_indexes(taken()) == without_indexes(before)
    assert "eth1" not in pod_names(pod)


def test_a_link_whose_host_name_is_in_use_in_the_pod_gets_there_under_its_other_name(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    with pod.entered(), Netlink() as inside:
        inside.add_link("eth1", "ifb")
    before = taken()
    move_in(before, Parameters(pod_if_name="net1"), pod.netns)
    assert sorted(pod_names(pod)) == ["eth1", "lo", "net1"]
    move_back(before, pod.netns)
    assert pod_names(pod) == ["lo", "eth1"]


def test_a_foreign_link_that_took_the_name_is_left_and_ours_is_on_the_host_beside_it(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    dress(host, nic)
    before = taken()
    move_in(before, Parameters(pod_if_name="net1"), pod.netns)
    host.add_link("eth1", "ifb", address="02:00:00:00:00:66")

    for _ in range(2):
        with pytest.raises(ForeignLink, match="as dragoman0: a foreign link has taken its name"):
            move_back(before, pod.netns)
        foreign = host.link("eth1")
        assert foreign is not None
        assert foreign.mac == "02:00:00:00:00:66"
    assert pod_names(pod) == ["lo"]
    ours = snapshot(NIC)
    assert ours["name"] == "dragoman0"
    assert ours["up"]
    assert len(ours["addresses"]) == 3

    host.set_link(socket.if_nametoindex("eth1"), ifname="elsewhere")
    move_back(before, pod.netns)
    assert without_indexes(taken()) == without_indexes(before)


def test_a_link_whose_pod_name_and_host_name_are_both_taken_on_the_host_still_comes_back(
    host: Netlink, nic: LinkInfo, pod: Pod
) -> None:
    before = taken()
    move_in(before, Parameters(pod_if_name="net1"), pod.netns)
    host.add_link("net1", "ifb")
    host.add_link("eth1", "ifb")
    with pytest.raises(ForeignLink):
        move_back(before, pod.netns)
    assert sorted(set(names()) - {snapshot(NIC)["name"]}) == ["eth1", "lo", "net1", "switch"]


@pytest.mark.parametrize("found_as", ["net1", "dev7", "eth1"])
def test_hardware_that_the_kernel_put_back_under_some_name_is_found_and_made_as_it_was(
    host: Netlink, nic: LinkInfo, pod: Pod, found_as: str
) -> None:
    dress(host, nic)
    before = taken()
    move_in(before, Parameters(pod_if_name="net1"), pod.netns)
    with netns.opened(netns.own()) as home, pod.entered(), Netlink() as inside:
        inside.set_link(socket.if_nametoindex("net1"), net_ns_fd=home, ifname=found_as)
    pod.end()
    move_back(before, pod.netns)
    assert without_indexes(taken()) == without_indexes(before)


def test_a_link_that_died_with_its_namespace_is_success(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    before = taken()
    move_in(before, Parameters(), pod.netns)
    pod.end()
    move_back(before, pod.netns)
    move_back(before, None)
    assert "eth1" not in names()


def test_a_link_that_never_left_is_left_alone(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    dress(host, nic)
    before = taken()
    index = socket.if_nametoindex("eth1")
    move_back(before, pod.netns)
    assert socket.if_nametoindex("eth1") == index
    assert taken()["addresses"] == before["addresses"]
    assert without_indexes(taken()) == without_indexes(before)


def test_hardware_that_is_not_back_yet_is_asked_for_again_and_unplugged_hardware_is_gone(
    host: Netlink, tmp_path: Path
) -> None:
    former = {"name": "eth9", "identity": "pci:0000:03:00.1", "kind": None, "mac": None}
    move_back(former, None, host=HostPaths(sys=tmp_path))
    (tmp_path / "bus/pci/devices/0000:03:00.1/driver").mkdir(parents=True)
    with pytest.raises(DeviceError, match="not back on the host yet"):
        move_back(former, None, host=HostPaths(sys=tmp_path))


def test_a_missing_link_and_a_foreign_link_of_its_name_are_told_apart(host: Netlink, pod: Pod) -> None:
    with pytest.raises(LinkMissing):
        snapshot(NIC)
    host.add_link("eth1", "ifb", address="02:00:00:00:00:66")
    with pytest.raises(ForeignLink, match="mac:02:00:00:00:00:66"):
        snapshot(NIC)
    assert "eth1" in names()


def test_a_link_that_was_renamed_is_known_by_its_identity(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    host.set_link(nic.index, up=False)
    host.set_link(nic.index, ifname="renamed")
    former = snapshot(NIC)
    assert former["name"] == "renamed"
    assert move_in(former, Parameters(pod_if_name="net1"), pod.netns).interface == "net1"


def test_nothing_moves_into_a_namespace_that_is_gone(host: Netlink, nic: LinkInfo, pod: Pod) -> None:
    former = taken()
    pod.end()
    with pytest.raises(DeviceError, match="cannot open the network namespace of the pod for link eth1"):
        move_in(former, Parameters(), pod.netns)
    assert "eth1" in names()
