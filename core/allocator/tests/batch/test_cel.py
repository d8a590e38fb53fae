"""Kind ``cel`` of the batch interface."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman_allocator.batch.cel import answer
from dragoman_allocator.batch.line import Line
from dragoman_allocator.errors import InvalidInput


def ask(**members: Any) -> dict[str, Any]:
    return answer(Line(json.dumps(members).encode()))


DEVICE = {
    "driver": "d.example.com",
    "attributes": {"model": {"string": "a"}, "other.example.com/count": {"int": 3}},
    "capacity": {"memory": {"value": "2Gi"}},
    "allowMultipleAllocations": True,
}


def test_a_selector_gets_a_verdict() -> None:
    expression = 'device.attributes["d.example.com"].model == "a" && device.allowMultipleAllocations'
    assert ask(expression=expression, device=DEVICE) == {"result": True}
    bigger = 'device.capacity["d.example.com"].memory.compareTo(quantity("3Gi")) > 0'
    assert ask(expression=bigger, device=DEVICE) == {"result": False}


def test_the_two_kinds_of_errors_are_told_apart() -> None:
    assert set(ask(expression="nope", device=DEVICE)) == {"compileError"}
    missing = 'device.attributes["d.example.com"].nope'
    assert ask(expression=missing, device=DEVICE) == {"runtimeError": "no such key: nope"}


def test_a_line_without_a_device_asks_about_an_empty_one() -> None:
    assert ask(expression='device.driver == "" && device.attributes.size() == 0') == {"result": True}


def test_a_device_that_is_none_is_bad_input() -> None:
    with pytest.raises(InvalidInput, match="device"):
        ask(expression="true", device=[1])


def test_an_attribute_that_is_null_has_no_value_and_a_capacity_that_is_null_is_zero() -> None:
    expression = 'device.driver == "d.example.com"'
    broken = DEVICE | {"attributes": {"model": None}}
    assert ask(expression=expression, device=broken) == {"runtimeError": "attribute model: unsupported attribute value"}
    zero = 'device.capacity["d.example.com"].memory.isGreaterThan(quantity("0"))'
    assert ask(expression=zero, device=DEVICE | {"capacity": {"memory": None}}) == {"result": False}


def test_null_in_a_device_does_not_hide_an_error_of_the_expression() -> None:
    assert "compileError" in ask(expression="device.driver ==", device={"driver": None, "attributes": {"a": None}})
