"""Rows of api-semantics 7.16 and 1.5 about request policies."""

from __future__ import annotations

import pytest

from dragoman_allocator.features import Features

from .apiobjects import ALL, Json, device, shareable, slice_, told

FRACTIONS_OFF = Features.of({"DRAConsumableCapacity": True})
POLICY = "spec.devices[0].capacity[mem].requestPolicy"


def refused(value: str, policy: Json, gates: Features = FRACTIONS_OFF) -> list[str]:
    return [text.removeprefix(POLICY) for text in told(slice_(shareable(value, policy)), gates=gates)]


@pytest.mark.parametrize("policy", [
    {},
    {"default": "11"},
    {"default": "1", "validRange": {"min": "-1"}},
    {"default": "1", "validRange": {"min": "1", "max": "10"}},
    {"default": "1", "validRange": {"min": "1", "step": "3", "max": "10"}},
    {"default": "4", "validValues": ["2", "4", "8"]},
])  # fmt: skip
def test_policies_of_a_capacity_of_10_that_are_good(policy: Json) -> None:
    assert refused("10", policy) == []


@pytest.mark.parametrize(("policy", "error"), [
    ({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}},
     ': Forbidden: exactly one policy can be specified, cannot specify "validValues" and "validRange"'
     " at the same time"),
    ({"validValues": ["1"]}, ".default: Required value: required when validValues is defined"),
    ({"validRange": {"min": "1"}}, ".default: Required value: required when validRange is defined"),
    ({"default": "1", "validRange": {}}, ".validRange.min: Required value: required when validRange is defined"),
    ({"default": "3", "validValues": ["1", "2"]},
     '.validValues: Invalid value: "3": default value is not valid according to the requestPolicy'),
    ({"default": "1", "validValues": ["1", "11"]},
     '.validValues[1]: Invalid value: "11": option is larger than capacity value: 10'),
    ({"default": "1", "validValues": ["2", "1"]},
     '.validValues[1]: Invalid value: "1": values must be sorted in ascending order'),
    ({"default": "1", "validRange": {"min": "1", "max": "11"}},
     '.validRange.max: Invalid value: "11": max is larger than capacity value: 10'),
    ({"default": "2", "validRange": {"min": "1", "step": "3"}},
     '.validRange.step: Invalid value: "2": value is not a multiple of a given step (3) from (1)'),
    ({"default": "1", "validRange": {"min": "-1", "step": "1"}},
     '.validRange.min: Invalid value: "-1": must be greater than or equal to 0'),
    ({"default": "1", "validRange": {"min": "1", "step": "0"}},
     '.validRange.step: Invalid value: "0": must be greater than zero'),
])  # fmt: skip
def test_policies_of_a_capacity_of_10_that_are_refused(policy: Json, error: str) -> None:
    assert refused("10", policy) == [error]


def test_up_to_ten_values() -> None:
    assert refused("100", {"default": "1", "validValues": [str(n) for n in range(1, 11)]}) == []
    assert ".validValues: Too many: 11: must have at most 10 items" in refused(
        "100", {"default": "1", "validValues": [str(n) for n in range(1, 12)]}
    )


def test_bounds_beyond_64_bits_only_matter_with_a_step() -> None:
    beyond = str(2**63)
    assert refused(beyond, {"default": "1", "validRange": {"min": "1", "max": beyond}}) == []
    assert refused(beyond, {"default": "1", "validRange": {"min": "1", "max": beyond, "step": "1"}}) == [
        f'.validRange.max: Invalid value: "{beyond}": must not be larger than 9223372036854775807'
    ]


@pytest.mark.parametrize("values", [["1100m", "1200m"], ["1", "1000m"]])
def test_equal_values_are_equal_when_rounded_without_fractions_and_in_text_with_them(values: list[str]) -> None:
    policy = {"default": values[1], "validValues": values}
    (found,) = refused("10", policy)
    assert found.startswith(".validValues[1]: Duplicate value")
    assert refused("10", policy, ALL) == []


def test_amounts_beyond_64_bits_make_those_before_them_round_as_upstream_does() -> None:
    # -1.5 rounds to 0 once it was compared with 0.5Ki, which upstream holds as a decimal of any size
    policy = {"default": "0", "validValues": ["0", "-1.5", "0.5Ki"]}
    assert '.validValues[1]: Duplicate value: "0"' in refused("1000", policy)


def test_fractions_are_exact_in_thousandths_with_the_gate() -> None:
    policy = {"default": "1500m", "validRange": {"min": "500m", "step": "500m"}}
    assert refused("10", policy, ALL) == []
    assert refused("10", {**policy, "default": "1600m"}, ALL) == [
        '.validRange.step: Invalid value: "1600m": value is not a multiple of a given step (500m) from (500m)'
    ]
    assert refused("10", {**policy, "default": "0.5001"}, ALL) == [
        '.validRange.default: Invalid value: "500100u": value cannot be represented as a milli value'
    ]


def test_a_policy_needs_a_shareable_device() -> None:
    found = slice_(device(capacity={"mem": {"value": "1", "requestPolicy": {}}}))
    assert told(found) == [f"{POLICY}: Forbidden: allowMultipleAllocations must be true"]
