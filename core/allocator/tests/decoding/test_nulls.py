"""JSON null is the zero value of what stands there, as ``encoding/json`` has it for the API's Go types."""

import json
from typing import Any

import pytest

from dragoman_allocator.decode import decode, decode_list, read
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import (
    Attribute,
    Node,
    Pod,
    PoolStatusRequest,
    ResourceClaim,
    ResourceSlice,
    Struct,
)
from dragoman_allocator.quantity import parse


def _spec(**members: Any) -> dict[str, Any]:
    return {"spec": members}


PAIRS: list[tuple[type[Struct], dict[str, Any], dict[str, Any]]] = [
    (ResourceClaim, {"metadata": None, "status": None, "spec": None}, {}),
    (ResourceSlice, _spec(driver=None, pool=None, nodeName=None), _spec()),
    (ResourceSlice, _spec(pool={"name": None, "generation": None}), _spec(pool={"name": "", "generation": 0})),
    (ResourceSlice, _spec(devices=[{"name": "a"}, None]), _spec(devices=[{"name": "a"}, {}])),
    (ResourceSlice, _spec(devices=[{"attributes": {"x": None}}]), _spec(devices=[{"attributes": {"x": {}}}])),
    (
        ResourceSlice,
        _spec(
            devices=[{"attributes": {"x": {"string": None, "strings": [None, "b"], "ints": [None], "bools": [None]}}}]
        ),
        _spec(devices=[{"attributes": {"x": {"strings": ["", "b"], "ints": [0], "bools": [False]}}}]),
    ),
    (ResourceSlice, _spec(devices=[{"capacity": {"m": None}}]), _spec(devices=[{"capacity": {"m": {}}}])),
    (
        Node,
        {"status": {"declaredFeatures": [None], "allocatable": None}, "metadata": {"labels": {"a": None}}},
        {"status": {"declaredFeatures": [""]}, "metadata": {"labels": {"a": ""}}},
    ),
    (Pod, _spec(containers=[None], resources=None), _spec(containers=[{}])),
]


@pytest.mark.parametrize(("kind", "given", "meant"), PAIRS, ids=range(len(PAIRS)))
def test_null_is_the_zero_value(kind: type[Struct], given: dict[str, Any], meant: dict[str, Any]) -> None:
    assert decode(kind, json.dumps(given)) == decode(kind, given) == decode(kind, json.dumps(meant))
    assert decode_list(kind, json.dumps([meant, given])) == [decode(kind, meant)] * 2
    assert read(kind, json.dumps(given)) == read(kind, json.dumps(meant))


def test_null_in_an_object_of_v1beta1_is_the_zero_value_too() -> None:
    old = {"apiVersion": "resource.k8s.io/v1beta1"}
    given = old | _spec(
        devices=[None, {"name": "a", "basic": None}, {"name": "b", "basic": {"attributes": {"x": None}}}]
    )
    meant = _spec(devices=[{}, {"name": "a"}, {"name": "b", "attributes": {"x": {}}}])
    assert decode(ResourceSlice, given) == decode(ResourceSlice, meant)
    claim = old | _spec(devices={"requests": [None, {"name": "r", "deviceClassName": None, "count": None}]})
    assert decode(ResourceClaim, claim) == decode(ResourceClaim, _spec(devices={"requests": [{}, {"name": "r"}]}))


def test_members_that_a_written_status_must_have_are_zero_as_well() -> None:
    status = {"poolCount": None, "pools": [{"driver": "d", "partitionSummary": [None]}]}
    request = decode(PoolStatusRequest, {"status": status})
    assert request.status is not None
    assert request.status.pool_count == 0
    (pool,) = request.status.pools or []
    assert (pool.driver, pool.pool_name, pool.generation) == ("d", "", 0)
    assert [(each.attribute, each.total) for each in pool.partition_summary or ()] == [("", 0)]


def test_a_quantity_that_is_null_is_zero() -> None:
    document = _spec(devices=[{"capacity": {"m": {"value": None, "requestPolicy": {"validValues": [None, "1"]}}}}])
    for slice_ in (decode(ResourceSlice, json.dumps(document)), decode(ResourceSlice, document)):
        (device,) = slice_.spec.devices or []
        capacity = (device.capacity or {})["m"]
        assert capacity.request_policy is not None
        values = [capacity.value, *(capacity.request_policy.valid_values or ())]
        assert [parse(value).text for value in values] == ["0", "0", "1"]


def test_bare_numbers_beside_null_keep_their_text() -> None:
    document = b'{"spec":{"devices":[null,{"capacity":{"m":{"value":1e3}}}]}}'
    devices = read(ResourceSlice, document).spec.devices or []
    assert parse((devices[1].capacity or {})["m"].value).text == "1e3"
    assert decode(ResourceSlice, document).spec.devices == devices


@pytest.mark.parametrize(
    "document",
    [b'{"spec":null,"metadata":7}', b'{"spec":{"devices":[null,{"name":[]}]}}', b'{"spec":{"devices":{"a":null}}}'],
)
def test_null_does_not_hide_a_member_of_a_wrong_type(document: bytes) -> None:
    for reading in (decode, read):
        with pytest.raises(InvalidInput):
            reading(ResourceSlice, document)


def test_null_itself_is_no_object() -> None:
    with pytest.raises(InvalidInput, match="expected object, got null"):
        decode(ResourceSlice, b"null")
    assert read(dict[str, Attribute], b'{"a":null}') == {"a": Attribute()}
