"""What is free in pools: the cluster's own controller, the library and the command say the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import build, pools
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.pools import Pools, Requests
from tests.cluster.worlds import manifest

pytestmark = pytest.mark.skipif(build.minor() < 36, reason="clusters answer requests from 1.36 on")

WORLDS = (5, 11, 25, 49, 51, 65, 76, 98)
"""Of the generator's worlds some in which there is something of everything."""
QUESTIONS = 4


@pytest.fixture
def requests(case: Case) -> Iterator[Requests]:
    """Requests of the built-in kind."""
    requests = Requests(case, pools.BUILT_IN)
    yield requests
    requests.close()


def test_the_clusters_controller_the_library_and_the_command_say_the_same(case: Case, requests: Requests) -> None:
    met: set[str] = set()
    for number in WORLDS:
        world = Pools(case, f"node-{number}")
        with world.on_node():
            requests.settle()
            for spec in world.questions(QUESTIONS):
                met |= _asked(case, requests, spec)
    views = {"shareableSummary", "partitionSummary", "unavailableDevices"} if build.minor() >= 37 else set()
    assert met >= {"allocatedDevices", "poolCount", "passed over", "limited", *views}


def test_a_pool_of_generation_0_is_told_by_the_command_only(case: Case, requests: Requests) -> None:
    """A fault of upstream's: ``status.pools[].generation`` is required, and its validation takes 0 for missing."""
    driver = "zero.example.com"
    pool = {"name": "zero", "generation": 0, "resourceSliceCount": 1}
    spec = {"driver": driver, "allNodes": True, "pool": pool, "devices": [{"name": "d"}]}
    case.create(manifest("ResourceSlice", {"metadata": {"name": "zero"}, "spec": spec}))
    try:
        requests.settle()
        request = requests.ask(driver=driver)
        _passed_over(requests, request)
        (told,) = pools.of_command(case, request["spec"])
        assert (told["generation"], told["availableDevices"]) == (0, 1)
    finally:
        case.api.delete("ResourceSlice", "zero")


def _asked(case: Case, requests: Requests, spec: Object) -> set[str]:
    """Ask once, compare, and give what there was in the answer."""
    request = requests.ask(**spec)
    expected = pools.of_library(case, request, pools.CLUSTER)
    newest = pools.of_library(case, request, pools.NEWEST)
    if not expected or not newest:
        _passed_over(requests, request)
        return {"passed over"}
    assert requests.answer(request) == expected, spec
    assert pools.of_command(case, request["spec"])[: request["spec"]["limit"]] == newest["pools"], spec
    found: list[Object] = expected["pools"]
    limited = {"limited"} if len(found) < expected["poolCount"] else set()
    return limited | {key for each in (expected, *found) for key, value in each.items() if value}


def _passed_over(requests: Requests, request: Object) -> None:
    """See that a request has no answer when one that was asked later has."""
    requests.settle()
    assert "status" not in requests.get(request), request["spec"]
