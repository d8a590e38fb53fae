"""The library answers as Kubernetes' own code does, in worlds that put its rules to the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential import compare, programs, shares, worlds
from tests.differential.programs import Program
from tests.differential.trial import Trial
from tests.differential.without import RULES, without

pytestmark = pytest.mark.timeout(900)  # a test asks about hundreds of worlds, and the machine may be busy

_SEED = 20261
_COUNT = 150


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    both = Trial()
    yield both
    both.close()


@pytest.fixture(scope="module")
def upstream() -> Iterator[Program]:
    program = Program(programs.theirs())
    yield program
    program.close()


@pytest.mark.parametrize("kind", worlds.KINDS)
def test_both_say_the_same_in_every_world(trial: Trial, kind: str) -> None:
    asked = (worlds.make(kind, worlds.SIZES[i % 4], _SEED, i) for i in range(_COUNT))
    outcome = trial.run(kind, asked)
    told = [f"{one.question['id']}: {'; '.join(map(str, one.differences[:3]))}" for one in outcome.findings]
    assert told == []


def test_worlds_of_claims_are_neither_all_easy_nor_all_hopeless(upstream: Program) -> None:
    count = 600
    found = [worlds.make("allocate", worlds.SIZES[i % 4], _SEED, i) for i in range(count)]
    headings = [heading for question in found for heading in shares.of(question, upstream.ask(question))]
    allocated, turned = headings.count("allocated"), headings.count("allocated after backtracking")
    failed = sum(heading.startswith("error") for heading in headings)
    assert 0.45 < allocated / count < 0.75
    assert turned > allocated / 5
    assert 0.01 < failed / count < 0.15


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_left_out_would_change_an_answer(upstream: Program, rule: str) -> None:
    for i in range(600):
        question = worlds.make("allocate", worlds.SIZES[i % 4], _SEED, i)
        other = without(rule, question)
        if other == question:
            continue
        if compare.differences("allocate", upstream.ask(question), upstream.ask(other)):
            return
    pytest.fail(f"no world of 600 depends on {rule}")


def test_upstream_goes_on_after_a_line_that_is_no_question(upstream: Program) -> None:
    assert upstream.ask({"id": 1, "kind": "nothing"})["error"].startswith("input:")
    assert upstream.ask({"id": 2, "kind": "quantity", "text": "1Ki"}) == {
        "id": 2,
        "canonical": "1Ki",
        "value": 1024,
        "milliValue": 1024000,
    }
