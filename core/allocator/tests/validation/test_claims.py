"""Rows of api-semantics 7.16 about claims and templates: limits, modes, tolerations, constraints, parameters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman_allocator.features import Features
from dragoman_allocator.validation import check

from .apiobjects import DRIVER, Json, claim, fields, request, selector, stored, template, told

SPEC = "spec.devices"


def sub(name: str, **members: Any) -> Json:
    return {"name": name, "deviceClassName": "class", **members}


def many(count: int, **lists: Any) -> Json:
    found: Json = {name: [value] * count for name, value in lists.items()}
    return claim(**found)


def configured(parameters: Any, driver: str = DRIVER) -> Json:
    return {"opaque": {"driver": driver, "parameters": parameters}}


def test_a_claim_has_up_to_32_of_everything() -> None:
    assert fields(claim(*(request(f"r{n}") for n in range(32)))) == []
    assert fields(claim(*(request(f"r{n}") for n in range(33)))) == [(f"{SPEC}.requests", "TooMany")]
    assert fields(many(32, constraints={"matchAttribute": "a.b/c"}, config=configured({}))) == []
    assert fields(many(33, constraints={"matchAttribute": "a.b/c"})) == [(f"{SPEC}.constraints", "TooMany")]
    assert fields(many(33, config=configured({}))) == [(f"{SPEC}.config", "TooMany")]
    assert fields(claim(request(selectors=[selector("true")] * 32))) == []
    path = f"{SPEC}.requests[0].exactly.selectors"
    assert fields(claim(request(selectors=[selector("true")] * 33))) == [(path, "TooMany")]


def test_a_request_has_up_to_8_subrequests() -> None:
    assert fields(claim({"name": "r", "firstAvailable": [sub(f"s{n}") for n in range(8)]})) == []
    found = fields(claim({"name": "r", "firstAvailable": [sub(f"s{n}") for n in range(9)]}))
    assert found == [(f"{SPEC}.requests[0].firstAvailable", "TooMany")]


@pytest.mark.parametrize(("value", "error"), [
    ({}, "Required value: exactly one of `exactly` or `firstAvailable` is required"),
    ({"exactly": {"deviceClassName": "class"}, "firstAvailable": [sub("s")]},
     "Invalid value: None: exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"),
])  # fmt: skip
def test_a_request_is_exact_or_a_list(value: Json, error: str) -> None:
    assert told(claim({"name": "r", **value})) == [f"{SPEC}.requests[0]: {error}"]


@pytest.mark.parametrize(("members", "error"), [
    ({"count": 2**40}, []),
    ({"count": -1}, ["count: Invalid value: -1: must be greater than zero"]),
    ({"allocationMode": "All"}, []),
    ({"allocationMode": "All", "count": 1},
     ["count: Invalid value: 1: must not be specified when allocationMode is 'All'"]),
    ({"allocationMode": "Some"},
     ['allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"']),
])  # fmt: skip
def test_modes_and_counts(members: Json, error: list[str]) -> None:
    assert told(claim(request(**members))) == [f"{SPEC}.requests[0].exactly.{text}" for text in error]


def test_admin_access_needs_the_label_of_the_namespace() -> None:
    wanted = claim(request(adminAccess=True))
    assert told(wanted) == [
        f"{SPEC}.requests[0].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    ]
    assert told(wanted, admin=True) == []
    assert told(claim(request(adminAccess=False))) == []


def test_the_number_of_tolerations_is_not_limited() -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute"}
    assert told(claim(request(tolerations=[toleration] * 17))) == []


@pytest.mark.parametrize(("toleration", "error"), [
    ({"value": "v"}, []),
    ({"key": "k", "operator": "Exists", "value": "v"},
     ['value: Invalid value: "v": must be empty for operator `Exists`']),
    ({"key": "k", "operator": "In"}, ['operator: Unsupported value: "In": supported values: "Equal", "Exists"']),
    ({"key": "k", "effect": "Never"},
     ['effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"']),
])  # fmt: skip
def test_tolerations(toleration: Json, error: list[str]) -> None:
    path = f"{SPEC}.requests[0].exactly.tolerations[0]"
    assert told(claim(request(tolerations=[toleration]))) == [f"{path}.{text}" for text in error]


@pytest.mark.parametrize(("constraint", "error"), [
    ({"matchAttribute": "a.b/c", "distinctAttribute": "a.b/d"}, []),
    ({}, [(f"{SPEC}.constraints[0]", "Required")]),
    ({"requests": ["r"], "matchAttribute": "a.b/c"}, []),
    ({"requests": ["other"], "matchAttribute": "a.b/c"}, [(f"{SPEC}.constraints[0].requests[0]", "Invalid")]),
    ({"requests": ["r", "r"], "matchAttribute": "a.b/c"}, [(f"{SPEC}.constraints[0].requests[1]", "Duplicate")]),
])  # fmt: skip
def test_constraints(constraint: Json, error: list[tuple[str, str]]) -> None:
    assert fields(claim(constraints=[constraint])) == error


def test_a_constraint_needs_a_match_where_capacity_is_not_shared() -> None:
    found = fields(claim(constraints=[{"distinctAttribute": "a.b/c"}]), gates=Features.of("1.35"))
    assert found == [(f"{SPEC}.constraints[0].matchAttribute", "Required")]


def test_capacity_requests_are_not_checked() -> None:
    assert told(claim(request(capacity={"requests": {"!!bad": "-1"}}))) == []


@pytest.mark.parametrize(("parameters", "error"), [
    ({"p": "x" * (10_240 - 8)}, []),
    ({"p": "x" * (10_240 - 7)}, ["Too long: may not be more than 10240 bytes"]),
    ([], ['Invalid value: "<value omitted>": must be a valid JSON object']),
    (None, ["Required value"]),
])  # fmt: skip
def test_parameters_are_objects_of_up_to_10_kib(parameters: Any, error: list[str]) -> None:
    path = f"{SPEC}.config[0].opaque.parameters"
    assert told(claim(config=[configured(parameters)])) == [f"{path}: {text}" for text in error]


@pytest.mark.parametrize(("number", "good"), [
    ("1.7976931348623157e308", True),
    ("1e-400", True),
    ("1e309", False),
    ("-" + "1" * 310, False),
])  # fmt: skip
def test_numbers_in_parameters_are_ones_of_64_bits(number: str, good: bool) -> None:
    """The API server reads parameters into Go's ``any``, which makes a ``float64`` of every number."""
    text = json.dumps(claim(config=[configured({"a": "N"})])).replace('"N"', number)
    words = f"error parsing data as JSON: json: cannot unmarshal number {number} into Go value of type float64"
    wanted = [] if good else [f'{SPEC}.config[0].opaque.parameters: Invalid value: "<value omitted>": {words}']
    assert [str(error) for error in check(text.encode()).errors] == wanted


@pytest.mark.parametrize(("expression", "fault"), [
    ("int('x') == 1", "type conversion error from 'string' to 'int'"),
    ("uint(-1) == 1u", "unsigned integer overflow"),
])  # fmt: skip
def test_a_fault_in_constants_is_an_internal_error(expression: str, fault: str) -> None:
    """The API server words it so: the expression is good, but no program can be made of it."""
    assert told(claim(request(selectors=[selector(expression)]))) == [
        f"{SPEC}.requests[0].exactly.selectors[0].cel.expression: Internal error: program instantiation failed: {fault}"
    ]


def test_expressions_have_up_to_10_kib() -> None:
    longest = "true" + " " * (10_240 - 4)
    assert told(claim(request(selectors=[selector(longest)]))) == []
    assert told(claim(request(selectors=[selector(longest + " ")]))) == [
        f"{SPEC}.requests[0].exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes"
    ]


def test_list_functions_need_the_gate_of_lists() -> None:
    found = claim(request(selectors=[selector('device.attributes["a.b"].c.includes("x")')]))
    assert told(found) == []
    (error,) = told(found, gates=Features())
    assert "undeclared reference to 'includes'" in error


def derived(*names: str, expression: str = "device.driver") -> list[Json]:
    return [{"name": name, "expression": expression} for name in names]


EVERYWHERE = [{"matchAttribute": "a.b/c"}]
ATTRIBUTES = f"{SPEC}.requests[0].exactly.derivedAttributes"


@pytest.mark.parametrize(("attributes", "constraints", "error"), [
    (derived("a.b/c"), EVERYWHERE, []),
    (derived("a.b/c"), [{"requests": ["r"], "matchAttribute": "a.b/c"}], []),
    (derived("a.b/c"), [{"requests": ["other"], "matchAttribute": "a.b/c"}], [("[0].name", "Invalid")]),
    (derived("a.b/c"), [], [("[0].name", "Invalid")]),
    (derived("a.b/c", "a.b/c"), EVERYWHERE, [("[1]", "Duplicate")]),
    (derived("a.b/c", expression="1.5"), EVERYWHERE, [("[0].expression", "Invalid")]),
    (derived("a.b/c", expression='quantity("1")'), EVERYWHERE, [("[0].expression", "Invalid")]),
    (derived("a.b/c", expression=""), EVERYWHERE, [("[0].expression", "Required")]),
])  # fmt: skip
def test_derived_attributes(attributes: list[Json], constraints: list[Json], error: list[tuple[str, str]]) -> None:
    found = fields(claim(request(derivedAttributes=attributes), request("other"), constraints=constraints))
    assert found == [(ATTRIBUTES + where, kind) for where, kind in error]


@pytest.mark.parametrize(("count", "error"), [(32, []), (33, [(ATTRIBUTES, "TooMany")])])
def test_a_request_derives_up_to_32_attributes(count: int, error: list[tuple[str, str]]) -> None:
    names = [f"a.b/c{number}" for number in range(count)]
    found = claim(request(derivedAttributes=derived(*names)), constraints=[{"matchAttribute": n} for n in names[:32]])
    assert [one for one in fields(found) if one[1] != "Invalid"] == error


def test_a_subrequest_may_use_constraints_of_its_parent() -> None:
    found = sub("s", derivedAttributes=derived("a.b/c"))
    named = [{"requests": ["r"], "matchAttribute": "a.b/c"}]
    assert fields(claim({"name": "r", "firstAvailable": [found]}, constraints=named)) == []


def test_the_spec_of_a_claim_never_changes() -> None:
    old, new = stored(claim()), stored(claim(request("other")))
    assert fields(new, old) == [("spec", "Invalid")]
    assert told(new, old) == ["spec: Invalid value: None: field is immutable"]
    assert fields(old, old) == []


def test_a_template_is_checked_again_when_it_changes() -> None:
    old, new = stored(template()), stored(template(request("Other")))
    assert fields(new, old) == [("spec", "Invalid"), ("spec.spec.devices.requests[0].name", "Invalid")]


def test_a_template_has_labels_and_annotations_only() -> None:
    assert fields(template(metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}})) == []
    assert told(template(metadata={"name": "x"})) == ["spec.metadata.name: Forbidden: cannot be set"]


def test_requests_of_v1beta1_have_the_paths_of_v1_but_for_declared_rules() -> None:
    flat = {"name": "r", "deviceClassName": "X", "tolerations": [{"operator": "In"}]}
    assert fields(claim(flat, version="v1beta1")) == [
        (f"{SPEC}.requests[0].exactly.deviceClassName", "Invalid"),
        (f"{SPEC}.requests[0].tolerations[0].operator", "NotSupported"),
    ]
