"""Strict decoding: what is taken, what is refused and where, and that encoding is its inverse."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.schema import UnusableSchema, check_schema, decode, encode, json_faults, keys
from dragoman_hookspecs import Fault, InvalidConfig


class Mode(enum.Enum):
    BRIDGE = "bridge"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    vendor_ids: frozenset[str] = frozenset()
    drivers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        faults = [Fault(f"drivers[{i}]", "is empty") for i, driver in enumerate(self.drivers) if not driver]
        if faults:
            raise InvalidConfig(faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    name: str
    filter: Filter = field(default_factory=Filter)
    weight: int = 1
    share: float = 1.0
    active: bool = True
    mode: Mode = Mode.BRIDGE
    effect: Literal["keep", "drop"] = "keep"
    port: int | str = 0
    note: str | None = None
    sysctl_ipv4: Mapping[str, str] = field(default_factory=dict)
    root: Path = Path("/")
    anything: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    pools: tuple[Pool, ...] = ()
    by_name: Mapping[str, Filter] = field(default_factory=dict)


def faults(cls: type, data: object, path: str = "") -> list[str]:
    with pytest.raises(InvalidConfig) as caught:
        decode(cls, data, path)
    return [str(fault) for fault in caught.value.faults]


def test_every_kind_of_field_is_read_from_its_json_form() -> None:
    data = {
        "name": "a",
        "filter": {"vendorIDs": ["15b3", "8086", "15b3"], "drivers": ["mlx5_core"]},
        "weight": 3,
        "share": 2,
        "active": False,
        "mode": "private",
        "effect": "drop",
        "port": "http",
        "note": "x",
        "sysctlIPv4": {"rp_filter": "1"},
        "root": "/host",
        "anything": {"a": [1]},
    }
    assert decode(Pool, data) == Pool(
        name="a",
        filter=Filter(vendor_ids=frozenset({"15b3", "8086"}), drivers=("mlx5_core",)),
        weight=3,
        share=2.0,
        active=False,
        mode=Mode.PRIVATE,
        effect="drop",
        port="http",
        note="x",
        sysctl_ipv4={"rp_filter": "1"},
        root=Path("/host"),
        anything={"a": [1]},
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "text for a number": ({"weight": "3"}, 'weight: must be a whole number, not "3"'),
    "a fraction for a whole number": ({"weight": 1.5}, "weight: must be a whole number, not 1.5"),
    "a float for a whole number": ({"weight": 1.0}, "weight: must be a whole number, not 1.0"),
    "a boolean for a number": ({"weight": True}, "weight: must be a whole number, not true"),
    "yes for a boolean": ({"active": "yes"}, 'active: must be true or false, not "yes"'),
    "a number for a boolean": ({"active": 1}, "active: must be true or false, not 1"),
    "a number for text": ({"note": 7}, "note: must be text, not 7"),
    "null for text": ({"name": None}, "name: must be text, not null"),
    "text for a list": ({"filter": {"drivers": "a"}}, 'filter.drivers: must be a list, not "a"'),
    "an object for a list": ({"filter": {"drivers": {}}}, "filter.drivers: must be a list, not an object"),
    "a list for an object": ({"filter": []}, "filter: must be an object, not a list"),
    "an element": ({"filter": {"vendorIDs": ["a", 2]}}, "filter.vendorIDs[1]: must be text, not 2"),
    "a value of a map": ({"sysctlIPv4": {"rp_filter": 1}}, "sysctlIPv4.rp_filter: must be text, not 1"),
    "a key of a map that is no word": ({"sysctlIPv4": {"a/b": 1}}, 'sysctlIPv4["a/b"]: must be text, not 1'),
    "an unknown choice": ({"mode": "vepa"}, "mode: must be 'bridge' or 'private', not \"vepa\""),
    "an unknown literal": ({"effect": "x"}, "effect: must be 'keep' or 'drop', not \"x\""),
    "no alternative": ({"port": 1.5}, "port: must be a whole number or text, not 1.5"),
    "the name of the field": ({"sysctl_ipv4": {}}, "sysctl_ipv4: is not a known key; did you mean sysctlIPv4?"),
    "another case": ({"Weight": 1}, "Weight: is not a known key; did you mean weight?"),
    "an unknown key": (
        {"filter": {"zzz": 1}},
        "filter.zzz: is not a known key; known are vendorIDs, drivers",
    ),
    "the object's own check": ({"filter": {"drivers": ["a", ""]}}, "filter.drivers[1]: is empty"),
    "a date": ({"note": dt.date(2026, 1, 1)}, "note: is a Python date, which JSON does not have; put it in quotes"),
    "a number as key": ({"sysctlIPv4": {1: "x"}}, "sysctlIPv4: has a key that is not text: 1; put it in quotes"),
    "not a number": ({"share": float("nan")}, "share: is nan, which JSON does not have"),
    "broken text": ({"note": "\ud800"}, "note: holds bytes that are not UTF-8"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_exactly_right_is_refused_with_its_path(what: str) -> None:
    data, message = REFUSED[what]
    assert faults(Pool, {"name": "a", **data}) == [message]


def test_all_faults_are_told_at_once_below_the_given_path() -> None:
    data = {"pools": [{"name": "a"}, {"filter": {"drivers": ["", ""]}, "weight": "x"}], "byName": {"b": {"c": 1}}}
    assert faults(Root, data, "spec") == [
        "spec.pools[1].name: is missing",
        "spec.pools[1].filter.drivers[0]: is empty",
        "spec.pools[1].filter.drivers[1]: is empty",
        'spec.pools[1].weight: must be a whole number, not "x"',
        "spec.byName.b.c: is not a known key; known are vendorIDs, drivers",
    ]


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_a_whole_that_is_no_object_is_refused(data: object) -> None:
    (fault,) = faults(Root, data, "spec")
    assert fault.startswith("spec: must be an object, not ")


def test_data_that_contains_itself_is_refused() -> None:
    data: dict[str, Any] = {}
    data["pools"] = data
    assert faults(Root, data) == ["is nested too deeply"]


def test_a_check_that_breaks_is_a_fault_of_the_schema_whatever_it_raises() -> None:
    with pytest.raises(UnusableSchema, match="a check of Breaking broke: SystemExit: 3"):
        decode(Breaking, {})


@dataclass(frozen=True)
class Breaking:
    def __post_init__(self) -> None:
        raise SystemExit(3)


class Opaque:
    pass


@dataclass(frozen=True)
class WithOpaque:
    thing: Opaque


@dataclass(frozen=True)
class WithUnknownName:
    thing: Thing = None  # type: ignore[name-defined]  # noqa: F821  # the mistake itself


@dataclass(frozen=True)
class AroundUnknownName:
    things: tuple[WithUnknownName, ...] = ()


@pytest.mark.parametrize("cls", [WithOpaque, Opaque, dict, 3, WithUnknownName, AroundUnknownName])
def test_a_class_that_json_cannot_fill_is_refused_before_any_data(cls: Any) -> None:
    with pytest.raises(UnusableSchema):
        check_schema(cls)


def test_keys_are_the_json_names_in_order() -> None:
    assert keys(Filter) == ("vendorIDs", "drivers")
    assert keys(Root) == ("pools", "byName")


def test_encoding_leaves_defaults_out() -> None:
    assert encode(Pool(name="a")) == {"name": "a"}
    assert encode(Root(pools=(Pool(name="a", filter=Filter(vendor_ids=frozenset({"b", "a"}))),))) == {
        "pools": [{"name": "a", "filter": {"vendorIDs": ["a", "b"]}}]
    }


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
FILTERS = st.builds(
    Filter, vendor_ids=st.frozensets(TEXT, max_size=3), drivers=st.lists(TEXT.filter(bool), max_size=3).map(tuple)
)
POOLS = st.builds(
    Pool,
    name=TEXT,
    filter=FILTERS,
    weight=st.integers(),
    share=st.floats(allow_nan=False, allow_infinity=False),
    active=st.booleans(),
    mode=st.sampled_from(Mode),
    effect=st.sampled_from(["keep", "drop"]),
    port=st.one_of(st.integers(), TEXT),
    note=st.none() | TEXT,
    sysctl_ipv4=st.dictionaries(TEXT, TEXT, max_size=3),
    root=TEXT.map(lambda text: Path("/") / text.replace("\x00", "")),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.builds(Root, pools=st.lists(POOLS, max_size=3).map(tuple), by_name=st.dictionaries(TEXT, FILTERS, max_size=2))
)
def test_what_was_encoded_decodes_to_an_equal_object(root: Root) -> None:
    data = encode(root)
    assert list(json_faults(data)) == []
    assert decode(Root, data) == root


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*keys(Pool), "other", "pools"]), JSON, max_size=4))
def test_any_json_is_decoded_or_refused_with_paths_into_it(data: dict[str, Any]) -> None:
    try:
        outcome: Pool | tuple[Fault, ...] = decode(Pool, data)
    except InvalidConfig as error:
        outcome = error.faults
    if isinstance(outcome, Pool):
        assert outcome.name == data["name"]
    else:
        assert {fault.path.split(".")[0].split("[")[0] for fault in outcome} <= {*data, "name"}
        assert outcome
