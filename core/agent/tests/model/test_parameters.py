"""Which opaque entries reach a device, how they merge, and what is refused."""

from dataclasses import dataclass
from typing import Any

import pytest

from dragoman.model.claims import OpaqueConfig
from dragoman.model.parameters import Kind, effective, merge
from dragoman_hookspecs import COMMON_PARAMETERS, InvalidConfig, Route

DRIVER = "net.dragoman.dev"


@dataclass(frozen=True, kw_only=True)
class Queue:
    depth: int = 1
    owner_ids: tuple[int, ...] = ()


LINK = Kind(type="dummy", applies=COMMON_PARAMETERS)
VF = Kind(type="sr-iov", applies=COMMON_PARAMETERS | {"vlan"})
QUEUE = Kind(type="rxQueue", applies=frozenset({"podIfName"}), own=Queue)


def entry(parameters: dict[str, Any], *requests: str, source: str = "FromClaim", driver: str = DRIVER) -> OpaqueConfig:
    return OpaqueConfig(source=source, driver=driver, parameters=parameters, requests=requests)


def from_class(parameters: dict[str, Any], *requests: str) -> OpaqueConfig:
    return entry(parameters, *requests, source="FromClass")


def faults(*configs: OpaqueConfig, kind: Kind = LINK, others: tuple[Kind, ...] = ()) -> dict[str, str]:
    with pytest.raises(InvalidConfig) as caught:
        effective(configs, DRIVER, "net", kind, others)
    return {fault.path: fault.message for fault in caught.value.faults}


@pytest.mark.parametrize(
    ("requests", "request_", "reached"),
    [
        ((), "net", True),
        (("net",), "net", True),
        (("net",), "net/fast", True),
        (("net/fast",), "net/fast", True),
        (("net/fast",), "net/slow", False),
        (("other", "net"), "net", True),
        (("other",), "net", False),
    ],
)
def test_an_entry_reaches_the_requests_it_names(requests: tuple[str, ...], request_: str, reached: bool) -> None:
    assert merge([entry({"mtu": 1400}, *requests)], DRIVER, request_) == ({"mtu": 1400} if reached else {})


def test_entries_of_other_drivers_are_not_ours() -> None:
    assert merge([entry({"anything": object}, driver="gpu.example.com")], DRIVER, "net") == {}


def test_the_claim_wins_over_the_class_key_by_key_whatever_the_order_of_the_entries() -> None:
    configs = [
        entry({"mtu": 1400, "interfaceSysctlIPv4": {"arp_filter": "1"}}),
        from_class({"mtu": 9000, "podIfName": "net1", "interfaceSysctlIPv4": {"arp_filter": "0", "forwarding": "1"}}),
    ]
    expected = {"mtu": 1400, "podIfName": "net1", "interfaceSysctlIPv4": {"arp_filter": "1", "forwarding": "1"}}
    assert merge(configs, DRIVER, "net") == expected
    assert merge(configs[::-1], DRIVER, "net") == expected


def test_lists_are_replaced() -> None:
    merged = merge([from_class({"addresses": ["10.0.0.1/8"]}), entry({"addresses": ["10.0.0.2/8"]})], DRIVER, "net")
    assert merged == {"addresses": ["10.0.0.2/8"]}


def test_a_locked_key_keeps_the_value_of_the_class() -> None:
    locked = from_class({"mtu": 9000, "locked": ["mtu", "mac"]})
    assert merge([locked, entry({"mtu": 9000})], DRIVER, "net") == {"mtu": 9000}
    assert set(faults(locked, entry({"mtu": 1400, "mac": "02:00:00:00:00:01"}))) == {"mtu", "mac"}


def test_only_a_class_can_lock() -> None:
    assert set(faults(entry({"locked": ["mtu"]}))) == {"locked"}
    assert set(faults(from_class({"locked": "mtu"}))) == {"locked"}


def test_parameters_are_decoded() -> None:
    _, decoded = effective(
        [entry({"podIfName": "net1", "routes": [{"destination": "default", "gateway": "10.0.0.1"}], "mtu": 1400})],
        DRIVER,
        "net",
        LINK,
    )
    assert (decoded.pod_if_name, decoded.mtu) == ("net1", 1400)
    assert decoded.routes == (Route(destination="default", gateway="10.0.0.1"),)


def test_parameters_of_the_kind_are_decoded_by_its_own_schema() -> None:
    values, decoded = effective([entry({"depth": 4, "ownerIDs": [1, 2]})], DRIVER, "net", QUEUE)
    assert decoded.own == Queue(depth=4, owner_ids=(1, 2))
    assert values == {"depth": 4, "ownerIDs": [1, 2]}


def test_a_key_that_does_not_apply_is_refused_with_those_that_do() -> None:
    found = faults(entry({"vlan": 3, "vlanId": 3}))
    assert set(found) == {"vlan", "vlanId"}
    assert "podIfName" in found["vlan"]


def test_a_key_that_is_close_to_one_that_applies_is_refused_with_that_one() -> None:
    assert faults(entry({"adresses": []}))["adresses"].endswith(": did you mean addresses?")


def test_an_entry_that_covers_several_kinds_applies_per_kind() -> None:
    configs = [entry({"vlan": 3, "podIfName": "net1", "depth": 2})]
    of_link, _ = effective(configs, DRIVER, "net", LINK, [VF, QUEUE])
    of_vf, _ = effective(configs, DRIVER, "net", VF, [LINK, QUEUE])
    of_queue, _ = effective(configs, DRIVER, "net", QUEUE, [LINK, VF])
    assert of_link == {"podIfName": "net1"}
    assert of_vf == {"podIfName": "net1", "vlan": 3}
    assert of_queue == {"podIfName": "net1", "depth": 2}
    assert set(faults(*configs, entry({"nonsense": 1}), others=(VF, QUEUE))) == {"nonsense"}


def test_the_internal_field_of_own_parameters_is_no_key() -> None:
    assert set(faults(entry({"own": {}}))) == {"own"}


@pytest.mark.parametrize("name", ["", "a" * 16, "a/b", "..", ".", "a b", "é", "all", "default", "lo", "a:b"])
def test_interface_names_that_the_kernel_or_the_sysctl_tree_would_not_take_are_refused(name: str) -> None:
    assert set(faults(entry({"podIfName": name}))) == {"podIfName"}


@pytest.mark.parametrize("vlan", [-1, 4095, 2**31])
def test_a_vlan_outside_0_to_4094_is_refused(vlan: int) -> None:
    assert set(faults(entry({"vlan": vlan}), kind=VF)) == {"vlan"}


@pytest.mark.parametrize("vlan", [0, 1, 4094])
def test_the_bounds_of_vlan_are_taken(vlan: int) -> None:
    assert effective([entry({"vlan": vlan})], DRIVER, "net", VF)[1].vlan == vlan


@pytest.mark.parametrize("leaf", ["../x", "a.b", "a/b", "", ".."])
def test_a_sysctl_that_is_no_plain_leaf_is_refused(leaf: str) -> None:
    assert set(faults(entry({"interfaceSysctlIPv4": {leaf: "1"}}))) == {f"interfaceSysctlIPv4.{leaf}"}


def test_every_fault_is_told_at_once() -> None:
    found = faults(
        entry(
            {
                "mac": "zz",
                "mtu": "1400",
                "addresses": ["10.0.0.300/24"],
            }
        )
    )
    assert "mtu" in found
    found = faults(
        entry(
            {
                "mac": "zz",
                "addresses": ["10.0.0.1/24", "10.0.0.300/24"],
                "routes": [{"destination": "10.0.0.0/33", "gateway": "x"}],
                "inherit": ["everything"],
                "interfaceSysctlIPv6": {"accept_ra": ""},
            }
        )
    )
    assert set(found) == {
        "mac",
        "addresses[1]",
        "routes[0].destination",
        "routes[0].gateway",
        "inherit[0]",
        "interfaceSysctlIPv6.accept_ra",
    }


def test_a_plugins_class_may_have_the_name_of_the_common_one() -> None:
    plain = type("Parameters", (), {"__annotations__": {"depth": int}, "depth": 1})
    own: Any = dataclass(frozen=True, kw_only=True)(plain)
    kind = Kind(type="x", applies=COMMON_PARAMETERS, own=own)
    decoded = effective([entry({"depth": 4, "mtu": 1400})], DRIVER, "net", kind)[1]
    assert (decoded.mtu, decoded.own.depth) == (1400, 4)
