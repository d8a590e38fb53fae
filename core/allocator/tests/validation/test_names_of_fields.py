"""Rows of api-semantics 7.16 about names: attributes, drivers, pools, fully qualified names."""

from __future__ import annotations

import pytest

from .apiobjects import claim, device, fields, request, slice_


@pytest.mark.parametrize("name", ["a/b/c", "a//", "A_b9", "Dra.Example.com/kind"])
def test_attributes_and_capacities_may_be_called(name: str) -> None:
    assert fields(slice_(device(attributes={name: {"int": 1}}))) == []
    assert fields(slice_(device(capacity={name: {"value": "1"}}))) == []


@pytest.mark.parametrize("name", ["/a", "a-b", "9a", "a" * 33, "a" * 64 + "/b", "a/"])
def test_attributes_and_capacities_may_not_be_called(name: str) -> None:
    assert {field for field, _ in fields(slice_(device(attributes={name: {"int": 1}})))} == {
        "spec.devices[0].attributes"
    }
    assert {field for field, _ in fields(slice_(device(capacity={name: {"value": "1"}})))} == {
        "spec.devices[0].capacity"
    }


@pytest.mark.parametrize(("driver", "error"), [
    ("DRA.example.com", []),
    ("\u0130.\u212a", []),  # the server's lower case makes ASCII letters of both
    ("\u017f", [("spec.driver", "Invalid")]),
    ("a_b", [("spec.driver", "Invalid")]),
    ("", [("spec.driver", "Required")]),
    ("a" * 64, [("spec.driver", "TooLong")]),
])  # fmt: skip
def test_drivers(driver: str, error: list[tuple[str, str]]) -> None:
    assert fields(slice_(driver=driver)) == error


@pytest.mark.parametrize(("pool", "good"), [("a.b/c", True), ("a//c", False), ("A", False), ("a" * 254, False)])
def test_pools(pool: str, good: bool) -> None:
    found = {field for field, _ in fields(slice_(pool={"name": pool, "resourceSliceCount": 1}))}
    assert found == (set() if good else {"spec.pool.name"})


@pytest.mark.parametrize(("name", "good"), [("a.b/c", True), ("a/b/c", True), ("b", False), ("Dra.x/y", False)])
def test_fully_qualified_names(name: str, good: bool) -> None:
    found = fields(claim(request(), constraints=[{"matchAttribute": name}]))
    assert {field for field, _ in found} == (set() if good else {"spec.devices.constraints[0].matchAttribute"})


@pytest.mark.parametrize("name", ["A", "a.b", "", "a" * 64])
def test_devices_and_requests_have_labels_as_names(name: str) -> None:
    assert {field for field, _ in fields(slice_(device(name)))} == {"spec.devices[0].name"}
    assert {field for field, _ in fields(claim(request(name)))} == {"spec.devices.requests[0].name"}
