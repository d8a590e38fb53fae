"""The plain selectors: what they take, and that they guess nothing."""

from __future__ import annotations

import pytest

from dragoman_testkit.sandbox.plain_cel import Candidate, SelectorError, compile_selector

NIC = Candidate(
    driver="net.example.com",
    pool="node-1",
    name="nic0",
    body={
        "name": "nic0",
        "attributes": {
            "pool": {"string": "a && b"},
            "net.example.com/speed": {"int": 25},
            "other.example.com/up": {"bool": True},
        },
        "allowMultipleAllocations": True,
    },
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.driver == "net.example.com"', True),
        ('device.driver != "net.example.com"', False),
        ('device.attributes["net.example.com"].pool == "a && b"', True),
        ('device.attributes["net.example.com"].speed == 25', True),
        ('device.attributes["net.example.com"].speed == -25', False),
        ('device.attributes["other.example.com"].up == true', True),
        ("device.allowMultipleAllocations == true", True),
        ('device.driver == "x" && device.attributes["x"].missing == 1', False),
        (' device.driver=="net.example.com"\n&& device.attributes["net.example.com"].speed==25 ', True),
    ],
)
def test_comparisons_joined_by_and_are_known(expression: str, expected: bool) -> None:
    assert compile_selector(expression)(NIC) is expected


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "true",
        'device.driver == "a" || device.driver == "b"',
        'device.driver.startsWith("net")',
        '"x" in device.attributes',
        'device.attributes["net.example.com"].speed >= 25',
        'device.attributes["net.example.com"]["speed"] == 25',
        'device.driver == "a" &&',
        'device.driver == "a" & device.driver == "a"',
        'device.driver == "a',
        'device.driver == "\\x61"',
        'device.capacity["net.example.com"].links == 1',
        "!(device.allowMultipleAllocations == true)",
        "device.driver == 'a'",
    ],
)
def test_anything_else_is_refused_before_a_device_is_looked_at(expression: str) -> None:
    with pytest.raises(SelectorError, match="does not know"):
        compile_selector(expression)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ('device.attributes["net.example.com"].missing == 1', "no attribute net.example.com/missing"),
        ('device.attributes["elsewhere.example.com"].pool == "a"', "no attribute elsewhere.example.com/pool"),
        ('device.attributes["net.example.com"].speed == "25"', "different types"),
    ],
)
def test_what_fails_in_cel_fails_here(expression: str, fault: str) -> None:
    with pytest.raises(SelectorError, match=fault):
        compile_selector(expression)(NIC)
