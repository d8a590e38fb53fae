"""A search that goes on for too long ends where its caller says so, and leaves nothing behind."""

from __future__ import annotations

import pytest

from dragoman_allocator.decode import decode
from dragoman_allocator.errors import TooManySteps
from dragoman_allocator.objects import Node, ResourceClaim

from .clusters import N1, Cluster, cel, claim, req, slice_

ENDLESS = claim(req("r0", 12), req("r1", selectors=cel("false")))
"""Every 12 of 24 devices are tried before it is clear that nothing helps."""
CLUSTER = Cluster([slice_("s1", *(f"d{i:02}" for i in range(24)))])
NODE = decode(Node, N1)


def test_the_caller_is_asked_again_and_again_until_it_gives_up() -> None:
    asked = iter([False, False, True])
    with pytest.raises(TooManySteps) as caught:
        CLUSTER.allocator().allocate([decode(ResourceClaim, ENDLESS)], NODE, give_up=lambda: next(asked))
    assert 2_000 <= caught.value.steps < 20_000
    assert list(asked) == []


def test_the_limit_of_steps_holds_beside_a_caller_that_never_gives_up() -> None:
    with pytest.raises(TooManySteps, match="after 7 steps"):
        CLUSTER.allocator().allocate([decode(ResourceClaim, ENDLESS)], NODE, steps_limit=7, give_up=lambda: False)


def test_devices_of_a_search_that_was_given_up_are_free_again() -> None:
    allocator = CLUSTER.allocator()
    with pytest.raises(TooManySteps):
        allocator.allocate([decode(ResourceClaim, ENDLESS)], NODE, steps_limit=9)
    results = allocator.allocate([decode(ResourceClaim, claim(req("r0", 24)))], NODE).results
    assert results is not None
    assert len(results[0].devices.results or ()) == 24
