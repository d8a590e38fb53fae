import json
from typing import Any

import msgspec
import pytest

from dragoman_allocator.decode import decode, decode_list, encode, to_json
from dragoman_allocator.errors import InvalidInput, InvalidMember
from dragoman_allocator.objects import DeviceClass, Node, Pod, PoolStatusRequest, ResourceClaim, ResourceSlice
from dragoman_allocator.quantity import BareNumber, parse

SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s1", "creationTimestamp": None, "managedFields": [{"manager": "x"}]},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "n1", "generation": 3, "resourceSliceCount": 1},
        "nodeName": "n1",
        "devices": [
            {
                "name": "d1",
                "attributes": {
                    "index": {"int": 0},
                    "ecc": {"bool": False},
                    "model": {"string": "a"},
                    "v": {"version": "1.0.0"},
                },
                "capacity": {"memory": {"value": "80Gi"}},
                "taints": [{"key": "k", "effect": "NoSchedule"}],
            }
        ],
    },
}


def test_an_object_becomes_a_struct_and_the_same_json_again() -> None:
    decoded = decode(ResourceSlice, json.dumps(SLICE))
    assert decoded.spec.devices is not None
    assert decoded.spec.devices[0].capacity is not None
    assert decoded.spec.devices[0].capacity["memory"].value == "80Gi"
    assert to_json(decoded) == {"metadata": {"name": "s1"}, "spec": SLICE["spec"]}


@pytest.mark.parametrize(
    "form",
    [json.dumps, lambda value: json.dumps(value).encode(), dict, lambda value: memoryview(json.dumps(value).encode())],
)
def test_text_bytes_and_plain_values_decode_alike(form: Any) -> None:
    assert decode(ResourceSlice, form(SLICE)) == decode(ResourceSlice, json.dumps(SLICE))
    assert decode_list(ResourceSlice, json.dumps([SLICE, SLICE])) == decode_list(
        ResourceSlice, [form(SLICE)] * 2 if form is dict else [SLICE] * 2
    )


@pytest.mark.parametrize("version", ["v1", "v1beta2"])
def test_v1_and_v1beta2_have_one_shape(version: str) -> None:
    newer = SLICE | {"apiVersion": f"resource.k8s.io/{version}"}
    assert decode(ResourceSlice, json.dumps(newer)) == decode(ResourceSlice, SLICE)


def test_a_bare_number_where_a_quantity_stands_keeps_its_text() -> None:
    claim = decode(
        ResourceClaim,
        b'{"spec":{"devices":{"requests":[{"name":"r","exactly":{"capacity":{"requests":{"m":1e3,"n":1000}}}}]}}}',
    )
    requests = claim.spec.devices.requests
    assert requests is not None
    assert requests[0].exactly is not None
    assert requests[0].exactly.capacity is not None
    assert requests[0].exactly.capacity.requests is not None
    wanted = requests[0].exactly.capacity.requests
    assert (parse(wanted["m"]).text, parse(wanted["n"]).text) == ("1e3", "1k")
    assert b'{"m":1e3,"n":1000}' in encode(claim)
    assert isinstance(
        to_json(claim)["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["m"], BareNumber
    )


def test_null_means_not_set_wherever_it_stands() -> None:
    decoded = decode(
        ResourceSlice,
        b'{"spec":{"driver":null,"pool":null,"devices":[{"name":"d","attributes":null}]},"metadata":null}',
    )
    assert decoded == decode(ResourceSlice, b'{"spec":{"devices":[{"name":"d"}]}}')
    assert decode_list(ResourceSlice, b"null") == decode_list(ResourceSlice, None) == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"spec": {"driver": 7}}, "spec.driver: expected str, got int"),
        ({"spec": {"devices": [{"name": "a"}, {"name": []}]}}, "spec.devices[1].name: expected str, got array"),
        (
            {"spec": {"devices": [{"attributes": {"a": {"int": 2**63}}}]}},
            "spec.devices[0].attributes[...].int: expected int <= 9223372036854775807",
        ),
        ({"spec": {"pool": {"generation": 1.5}}}, "spec.pool.generation: expected int, got float"),
        ({"kind": "Pod"}, "kind: expected ResourceSlice, not Pod"),
        ({"apiVersion": "resource.k8s.io/v1alpha2"}, "apiVersion: resource.k8s.io/v1alpha2 is not known"),
        ({"apiVersion": 1}, "apiVersion: expected str"),
        ([], "expected object, got array"),
    ],
)
def test_a_wrong_member_is_named_by_its_path(document: Any, message: str) -> None:
    with pytest.raises(InvalidMember) as caught:
        decode(ResourceSlice, json.dumps(document))
    assert str(caught.value).startswith(message)


def test_a_wrong_member_in_a_list_is_named_with_the_index() -> None:
    with pytest.raises(InvalidMember) as caught:
        decode_list(ResourceSlice, json.dumps([SLICE, {"spec": {"driver": 7}}]))
    assert str(caught.value) == "[1].spec.driver: expected str, got int"


HOSTILE = [
    b"[",
    b"nonsense",
    b'"text"',
    b"[[]]",
    b'{"spec":NaN}',
    b'{"spec":' * 100_000,
    b'{"metadata":{"name":"\xff"}}',
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"spec":{"pool":{"generation":' + b"1" * 5000 + b"}}}",
    b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b"\xef\xbb\xbf{}",
]


@pytest.mark.parametrize("document", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_json_is_refused_with_one_sentence(document: bytes) -> None:
    for read in (lambda: decode(ResourceSlice, document), lambda: decode_list(ResourceSlice, b"[" + document + b"]")):
        with pytest.raises(InvalidInput) as caught:
            read()
        assert "\n" not in str(caught.value)


def test_a_list_object_of_the_api_lends_its_version_to_its_items() -> None:
    item = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}}
    listing = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaimList", "metadata": {}, "items": [item]}
    (claim,) = decode_list(ResourceClaim, json.dumps(listing))
    assert claim == decode(ResourceClaim, item | {"apiVersion": "resource.k8s.io/v1beta1"})
    assert decode_list(ResourceClaim, b'{"kind":"ResourceClaimList","items":null}') == []
    with pytest.raises(InvalidInput, match="not a ResourceClaim"):
        decode_list(ResourceClaim, json.dumps(item | {"kind": "ResourceClaim"}))


def test_structs_are_immutable() -> None:
    with pytest.raises(AttributeError):
        decode(ResourceSlice, SLICE).spec = None  # type: ignore[misc, assignment]  # that it cannot be done is the point


def test_pods_nodes_and_classes_decode_too() -> None:
    assert decode(Pod, {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "n"}}).spec.node_name == "n"
    assert decode(Node, b'{"status":{"allocatable":{"cpu":4}}}').status.allocatable == {"cpu": 4}
    assert decode(DeviceClass, b'{"spec":{"selectors":[{"cel":{"expression":"true"}}]}}').spec.selectors is not None
    assert (
        decode(
            PoolStatusRequest,
            b'{"apiVersion":"resource.k8s.io/v1alpha3","kind":"ResourcePoolStatusRequest","spec":{"driver":"d"}}',
        ).spec.limit
        == 100
    )


def test_what_is_no_json_cannot_be_encoded() -> None:
    with pytest.raises(TypeError, match="has no JSON form"):
        encode(object())
    assert encode({"a": msgspec.Raw(b"1")}) == b'{"a":1}'
