"""Derived attributes (api-semantics 2.9 and 7.15): which results become attributes."""

from __future__ import annotations

import pytest

from dragoman_allocator.cel import Environment
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Attribute

from .celworld import derived

SCALARS = "must evaluate to a primitive scalar (string, integer, boolean, semver)"
TOPOLOGY = "device.attributes[D].s"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f'{TOPOLOGY}.split("-")[1]', Attribute(string="1")),
        (f"{TOPOLOGY}.substring(4)", Attribute(string="1")),
        ("1 + 1", Attribute(int_=2)),
        ("true", Attribute(bool_=True)),
        ('semver("v1.2", true)', Attribute(version="1.2.0")),
        ("device.attributes[D].v", Attribute(version="1.2.3+b")),
        (f'[dyn("a"), {TOPOLOGY}]', Attribute(strings=["a", "abc-1"])),
        ("[1, 2]", Attribute(ints=[1, 2])),
        ("[true]", Attribute(bools=[True])),
        ("device.attributes[D].vs", Attribute(versions=["1.0.0", "2.0.0"])),
        ("[]", Attribute(strings=[])),
        ("dyn(optional.of(1))", Attribute(int_=1)),
    ],
)
def test_scalars_and_lists_become_attributes(expression: str, expected: Attribute) -> None:
    assert derived(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1.5", f"{SCALARS} or a list of these scalars, not double"),
        ("dyn(1.5)", "unsupported CEL return type: float64"),
        ("dyn(1u)", "unsupported CEL return type: uint64"),
        ('dyn(b"a")', "unsupported CEL return type: []uint8"),
        ('dyn(quantity("1"))', "unsupported CEL return type: *resource.Quantity"),
        ("dyn({})", "unsupported CEL return type: map[ref.Val]ref.Val"),
        ("[dyn(1), dyn(true)]", "expected list element at index 1 to be int, got bool"),
        ("[dyn(1.5)]", "unsupported list element type: float64"),
        ("device.attributes[D].nope", "no such key: nope"),
    ],
)  # fmt: skip
def test_other_results_are_errors(expression: str, expected: str) -> None:
    assert derived(expression) == expected


def test_lists_need_their_gate_in_new_expressions() -> None:
    off = Environment(Features(frozenset()), stored=False)
    text = derived("[1]", environment=off)
    assert text == f"{SCALARS}, not list(int)"
    assert derived("1", environment=off) == Attribute(int_=1)
