from typing import Any

import pytest

from dragoman_allocator.decode import decode, decode_list
from dragoman_allocator.errors import InvalidMember
from dragoman_allocator.objects import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice

OLD = {"apiVersion": "resource.k8s.io/v1beta1"}
INNER: dict[str, Any] = {
    "attributes": {"a": {"int": 1}},
    "capacity": {"m": {"value": "1Gi"}},
    "consumesCounters": [{"counterSet": "c", "counters": {"x": {"value": "1"}}}],
    "taints": [{"key": "k", "effect": "NoExecute"}],
    "allNodes": True,
    "allowMultipleAllocations": True,
}
REQUEST: dict[str, Any] = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "capacity": {"requests": {"m": "1Gi"}},
    "derivedAttributes": [{"name": "a/b", "expression": "1"}],
}


def _claim(request: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": [request]}}}


def test_a_v1beta1_device_has_its_members_in_basic() -> None:
    spec = {"driver": "d", "pool": {"name": "p"}, "nodeName": "n"}
    old = OLD | {"spec": spec | {"devices": [{"name": "d1", "basic": INNER}, {"name": "d2"}]}}
    assert decode(ResourceSlice, old) == decode(
        ResourceSlice, {"spec": spec | {"devices": [{"name": "d1", **INNER}, {"name": "d2"}]}}
    )


def test_an_empty_node_name_and_false_for_all_nodes_mean_not_set_in_v1beta1_only() -> None:
    spec: dict[str, Any] = {"driver": "d", "nodeName": "", "allNodes": False}
    assert decode(ResourceSlice, OLD | {"spec": spec}) == decode(ResourceSlice, {"spec": {"driver": "d"}})
    assert decode(ResourceSlice, {"spec": spec}).spec.all_nodes is False


def test_a_v1beta1_request_has_the_members_of_exactly() -> None:
    new = decode(ResourceClaim, _claim({"name": "r", "exactly": REQUEST}))
    assert decode(ResourceClaim, OLD | _claim({"name": "r", **REQUEST})) == new
    template = decode(ResourceClaimTemplate, OLD | {"spec": _claim({"name": "r", **REQUEST})})
    assert template.spec.spec == new.spec


def test_a_v1beta1_request_with_alternatives_has_no_exactly() -> None:
    request = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
    assert decode(ResourceClaim, OLD | _claim(request | {"deviceClassName": "", "count": 0})) == decode(
        ResourceClaim, _claim(request)
    )


@pytest.mark.parametrize(
    "member", [{"adminAccess": False}, {"selectors": []}, {"allocationMode": "All"}, {"capacity": {}}]
)
def test_any_member_that_is_set_makes_an_exact_request_in_v1beta1(member: dict[str, Any]) -> None:
    assert decode(ResourceClaim, OLD | _claim({"name": "r", **member})) == decode(
        ResourceClaim, _claim({"name": "r", "exactly": member})
    )


def test_a_list_may_mix_versions() -> None:
    old, new = OLD | _claim({"name": "r", **REQUEST}), _claim({"name": "r", "exactly": REQUEST})
    first, second = decode_list(ResourceClaim, [old, new])
    assert first == second


def test_a_class_has_one_shape_in_all_versions() -> None:
    spec = {"spec": {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": "a/b"}}
    assert decode(DeviceClass, OLD | spec) == decode(DeviceClass, spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"devices": {}}, "spec.devices: expected a list, not dict"),
        ({"devices": [{"name": "d", "basic": []}]}, r"spec.devices\[0\].basic: expected an object, not list"),
        ({"devices": [7]}, r"spec.devices\[0\]: expected an object, not int"),
        ([], "spec: expected an object, not list"),
    ],
)
def test_a_wrong_part_of_v1beta1_is_named_by_its_path(spec: Any, message: str) -> None:
    with pytest.raises(InvalidMember, match=f"^{message}"):
        decode(ResourceSlice, OLD | {"spec": spec})


@pytest.mark.parametrize(("member", "value"), [("nodeName", 0), ("nodeName", False), ("allNodes", 0), ("allNodes", "")])
def test_a_member_of_a_slice_of_a_wrong_type_is_refused_though_it_looks_unset(member: str, value: Any) -> None:
    with pytest.raises(InvalidMember, match=rf"spec\.{member}: expected"):
        decode(ResourceSlice, OLD | {"spec": {member: value}})


@pytest.mark.parametrize(("member", "value"), [("deviceClassName", 0), ("allocationMode", False), ("count", "")])
def test_a_member_of_a_request_of_a_wrong_type_is_refused_though_it_looks_unset(member: str, value: Any) -> None:
    with pytest.raises(InvalidMember, match=rf"requests\[0\]\.exactly\.{member}: expected"):
        decode(ResourceClaim, OLD | _claim({"name": "r", member: value}))
