"""Rows survive the ledger, whatever their unions hold."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.claims import ClaimRef, Consumer
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store import codec
from dragoman_hookspecs import (
    Attached,
    Capacity,
    CounterConsumption,
    Device,
    InPlace,
    Link,
    Match,
    NodeAllocatable,
    NodeAllocatableMapping,
    NodeAllocatableOverhead,
    Prepared,
    RequestPolicy,
    Taint,
    Version,
)

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None)

words = st.text(max_size=8)
maybe = st.none() | words
numbers = st.integers(-(2**63), 2**63 - 1)
versions = st.builds(Version, words)
scalars = st.booleans() | numbers | words | versions


def some(members: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(members, min_size=1, max_size=3).map(tuple)


attribute_values = scalars | some(st.booleans()) | some(numbers) | some(words) | some(versions)
filter_values = words | st.frozensets(words, max_size=3) | st.sampled_from(Match)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(words, json_values, max_size=3)
quantities = st.dictionaries(words, words, max_size=2)


def full(type_: type[Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Build with every field given, so that a field added to the type asks for a place in this test."""
    assert set(fields) == {field.name for field in dataclasses.fields(type_)}
    return st.builds(type_, **fields)


policies = full(RequestPolicy, default=maybe, valid_values=some(words), minimum=maybe, maximum=maybe, step=maybe)
mappings = full(NodeAllocatableMapping, capacity_key=maybe, capacity_multiplier=maybe, device_multiplier=maybe)
overheads = full(NodeAllocatableOverhead, per_pod=maybe, per_container=maybe)
devices = full(
    Device,
    name=words,
    identity=words,
    attributes=st.dictionaries(words, attribute_values, max_size=4),
    capacity=st.dictionaries(words, full(Capacity, value=words, policy=st.none() | policies), max_size=2),
    allow_multiple_allocations=st.booleans(),
    counters=some(full(CounterConsumption, counter_set=words, counters=quantities)),
    taints=some(full(Taint, key=words, value=words, effect=words)),
    node_allocatable=st.dictionaries(
        words, full(NodeAllocatable, mapping=st.none() | mappings, overhead=st.none() | overheads), max_size=2
    ),
    binding_conditions=some(words),
    binding_failure_conditions=some(words),
    filter_values=st.dictionaries(words, filter_values, max_size=4),
    link=maybe,
)
targets = st.none() | full(Link, name=words, identity=words) | full(InPlace, name=words)
allocation_keys = full(
    AllocationKey, claim_uid=words, request=words, driver=words, pool=words, device=words, share_id=words
)
allocation_rows = full(
    AllocationRow,
    key=allocation_keys,
    claim=full(ClaimRef, uid=words, namespace=words, name=words),
    position=st.integers(0, 100),
    state=st.sampled_from(AllocationState),
    manager=words,
    distribution=words,
    plugin_version=words,
    device=devices,
    parameters=json_objects,
    consumed_capacity=quantities,
    admin_access=st.booleans(),
    logical_pool=maybe,
    reserved_for=some(full(Consumer, resource=words, name=words, uid=words, api_group=words)),
    pod_claim_name=maybe,
    plan=json_objects,
    prepared=st.none() | full(Prepared, state=json_objects, target=targets),
    failure=words,
)
attachment_rows = full(
    AttachmentRow,
    key=full(AttachmentKey, allocation=allocation_keys, sandbox_id=words),
    state=st.sampled_from(AttachmentState),
    pod_uid=words,
    pod_namespace=words,
    pod_name=words,
    netns_path=words,
    netns_cookie=words,
    snapshot=st.none() | json_objects,
    attached=st.none() | full(Attached, interface=words, mac=maybe, ips=some(words), state=json_objects),
    failure=words,
)

NewAllocation = Callable[..., AllocationRow]


def typed(value: Any) -> Any:
    """Tell True from 1 and a tuple from a list, which compare equal or may be mixed up in a set."""
    if isinstance(value, dict):
        return {key: typed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value), *map(typed, value)]
    return (type(value), value)


@SETTINGS
@given(allocation_rows)
def test_an_allocation_is_read_back_as_it_was_written(row: AllocationRow) -> None:
    back = codec.load(AllocationRow, codec.dump(row))
    assert back == row
    assert typed(dict(back.device.attributes)) == typed(dict(row.device.attributes))
    assert typed(back.parameters) == typed(row.parameters)


@SETTINGS
@given(attachment_rows)
def test_an_attachment_is_read_back_as_it_was_written(row: AttachmentRow) -> None:
    assert codec.load(AttachmentRow, codec.dump(row)) == row


@pytest.mark.parametrize("target", [None, Link(name="a", identity="b"), InPlace(name="a")])
def test_the_three_kinds_of_target_are_told_apart(target: Link | InPlace | None, new_allocation: NewAllocation) -> None:
    back = codec.load(AllocationRow, codec.dump(new_allocation(prepared=Prepared(target=target))))
    assert back.prepared == Prepared(target=target)


def test_keys_of_a_newer_release_are_ignored_and_absent_ones_take_their_default(new_allocation: NewAllocation) -> None:
    row = new_allocation(failure="to be left out")
    document = json.loads(codec.dump(row))
    del document["failure"]
    document["device"]["future"] = {"of": "devices"}
    document["future"] = 1
    back = codec.load(AllocationRow, json.dumps(document).encode())
    assert back == dataclasses.replace(row, failure="")


def test_fields_kept_elsewhere_are_not_in_the_document(new_allocation: NewAllocation) -> None:
    row = new_allocation()
    document = codec.dump(row, without=("key", "state"))
    assert not {"key", "state"} & set(json.loads(document))
    assert codec.load(AllocationRow, document, key=row.key, state=row.state) == row


@pytest.mark.parametrize("state", [{"a": object()}, {"a": "\ud800"}], ids=["no JSON type", "lone surrogate"])
def test_what_json_cannot_hold_is_refused_before_it_is_written(state: Any, new_allocation: NewAllocation) -> None:
    with pytest.raises(codec.NotStorable, match="AllocationRow cannot be stored as JSON"):
        codec.dump(new_allocation(prepared=Prepared(state=state)))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"{}",
        b'{"position":"zero"}',
        b'{"device":7}',
        b'{"prepared":{"target":{"sideways":{}}}}',
        b'{"device":{"name":"a","identity":"b","filter_values":{"drivers":{"match":"perhaps"}}}}',
        b"[" * 100_000,
    ],
)
def test_a_document_that_is_none_of_the_type_is_malformed(document: bytes) -> None:
    with pytest.raises(codec.Malformed):
        codec.load(AllocationRow, document)
