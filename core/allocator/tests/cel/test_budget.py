"""Hostile expressions end in an error: they cost too much, make values that are too large, or are nested too deeply."""

from __future__ import annotations

import sys

import pytest

from dragoman_allocator.cel import Aborted, regexes, work

from .celworld import DEVICE, DRIVER, STORED, verdict

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
COST = "run: operation cancelled: actual cost limit exceeded"
SIZE = "run: operation cancelled: the values of this expression are too large"


def nested(depth: int, body: str, macro: str = "all") -> str:
    for level in range(depth):
        body = f"{TEN}.{macro}(x{level}, {body})"
    return body


def bound(first: str, step: str, last: str, times: int = 40) -> str:
    """Bind a name to a value made twice from the one before, and so on."""
    for level in range(times, 0, -1):
        last = f"cel.bind(a{level}, {step.replace('A', f'a{level - 1}')}, {last})"
    return f"cel.bind(a0, {first}, {last.replace('LAST', f'a{times}')})"


@pytest.mark.parametrize(
    "expression",
    [
        nested(7, "true"),
        nested(7, "false", "exists"),
        nested(7, '"aaaaaaaaaaaaaaaaaa".matches("(a*)*$")'),
        "lists.range(1000000).size() > 0",
        "lists.range(100000).map(x, x).size() > 0",
        'lists.range(200000).exists(x, device.attributes["d"].nope)',
        "optional.of(1)" + ".optMap(x, x)" * 60 + ".hasValue()",
    ],
)
def test_the_cost_limit_ends_an_evaluation(expression: str) -> None:
    assert verdict(expression) == COST


@pytest.mark.parametrize("absorbs", ["({}) || true", "!({}) || true", "({}) && false", "[1].exists(z, {} || z == 1)"])
def test_nothing_absorbs_the_cost_limit(absorbs: str) -> None:
    assert verdict(absorbs.format(nested(7, "true"))) == COST


@pytest.mark.parametrize(
    "expression",
    [
        bound('"aaaaaaaaaa"', "dyn(A) + dyn(A)", "LAST == 1"),
        bound('"abcdefghij"', 'A.replace("", A)', "LAST.size() > 0"),
        bound("[1, 2]", "A + A", "LAST.size() > 0"),
        bound("[1, 2]", "[dyn(A), dyn(A)]", "LAST == LAST"),
        bound("[1, 2]", "[dyn(A), dyn(A)]", "dyn(LAST).flatten(50).size() > 0"),
        bound("[1, 2]", "[dyn(A), dyn(A)]", '"%s".format([LAST]) == ""'),
    ],
)
def test_values_do_not_grow_without_bound(expression: str) -> None:
    assert verdict(expression) == SIZE


def test_an_aborted_evaluation_is_told_apart() -> None:
    program = STORED.compile(nested(7, "true"))
    with pytest.raises(Aborted):
        program.evaluate(DRIVER, DEVICE)
    assert STORED.compile("true").evaluate(DRIVER, DEVICE)


@pytest.mark.parametrize(
    ("make", "deepest"),
    [
        (lambda n: "(" * n + "true" + ")" * n, 249),
        (lambda n: "dyn(" * n + "true" + ")" * n, 249),
        (lambda n: "1" + "+1" * n + " > 0", 249),
        (lambda n: "true" + " == true" * n, 250),
        (lambda n: "true ? true : " * n + "true", 249),
        (lambda n: "(1+" * n + "1" + ")" * n + " > 0", 124),
        (lambda n: "[1].all(x, " * n + "true" + ")" * n, 249),
    ],
)
def test_expressions_are_nested_as_deep_as_in_kubernetes(make: object, deepest: int) -> None:
    assert callable(make)
    limit = sys.getrecursionlimit()
    try:
        assert verdict(make(deepest)) is True
        assert "expression recursion limit exceeded: 250" in str(verdict(make(deepest + 1)))
    finally:
        sys.setrecursionlimit(max(limit, 1000))


def test_a_list_that_nobody_may_make_is_an_error_like_others() -> None:
    # ext/lists.go refuses it before anything is paid for, so || absorbs it
    too_long = "lists.range: size 1000001 exceeds maximum allowed (1000000)"
    assert verdict("lists.range(1000001).size() > 0") == f"run: {too_long}"
    assert verdict("lists.range(1000001).size() > 0 || true") is True


LONG = 'cel.bind(a, "0123456789"' + '.replace("", "0123456789")' * 4 + ', cel.bind(b, dyn(a + "1"), {}))'
"""A text of some 150,000 characters: long, but far from what may be made in all."""


@pytest.mark.parametrize(
    "repeated",
    [
        'b < dyn(a + "2") && b < dyn(a + "3")',
        'b in [dyn(a + "2")]',
        "bytes(b).size() > 0",
        "int(b) == 0 || true",
        "double(b) == 0.0 || true",
        'duration("0." + b + "s") == duration("0s") || true',
        "timestamp(0).getHours(string(x)) == 0 || true",
        'url("http://a/?" + a).getQuery().size() > 0 || true',
        '"%s".format([[b, b, b, b]]).size() > 0',
        '"a".matches("(a{1000}b{1000}){" + string(x) + ",99}") || true',
        "dyn(lists.range(2000)).sort().size() > 0",
    ],
)
def test_what_costs_one_unit_for_any_length_is_done_a_bounded_number_of_times(repeated: str) -> None:
    loop = f"lists.range(3000).all(x, lists.range(20).all(y, ({repeated}) || true))"
    assert str(verdict(LONG.format(loop))).startswith("run: operation cancelled: ")


def test_an_evaluation_that_was_ended_leaves_nothing_to_the_next_expression() -> None:
    assert verdict(nested(7, "true")) == COST
    assert verdict(LONG.format("lists.range(20000).all(x, int(b) == 0 || true)")) == SIZE
    for expression in ('duration("1h1m1s") == duration("3661s")', '"a".matches("^a{1000}|a$")', 'int("12") == 12'):
        assert verdict(expression) is True


def test_a_cost_that_is_passed_ends_the_evaluation_before_a_later_error_does() -> None:
    assert verdict(LONG.format("a.matches(a) || device.attributes[D].nope")) == COST


def test_large_patterns_are_kept_only_while_there_is_room() -> None:
    small, large = regexes.compiled("small"), regexes.compiled("a{1000}")
    assert regexes.compiled("small") is small
    assert regexes.compiled("a{1000}") is large
    for letter in "bcdefghij":
        work.start()
        regexes.compiled(f"{letter}{{1000}}" * 100)
    assert regexes.compiled("a{1000}") is not large
