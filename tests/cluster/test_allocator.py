"""The allocator library against the node's real scheduler."""

from __future__ import annotations

import pytest

from tests.cluster import build, worlds
from tests.cluster.case import Case

SCENES, CLAIMS = 8, 25


@pytest.mark.skipif(build.minor() < 36, reason="schedulers before 1.36 visit pools in random order")
@pytest.mark.parametrize("number", range(SCENES))
def test_the_scheduler_chooses_what_the_library_says(case: Case, number: int) -> None:
    worlds.allow_admin(case)
    scene = worlds.Scene(case, f"node-{number}")
    decided = []
    with scene.on_node():
        for claim in scene.claims(CLAIMS):
            expected = worlds.chosen_by_library(case, claim)
            assert worlds.chosen_by_scheduler(case, claim) == expected, claim["spec"]
            decided.append(expected)
        case.delete(*(pod["metadata"]["name"] for pod in case.api.list("Pod")), grace=0)
    assert any(isinstance(each, dict) and each["results"] for each in decided), "nothing was allocated at all"
