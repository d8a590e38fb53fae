"""Which devices of a claim are known again, and how."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dragoman.model import envelope
from dragoman.model.claims import AllocationResult, Claim, OpaqueConfig, StatusEntry
from dragoman.model.parameters import Kind
from dragoman.model.plan import Known
from dragoman.model.rebuild import Node, know_again, own_entries
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import COMMON_PARAMETERS, Device, JsonObject, Link, Prepared

DRIVER, POOL, BOOT = "net.dragoman.dev", "node-1", "boot-1"


def result(device: str, **changes: Any) -> AllocationResult:
    return replace(AllocationResult(request=f"r-{device}", driver=DRIVER, pool=POOL, device=device), **changes)


def row(device: str, position: int = 0, **changes: Any) -> AllocationRow:
    made = AllocationRow(
        key=AllocationKey(claim_uid="u", request=f"r-{device}", driver=DRIVER, pool=POOL, device=device),
        claim=Claim(uid="u", namespace="ns", name="c", results=()).ref,
        position=position,
        state=AllocationState.PREPARED,
        manager="host-device",
        distribution="dragoman-host",
        plugin_version="1.0",
        device=Device(name=device, identity=f"mac:{device}", link=f"eth-{device}", attributes={"speed": 10}),
        parameters={"podIfName": "net1"},
        prepared=Prepared(state={"k": 1}, target=Link(name=f"eth-{device}", identity=f"mac:{device}")),
    )
    return replace(made, **changes)


def entry(of: AllocationRow, data: object = None, **changes: Any) -> StatusEntry:
    made = StatusEntry(
        driver=DRIVER,
        pool=POOL,
        device=of.key.device,
        share_id=of.key.share_id or None,
        data=envelope.encode(of) if data is None else data,
    )
    return replace(made, **changes)


def claim(*results: AllocationResult, entries: tuple[StatusEntry, ...] = (), **changes: Any) -> Claim:
    made = Claim(uid="u", namespace="ns", name="c", results=results, entries=entries)
    return replace(made, **changes)


def node(known: Known | None = None, applies: frozenset[str] = COMMON_PARAMETERS) -> Node:
    kind = Kind(type="host-device", applies=applies)
    return Node(driver=DRIVER, pool=POOL, boot_id=BOOT, find=lambda _: known, kind=lambda _: kind)


def cut(data: JsonObject, *parts: str) -> JsonObject:
    return {key: value for key, value in data.items() if key not in parts} | {envelope.CUT: list(parts)}


def attached(of: AllocationRow, snapshot: JsonObject) -> AttachmentRow:
    return AttachmentRow(
        key=AttachmentKey(allocation=of.key, sandbox_id="s"),
        state=AttachmentState.ATTACHED,
        pod_uid="p",
        pod_namespace="ns",
        pod_name="pod",
        netns_path="/run/netns/s",
        netns_cookie="4:1",
        snapshot=snapshot,
    )


def test_devices_come_back_in_the_order_of_the_allocation() -> None:
    rows = [row("a"), row("b", 1)]
    found = know_again(claim(result("a"), result("b"), entries=tuple(map(entry, reversed(rows)))), node())
    assert [former.row for former in found.devices] == rows
    assert found.problems == ()


def test_a_bad_entry_is_the_problem_of_its_device_alone() -> None:
    entries = (entry(row("a"), data={"apiVersion": "other"}), entry(row("b", 1)), entry(row("c", 2), data=7))
    found = know_again(claim(result("a"), result("b"), result("c"), entries=entries), node())
    assert [former.row for former in found.devices] == [row("b", 1)]
    assert ["device a" in found.problems[0], "device c" in found.problems[1]] == [True, True]
    assert all("claim ns/c" in problem for problem in found.problems)


def test_a_device_without_an_entry_is_left_out_and_named() -> None:
    found = know_again(claim(result("a")), node())
    assert found.devices == ()
    assert "device a of claim ns/c" in found.problems[0]


@pytest.mark.parametrize("foreign", [{"driver": "gpu.example.com"}, {"pool": "node-2"}])
def test_devices_of_other_nodes_and_drivers_are_nobodys_concern(foreign: dict[str, str]) -> None:
    found = know_again(claim(result("a", **foreign), entries=(entry(row("a"), **foreign),)), node())
    assert (found.devices, found.problems) == ((), ())


def test_a_claim_without_an_allocation_has_nothing_to_know_again() -> None:
    found = know_again(replace(claim(entries=(entry(row("a")),)), results=None), node())
    assert (found.devices, found.problems) == ((), ())


def test_an_entry_of_another_share_is_not_taken() -> None:
    one = row("a", key=replace(row("a").key, share_id="s1"))
    found = know_again(claim(result("a", share_id="s2"), entries=(entry(one),)), node())
    assert found.devices == ()


def test_an_admin_result_gets_its_row_and_nothing_that_is_set_up() -> None:
    found = know_again(claim(result("a", admin_access=True), entries=(entry(row("a")),)), node())
    (former,) = found.devices
    assert former.row.admin_access
    assert (former.row.prepared, former.row.plan) == (Prepared(), {})


def test_parameters_that_were_cut_are_those_of_the_claim_that_apply() -> None:
    config = (OpaqueConfig(source="FromClaim", driver=DRIVER, parameters={"mtu": 9000, "rings": 4}),)
    entries = (entry(row("a"), data=cut(envelope.encode(row("a")), "config")),)
    found = know_again(claim(result("a"), entries=entries, config=config), node())
    assert found.devices[0].row.parameters == {"mtu": 9000}


def test_what_was_cut_of_a_device_is_what_is_seen_of_it_now() -> None:
    seen = Device(name="a", identity="mac:a", attributes={"speed": 25})
    known = Known(device=seen, kind=Kind(type="host-device", applies=frozenset()), distribution="d", version="2")
    entries = (entry(row("a"), data=cut(envelope.encode(row("a")), "advertised")),)
    found = know_again(claim(result("a"), entries=entries), node(known))
    assert found.devices[0].row.device == replace(seen, link="eth-a")
    other = replace(known, device=replace(seen, identity="mac:other"))
    found = know_again(claim(result("a"), entries=entries), node(other))
    assert found.devices[0].row.device.attributes == {}


def test_whereabouts_of_an_earlier_boot_or_of_another_link_are_not_believed() -> None:
    def whereabouts(snapshot: JsonObject, boot: str) -> object:
        data = envelope.encode(row("a"), attached(row("a"), snapshot), boot)
        (former,) = know_again(claim(result("a"), entries=(entry(row("a"), data=data),)), node()).devices
        return former.whereabouts

    assert whereabouts({"identity": "mac:a"}, BOOT) is not None
    assert whereabouts({"identity": "mac:a"}, "boot-0") is None
    assert whereabouts({"identity": "mac:of-the-uplink"}, BOOT) is None


def test_only_entries_of_the_driver_that_tell_something_count_as_own() -> None:
    entries = (entry(row("a")), entry(row("b"), driver="gpu.example.com"), replace(entry(row("c")), data=None))
    assert own_entries(claim(entries=entries), DRIVER) == [entries[0]]
