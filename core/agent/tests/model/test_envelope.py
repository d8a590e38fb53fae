"""What a status entry tells is understood again, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model import envelope
from dragoman.model.claims import AllocationResult, Claim, Consumer
from dragoman.model.envelope import BadEnvelope, UnknownVersion
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import (
    Attached,
    Capacity,
    CounterConsumption,
    Device,
    InPlace,
    JsonObject,
    Link,
    NodeAllocatable,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    Prepared,
    RequestPolicy,
    Taint,
    Version,
)

texts = st.text(max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
scalars = [st.booleans(), st.integers(-(2**53), 2**53), texts, texts.map(Version)]
attributes = st.one_of(*scalars, *(st.lists(each, max_size=2).map(tuple) for each in scalars))
policies = st.builds(RequestPolicy, default=st.none() | texts, valid_values=st.lists(texts, max_size=2).map(tuple))
devices = st.builds(
    Device,
    name=st.just("nic0"),
    identity=texts,
    attributes=st.dictionaries(texts, attributes, max_size=3),
    capacity=st.dictionaries(texts, st.builds(Capacity, value=texts, policy=st.none() | policies), max_size=2),
    allow_multiple_allocations=st.booleans(),
    counters=st.lists(
        st.builds(CounterConsumption, counter_set=texts, counters=st.dictionaries(texts, texts, max_size=2)), max_size=1
    ).map(tuple),
    taints=st.lists(st.builds(Taint, key=texts, value=texts), max_size=2).map(tuple),
    node_allocatable=st.dictionaries(
        texts,
        st.builds(
            NodeAllocatable,
            mapping=st.none() | st.builds(NodeAllocatableMapping, device_multiplier=texts),
            overhead=st.none() | st.builds(NodeAllocatableOverhead, per_pod=texts),
        ),
        max_size=1,
    ),
    binding_conditions=st.lists(texts, max_size=1).map(tuple),
    binding_failure_conditions=st.lists(texts, max_size=1).map(tuple),
    link=st.none() | texts,
)
targets = st.none() | st.builds(Link, name=texts, identity=texts) | st.builds(InPlace, name=texts)
rows = st.builds(
    AllocationRow,
    key=st.builds(
        AllocationKey,
        claim_uid=st.just("u"),
        request=st.just("r/sub"),
        driver=st.just("d"),
        pool=st.just("n1"),
        device=st.just("nic0"),
        share_id=st.just("") | st.just("share-1"),
    ),
    claim=st.just(Claim(uid="u", namespace="ns", name="c", results=()).ref),
    position=st.integers(0, 9),
    state=st.just(AllocationState.PREPARED),
    manager=texts,
    distribution=texts,
    plugin_version=texts,
    device=devices,
    parameters=json_objects,
    consumed_capacity=st.dictionaries(texts, texts, max_size=2),
    admin_access=st.booleans(),
    logical_pool=st.none() | texts,
    reserved_for=st.lists(st.builds(Consumer, resource=texts, name=texts, uid=texts), max_size=2).map(tuple),
    pod_claim_name=st.none() | texts,
    plan=json_objects,
    prepared=st.builds(Prepared, state=json_objects, target=targets),
)
attached = st.builds(
    Attached, interface=texts, mac=st.none() | texts, ips=st.lists(texts, max_size=2).map(tuple), state=json_objects
)


def attachment_of(row: AllocationRow, seen: Attached | None, snapshot: JsonObject | None) -> AttachmentRow:
    return AttachmentRow(
        key=AttachmentKey(allocation=row.key, sandbox_id="s1"),
        state=AttachmentState.ATTACHED,
        pod_uid="p1",
        pod_namespace="ns",
        pod_name="pod",
        netns_path="/run/netns/s1",
        netns_cookie="4:7",
        snapshot=snapshot,
        attached=seen,
    )


def told(data: JsonObject) -> Any:
    """The data as another life reads it from the API server."""
    return json.loads(json.dumps(data))


def claim_and_result(row: AllocationRow) -> tuple[Claim, AllocationResult]:
    result = AllocationResult(
        request=row.key.request,
        driver=row.key.driver,
        pool=row.key.pool,
        device=row.key.device,
        share_id=row.key.share_id or None,
        consumed_capacity=row.consumed_capacity,
        admin_access=row.admin_access,
    )
    claim = Claim(
        uid="u",
        namespace="ns",
        name="c",
        results=(result,),
        reserved_for=row.reserved_for,
        pod_claim_name=row.pod_claim_name,
    )
    return claim, result


@settings(derandomize=True, max_examples=150, deadline=None)
@given(row=rows)
def test_a_row_comes_back_from_its_entry_and_the_claim(row: AllocationRow) -> None:
    decoded = envelope.decode(told(envelope.encode(row)), "nic0")
    claim, result = claim_and_result(row)
    assert decoded.row(claim, result, row.position) == row
    assert decoded.whereabouts is None


@settings(derandomize=True, max_examples=60, deadline=None)
@given(row=rows, seen=st.none() | attached, snapshot=st.none() | json_objects)
def test_an_attachment_comes_back_with_the_boot_in_which_it_was_made(
    row: AllocationRow, seen: Attached | None, snapshot: JsonObject | None
) -> None:
    attachment = attachment_of(row, seen, snapshot)
    decoded = envelope.decode(told(envelope.encode(row, attachment, "boot-1")), "nic0")
    assert decoded.whereabouts is not None
    assert decoded.whereabouts.boot_id == "boot-1"
    assert decoded.whereabouts.attachment(row.key) == attachment


def plain_row(**changes: Any) -> AllocationRow:
    row = AllocationRow(
        key=AllocationKey(claim_uid="u", request="r", driver="d", pool="n1", device="nic0"),
        claim=Claim(uid="u", namespace="ns", name="c", results=()).ref,
        position=0,
        state=AllocationState.PREPARED,
        manager="host-device",
        distribution="dragoman-host",
        plugin_version="1.0",
        device=Device(name="nic0", identity="mac:02:00:00:00:00:01", link="eth1"),
        plan={"mtu": 1500},
        prepared=Prepared(target=Link(name="eth1", identity="mac:02:00:00:00:00:01")),
    )
    return replace(row, **changes)


def full_entry() -> JsonObject:
    row = plain_row(logical_pool="fast", parameters={"podIfName": "net1"})
    seen = Attached(interface="net1", mac="02:00:00:00:00:01", ips=("192.0.2.1/24",))
    return envelope.encode(row, attachment_of(row, seen, {"name": "eth1"}), "boot-1")


@settings(derandomize=True, max_examples=200, deadline=None)
@given(data=json_values, key=st.sampled_from([*full_entry(), envelope.CUT]))
def test_whatever_stands_in_an_entry_is_understood_or_refused(data: object, key: str) -> None:
    for attempt in (data, {**full_entry(), key: data}):
        with contextlib.suppress(BadEnvelope):
            assert envelope.decode(attempt, "nic0").device.name == "nic0"


@settings(derandomize=True, max_examples=100, deadline=None)
@given(data=json_values, key=st.sampled_from(["sandbox", "netns", "netnsCookie", "attached", "bootID"]))
def test_whatever_stands_in_an_attachment_is_understood_or_refused(data: object, key: str) -> None:
    entry = full_entry()
    entry["attachment"] = {**entry["attachment"], key: data}
    try:
        decoded = envelope.decode(entry, "nic0")
    except BadEnvelope:
        return
    assert decoded.whereabouts is not None


@pytest.mark.parametrize("key", ["manager", "distribution", "pluginVersion", "identity", "plan", "device", "target"])
def test_an_entry_without_a_part_that_nobody_else_knows_is_refused(key: str) -> None:
    entry = full_entry()
    del entry[key]
    with pytest.raises(BadEnvelope, match=f"nic0 is malformed: '{key}' is missing"):
        envelope.decode(entry, "nic0")


@pytest.mark.parametrize("version", ["status.dragoman.dev/v2", "", None, 1])
def test_another_version_is_refused_by_name(version: object) -> None:
    with pytest.raises(UnknownVersion, match="start the release that wrote it"):
        envelope.decode({**full_entry(), "apiVersion": version}, "nic0")


def test_keys_of_a_newer_release_are_left_alone() -> None:
    entry = full_entry()
    newer = {**entry, "colour": "red", "advertised": {**entry["advertised"], "colour": "red"}}
    assert envelope.decode(newer, "nic0") == envelope.decode(entry, "nic0")


def test_an_entry_that_lost_dispensable_parts_says_which() -> None:
    entry = {key: value for key, value in full_entry().items() if key not in envelope.DISPENSABLE}
    decoded = envelope.decode({**entry, envelope.CUT: list(envelope.DISPENSABLE)}, "nic0")
    assert decoded.cut == set(envelope.DISPENSABLE)
    assert decoded.device == Device(name="nic0", identity="mac:02:00:00:00:00:01", link="eth1")
    assert decoded.whereabouts is not None
    assert decoded.whereabouts.snapshot is None


def test_an_entry_that_lost_the_state_of_the_device_is_refused() -> None:
    entry = full_entry()
    del entry["device"]
    with pytest.raises(BadEnvelope, match="too large and lost device"):
        envelope.decode({**entry, envelope.CUT: ["config", "device"]}, "nic0")


def test_a_device_that_is_not_prepared_yet_cannot_be_known_again() -> None:
    with pytest.raises(BadEnvelope, match="device"):
        envelope.decode(envelope.encode(plain_row(prepared=None)), "nic0")
