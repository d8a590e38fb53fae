"""Decoding: types, unknown fields, defaults, and that nothing whatever ends in a traceback."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_allocator.batch.line import Line
from dragoman_allocator.batch.validate import answer
from dragoman_allocator.validation import DecodeError, check

from .apiobjects import Json, allocated, claim, class_, device, pool_request, request, result, rule, shareable, slice_

TAINTED = device("t", attributes={"a": {"int": 1}}, taints=[{"key": "k", "effect": "None"}])
GOOD = [
    slice_(TAINTED, shareable("1", {"default": "1"})),
    claim(request(tolerations=[{"key": "k"}]), status=allocated(result())),
    class_(config=[{"opaque": {"driver": "a.b", "parameters": {}}}]),
    rule({}),
    pool_request({"poolCount": 1, "pools": []}),
]


@pytest.mark.parametrize(("spec", "text"), [
    ({"pool": {"name": 1}}, "number into Go struct field ResourcePool.spec.pool.name of type string"),
    ({"pool": {"generation": 1.5}}, "number 1.5 into Go struct field ResourcePool.spec.pool.generation of type int64"),
    ({"devices": {}}, "object into Go struct field ResourceSliceSpec.spec.devices of type []v1.Device"),
    ({"allNodes": "yes"}, "string into Go struct field ResourceSliceSpec.spec.allNodes of type bool"),
])  # fmt: skip
def test_a_value_of_a_wrong_type_is_told_in_the_words_of_the_api_server(spec: Json, text: str) -> None:
    with pytest.raises(DecodeError) as found:
        check(slice_(**{"devices": None, **spec}))
    assert str(found.value) == f"json: cannot unmarshal {text}"


@pytest.mark.parametrize(("value", "text"), [
    ("1K", "unable to parse quantity's suffix"),
    ("x", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
])  # fmt: skip
def test_a_bad_quantity(value: str, text: str) -> None:
    with pytest.raises(DecodeError) as found:
        check(slice_(device(capacity={"c": {"value": value}})))
    assert str(found.value) == text


def test_a_bad_time() -> None:
    with pytest.raises(DecodeError, match='parsing time "soon" as "2006-01-02T15:04:05Z07:00"'):
        check(rule(timeAdded="soon"))


@pytest.mark.parametrize("obj", [
    {"kind": "ResourceSlice"},
    {"apiVersion": "resource.k8s.io/v1"},
    {"apiVersion": "resource.k8s.io/v1", "kind": "Pod"},
    {"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceTaintRule"},
    {"apiVersion": "v1", "kind": "ResourceSlice"},
])  # fmt: skip
def test_an_object_of_an_unknown_kind_or_version_is_not_decoded(obj: Json) -> None:
    with pytest.raises(DecodeError):
        check(obj)


def test_unknown_fields_are_told_with_their_path() -> None:
    found = slice_(device(capacity={"c": {"value": "1", "Value": "2"}}), bogus=1)
    assert check(found).unknown == ["spec.devices[0].capacity.c.Value", "spec.bogus"]


@pytest.mark.parametrize(("written", "twice", "paths"), [
    ('"driver":', '"driver": "a", "driver":', ["spec.driver"]),
    ('"spec":', '"spec": null, "spec":', ["spec"]),
    ('"kind":', '"kind": "Pod", "kind":', ["kind"]),
    ('"int":', '"int": 1, "int": 2, "int":', ["spec.devices[0].attributes.a.int"]),
    ('"a":', '"a": {"bool": true}, "a":', ["spec.devices[0].attributes.a"]),
    ('"driver":', '"\\u0064river": "a", "driver":', ["spec.driver"]),
    ('"driver":', '"bogus": {"a": 1, "a": 2}, "Driver": 1, "driver":', []),
])  # fmt: skip
def test_members_that_stand_twice_are_told_with_their_path(written: str, twice: str, paths: list[str]) -> None:
    """The API server's decoder tells them as it tells unknown fields; of those it tells no repetition."""
    text = json.dumps(slice_(device(attributes={"a": {"int": 1}})))
    assert check(text.replace(written, twice, 1).encode()).repeated == paths


@pytest.mark.parametrize("written", [b"\xff", rb"\ud800", rb"\udc00", rb"\uDBFF\n", b"\xed\xa0\x80", rb"\\\ud800"])
def test_what_is_no_text_is_read_as_a_replacement(written: bytes) -> None:
    """The API server's decoder takes bytes that are not UTF-8 and half a surrogate pair, and reads U+FFFD."""
    config = [{"opaque": {"driver": "a.b", "parameters": {"k": "TEXT"}}}]
    good = claim(request(), config=config)
    good["metadata"] |= {"annotations": {"k": "TEXT"}}
    assert check(json.dumps(good).encode().replace(b"TEXT", written)).errors == []
    found = check(json.dumps(slice_(driver="TEXT")).encode().replace(b"TEXT", written)).errors
    assert [(error.field, error.type) for error in found] == [("spec.driver", "FieldValueInvalid")]
    assert "\ufffd" in found[0].bad_value
    unknown = check(json.dumps(slice_(TEXT=1)).encode().replace(b"TEXT", written)).unknown
    assert len(unknown) == 1
    assert "\ufffd" in unknown[0]


@pytest.mark.parametrize("where", ["parameters", "bogus"])
def test_no_depth_ends_in_a_traceback(where: str) -> None:
    text = json.dumps(class_(config=[{"opaque": {"driver": "a.b", "parameters": {}, where: "DEEP"}}]))
    told = set()
    for depth in (*range(sys.getrecursionlimit() - 120, sys.getrecursionlimit() + 10), 100_000):
        try:
            check(text.replace('"DEEP"', "[" * depth + "]" * depth).encode())
        except DecodeError as error:
            told.add(str(error))
    assert told == {"the object is nested too deeply"}


def test_an_object_given_as_a_dict_is_read_as_its_text_would_be() -> None:
    assert check(slice_(driver="\ud800")).errors == check(json.dumps(slice_(driver="\ud800")).encode()).errors
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DecodeError, match="nested too deeply"):
        check(slice_(bogus=deep))


def test_pairs_and_what_looks_like_half_of_one_stay_as_they_are() -> None:
    text = json.dumps(slice_(driver="TEXT")).encode()
    assert check(text.replace(b"TEXT", rb"\ud83d\ude00")).errors[0].bad_value == "\U0001f600"
    assert check(text.replace(b"TEXT", rb"\\ud800")).errors[0].bad_value == r"\ud800"
    assert check(text.replace(b"TEXT", rb"\ud800\ud83d\ude00")).errors[0].bad_value == "\ufffd\U0001f600"


def test_parameters_may_repeat_members() -> None:
    text = json.dumps(class_(config=[{"opaque": {"driver": "a.b", "parameters": {"k": 1}}}]))
    assert check(text.replace('"k": 1', '"k": 1, "k": 2').encode()).repeated == []


def test_a_line_answers_what_stands_twice() -> None:
    line = json.dumps({"object": slice_(extra=1)}).replace('"driver":', '"driver": "a", "driver":')
    assert answer(Line(line.encode()))["strictErrors"] == [
        'duplicate field "spec.driver"',
        'unknown field "spec.extra"',
    ]


def test_only_the_first_hundred_unknown_fields_are_told() -> None:
    spec: Json = {f"k{number:03}": 1 for number in reversed(range(150))}
    found = slice_(**spec)
    assert check(found).unknown == [f"spec.k{number:03}" for number in range(149, 49, -1)]


def test_null_is_as_good_as_nothing() -> None:
    found = slice_(device(attributes=None, taints=None), sharedCounters=None)
    found["spec"]["nodeName"] = None
    assert check(found).errors == []


@pytest.mark.parametrize("obj", GOOD)
def test_good_objects_are_good(obj: Json) -> None:
    assert check(obj).errors == []
    assert check(json.dumps(obj).encode()).errors == []


def test_a_line_answers_errors_sorted_with_plain_values() -> None:
    line = {"object": slice_(device("A"), extra=1, pool={"name": "p"}), "gates": "all"}
    found = answer(Line(json.dumps(line).encode()))
    assert [(error["field"], error["badValue"]) for error in found["errors"]] == [
        ("spec.devices[0].name", "A"),
        ("spec.pool.resourceSliceCount", 0),
    ]
    assert found["strictErrors"] == ['unknown field "spec.extra"']


def test_a_line_answers_that_an_object_does_not_decode() -> None:
    found = answer(Line(json.dumps({"object": slice_(), "old": slice_(driver=1)}).encode()))
    assert found["errors"] == []
    assert found["decodeError"].startswith("old: json: cannot unmarshal number")


@pytest.mark.parametrize("line", [b"{}", b'{"object":null}'])
def test_an_object_that_is_not_there_does_not_decode(line: bytes) -> None:
    assert answer(Line(line)) == {"errors": [], "decodeError": "object is missing"}


SPOILERS = st.recursive(
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def spoil(value: Any, steps: list[int], spoiler: Any) -> Any:
    """Put something else somewhere into a value."""
    if not steps or not isinstance(value, dict | list) or not value:
        return spoiler
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[steps[0] % len(keys)]
    value[key] = spoil(value[key], steps[1:], spoiler)
    return value


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.sampled_from(GOOD), st.lists(st.integers(0, 9), min_size=1, max_size=9), SPOILERS, st.booleans())
def test_whatever_stands_in_an_object_it_is_told_or_good(
    obj: Json, steps: list[int], spoiler: Any, update: bool
) -> None:
    spoilt = spoil(copy.deepcopy(obj), steps, spoiler)
    found = answer(Line(json.dumps({"object": spoilt, "old": obj if update else None}).encode()))
    assert found["errors"] == [] if found.get("decodeError") else all(error["field"] for error in found["errors"])
