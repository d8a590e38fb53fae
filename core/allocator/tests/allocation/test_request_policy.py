"""What a share consumes of a capacity (api-semantics 7.8)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.features import Features
from dragoman_allocator.quantity import parse

from .clusters import Cluster, Json, claim, gates, req, shareable, slice_

FRACTIONAL = gates(DRAFractionalCapacityRange=True)
OLD = Features(Features().gates, rules="1.36")
LARGEST = str(2**63 - 1)


def policy(default: str | None, *, values: list[str] | None = None, **bounds: str) -> Json:
    """A request policy."""
    built: Json = {} if default is None else {"default": default}
    if values is not None:
        built["validValues"] = values
    return {**built, "validRange": bounds} if bounds else built


def consumed(value: str, rules: Json | None, request: str | None, features: Features) -> Any:
    """Give what a share of a device with one capacity consumes, None where the device is passed over."""
    capacity = {"value": value} if rules is None else {"value": value, "requestPolicy": rules}
    cluster = Cluster([slice_("s1", shareable("d1", {"c": capacity}))], features=features)
    asked = req("r0") if request is None else req("r0", capacity={"c": request})
    if cluster.found(claim(asked)) is None:
        return None
    return (cluster.result(claim(asked)).consumed_capacity or {})["c"]


TWOS = policy("2", min="2", step="2", max="4")
ODD = policy("1", min="1", step="3")
VALUES = policy("1", values=["1", "4", "8"])
ONES = policy("1", min="1", step="1")
QUARTERS = policy("256Mi", min="256Mi", step="256Mi")
TINY = policy("0.0001", min="0.0001", step="0.0001")
OPEN = policy("1", min="1")

ROWS: list[tuple[str, Json | None, str | None, str | None]] = [
    ("10", None, None, "10"),
    ("10", {}, None, "10"),
    ("10", None, "3", "3"),
    ("10", {}, "3", "3"),
    ("10", None, "11", None),
    ("10", None, "1.500", "1.500"),
    ("8", policy("2"), None, "2"),
    ("8", policy("2"), "3", "3"),
    ("10", TWOS, None, "2"),
    ("10", TWOS, "1", "2"),
    ("10", TWOS, "2", "2"),
    ("10", TWOS, "3", "4"),
    ("10", TWOS, "4", "4"),
    ("10", TWOS, "5", None),
    ("10", TWOS, "6", None),
    ("4", policy("1", min="1", step="2"), "2", "3"),
    ("10", ODD, "6", "7"),
    ("10", ODD, "8", "10"),
    ("10", ODD, "10.5", None),
    ("8", VALUES, None, "1"),
    ("8", VALUES, "1", "1"),
    ("8", VALUES, "2", "4"),
    ("8", VALUES, "5", "8"),
    ("8", VALUES, "9", None),
    ("1", policy("0", values=["0"]), None, "0"),
    ("1", policy("0", values=["0"]), "1", None),
    ("1Gi", QUARTERS, "300Mi", "512Mi"),
    ("1Gi", QUARTERS, "100Mi", "256Mi"),
    ("10G", policy("1G", min="1G", step="1G"), "1500M", "2G"),
    ("10e9", policy("1e9", min="1e9", step="1e9"), "1500M", "2e9"),
    ("10Gi", policy("1Gi", min="1Gi", step="1G"), "1500Mi", "2073741824"),
    ("10", ONES, "1500m", "2"),
    ("10", OPEN, "1500m", "1500m"),
    ("10", OPEN, "10E", None),
    ("10", TINY, "0.00015", "1"),
    ("10", ONES, "-1", "1"),
]


@pytest.mark.parametrize(("value", "rules", "request_", "expected"), ROWS)
@pytest.mark.parametrize("features", [gates(), FRACTIONAL], ids=["off", "on"])
def test_amounts_that_the_fractional_gate_does_not_change(
    value: str, rules: Json | None, request_: str | None, expected: str | None, features: Features
) -> None:
    assert consumed(value, rules, request_, features) == expected


HALVES = policy("1", min="1", step="500m")
EVEN = policy("1", min="1", step="2")
GATED: list[tuple[str, Json, str, Features, str | None]] = [
    ("10", HALVES, "1100m", gates(), "2"),
    ("10", HALVES, "1100m", FRACTIONAL, "1500m"),
    ("10", ONES, "1.1001", gates(), "2"),
    ("10", ONES, "10P", gates(), None),
    (LARGEST, EVEN, str(2**63 - 2), gates(), LARGEST),
]


@pytest.mark.parametrize(("value", "rules", "request_", "features", "expected"), GATED)
def test_amounts_that_the_fractional_gate_changes(
    value: str, rules: Json, request_: str, features: Features, expected: str | None
) -> None:
    assert consumed(value, rules, request_, features) == expected


NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"
FATAL: list[tuple[str, Json | None, str | None, Features, str]] = [
    ("10", ONES, "1.1001", FRACTIONAL, NOT_REPRESENTABLE),
    ("10", ONES, "10E", gates(), NOT_REPRESENTABLE),
    ("10", ONES, "10P", FRACTIONAL, NOT_REPRESENTABLE),
    ("10", ONES, "10E", FRACTIONAL, NOT_REPRESENTABLE),
    (LARGEST, EVEN, str(2**63 - 2), FRACTIONAL, NOT_REPRESENTABLE),
    ("10", None, "-1", gates(), "capacity value is negative"),
    ("10", policy("-1"), None, gates(), "capacity value is negative"),
]


@pytest.mark.parametrize(("value", "rules", "request_", "features", "text"), FATAL)
def test_amounts_that_end_the_attempt(
    value: str, rules: Json | None, request_: str | None, features: Features, text: str
) -> None:
    with pytest.raises(AllocationFailed) as raised:
        consumed(value, rules, request_, features)
    begin = 'claim ns/c, request r0: checking capacity for device driver-a/p1/d1: capacity "c": '
    assert str(raised.value).startswith(begin + text)


def test_the_name_of_a_device_is_shorter_where_all_are_asked_for() -> None:
    cluster = Cluster([slice_("s1", shareable("d1", {"c": "10"}))])
    with pytest.raises(AllocationFailed, match="checking capacity for device d1: "):
        cluster.outcome(claim(req("r0", allocationMode="All", capacity={"c": "-1"})))


OLD_ROWS = [
    ("10G", policy("1G", min="1G", step="1G"), "1500M", "1953125Ki"),
    ("10e9", policy("1e9", min="1e9", step="1e9"), "1500M", "1953125Ki"),
    ("10", None, "-1", "-1"),
    ("10", ONES, "10P", None),
]


@pytest.mark.parametrize(("value", "rules", "request_", "expected"), OLD_ROWS)
def test_amounts_by_the_rules_of_1_36(value: str, rules: Json | None, request_: str, expected: str | None) -> None:
    assert consumed(value, rules, request_, OLD) == expected


def test_a_stored_default_outside_its_own_range_is_allowed() -> None:
    odd = policy("5", min="2", step="2", max="4")
    assert consumed("10", odd, None, gates()) == "5"


def test_a_capacity_of_zero_default_has_room_for_any_number() -> None:
    free = policy("0", values=["0"])
    cluster = Cluster([slice_("s1", shareable("d1", {"c": {"value": "1", "requestPolicy": free}}))])
    claims = [claim(req("r0"), name=f"c{i}") for i in range(40)]
    results = cluster.outcome(*claims).results
    assert results is not None
    taken = [r.consumed_capacity or {} for one in results for r in one.devices.results or ()]
    assert sum((parse(one["c"]) for one in taken), start=parse("0")) == parse("0")
