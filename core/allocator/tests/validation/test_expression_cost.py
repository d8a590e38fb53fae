"""Estimated costs: the figures of api-semantics 3.7, which were read from Kubernetes 0.37.2, and the limits of 7.16."""

from __future__ import annotations

import pytest

from dragoman_allocator.cel import CompileError, Environment

from .apiobjects import ALL, Json, claim, request, selector, told

D = '"dra.example.com"'
A = f"device.attributes[{D}]"
C = f"device.capacity[{D}]"
TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
LARGER = f'{C}.name.isGreaterThan(quantity("1Ki"))'


def nested(depth: int, body: str) -> str:
    for number in range(depth):
        body = f"{TEN}.all(x{number}, {body})"
    return body


@pytest.mark.parametrize(("expression", "cost"), [
    ('device.driver == ""', 2),
    (f"device.driver == {D}", 4),
    (f"{D} in device.attributes", 3),
    (f"{A}.name", 4),
    (f'{A}["name"]', 4),
    (f"{A}.name > 0", 5),
    (f'{A}.name == "abcd"', 5),
    (f"{A}.names.size() == 2", 6),
    (f'{A}.name.isGreaterThan(semver("0.0.1"))', 6),
    (LARGER, 6),
    (f'{A}.name.isGreaterThan(semver("v0.0.1", true)) && isSemver("v1.0.0", true)', 7),
    (f'"name" in {C} && {LARGER}', 10),
    (f'!("name" in {C}) || {LARGER}', 11),
    (f"{A}.a && {A}.b && {A}.c", 12),
    (f"cel.bind(dra, {A}, dra.name)", 15),
    (f'{A}.s.matches("[^b]?xyz")', 18),
    (f'{A}.s.split(",").size() >= 2', 19),
    (f'{A}.name.includes("abcd")', 68),
    (f'{A}.name.includes(semver("1.0.0"))', 69),
    (f"1 in {A}.names", 68),
    (nested(2, "true"), 451),
    (f'{A}.exists_one(x, x == "a")', 133),
    (f"device.attributes.exists_one(x, x == {D})", 164),
    (f'{A}.names.all(x, x != "")', 261),
    (f"{A}.names.exists(x, x > 0)", 389),
    (f'{A}.names.all(x, x.isGreaterThan(semver("0.0.1")))', 389),
    (nested(7, "int('1'.find('[0-9]*')) < 100"), 85_555_551),
])  # fmt: skip
def test_an_expression_costs_at_most(expression: str, cost: int) -> None:
    environment = Environment(ALL, stored=False)
    try:
        environment.compile(expression)
    except CompileError:
        environment.compile(expression, derived=True)
    assert environment.estimate(expression) == cost


def test_an_expression_that_may_cost_more_than_a_million_is_refused() -> None:
    path = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    expensive = nested(7, "int('1'.find('[0-9]*')) < 100")
    assert told(claim(request(selectors=[selector(expensive)]))) == [
        f"{path}: Forbidden: too complex, exceeds cost limit"
    ]


FORMATTED = '"%s".format([device.driver])'


@pytest.mark.parametrize(("expression", "refused"), [
    (f'{FORMATTED}.contains("a")', True),
    (f'{FORMATTED}.matches("a")', True),
    (f'{FORMATTED}.lowerAscii() == "a"', True),
    (f"{FORMATTED} < {FORMATTED}", True),
    (f'{FORMATTED} == "a"', False),
    (f"{FORMATTED}.size() > 1", False),
])  # fmt: skip
def test_a_formatted_text_has_no_known_size_so_what_scans_all_of_it_is_refused(expression: str, refused: bool) -> None:
    """cel-go bounds no result of ``format`` (``checker/cost.go``); a comparison ends with the shorter text."""
    path = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    wanted = [f"{path}: Forbidden: too complex, exceeds cost limit"] if refused else []
    assert told(claim(request(selectors=[selector(expression)]))) == wanted


def deriving(count: int) -> Json:
    """A claim with derived attributes that cost 455,551 each."""
    names = [f"a.b/c{number}" for number in range(count)]
    attributes = [{"name": name, "expression": nested(5, "true")} for name in names]
    return claim(request(derivedAttributes=attributes), constraints=[{"matchAttribute": name} for name in names])


def test_derived_attributes_of_a_claim_share_a_million() -> None:
    assert Environment(ALL, stored=False).estimate(nested(5, "true")) == 455_551
    assert told(deriving(2)) == []
    assert told(deriving(3)) == [
        "spec.devices: Forbidden: too complex, total cost of derived attribute CEL expressions in the claim"
        " exceeds cost limit"
    ]
