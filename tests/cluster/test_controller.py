"""``dragoman controller``: it answers requests of our own kind, and the cluster's where nobody else does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.cluster import build, files, objects, pools
from tests.cluster import controller as controllers
from tests.cluster.agent import DRIVER as DRAGOMAN
from tests.cluster.api import ApiError, Object
from tests.cluster.case import Case
from tests.cluster.controller import Controller
from tests.cluster.node import Node
from tests.cluster.pools import Pools, Requests
from tests.cluster.worlds import manifest

WORLDS = (25, 65, 76)
DRIVER = "grown.example.com"
FORBIDDEN = {
    "read a pod": ("GET", "/api/v1/namespaces/default/pods"),
    "read a secret": ("GET", "/api/v1/namespaces/dragoman/secrets"),
    "publish a slice": ("POST", "/apis/resource.k8s.io/v1/resourceslices"),
    "take a slice away": ("DELETE", "/apis/resource.k8s.io/v1/resourceslices/any"),
    "take a claim away": ("DELETE", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/any"),
    "ask itself": ("POST", "/apis/resource.dragoman.dev/v1alpha1/resourcepoolstatusrequests"),
}


@pytest.fixture(scope="session")
def session_controller(session_node: Node) -> Controller:
    """The controller, not started, with its account and kind in the cluster."""
    controllers.install(session_node)
    return Controller(session_node)


@pytest.fixture
def controller(case: Case, session_controller: Controller) -> Iterator[Controller]:
    """The controller, ready; it ends with the test, and in order."""
    session_controller.start()
    yield session_controller
    if session_controller.part.pid is not None:
        assert session_controller.terminate() == 0


@pytest.fixture
def requests(case: Case, session_controller: Controller) -> Iterator[Requests]:
    """Requests of our kind."""
    requests = Requests(case, pools.OWN)
    yield requests
    requests.close()


def test_requests_of_our_kind_get_the_librarys_answers(case: Case, controller: Controller, requests: Requests) -> None:
    answered = 0
    for number in WORLDS:
        world = Pools(case, f"node-{number}")
        with world.on_node():
            requests.settle()
            for spec in world.questions(3):
                request = requests.ask(**spec)
                if expected := pools.of_library(case, request, pools.NEWEST):
                    answered += 1
                    assert requests.answer(request) == expected, spec
    assert answered > len(WORLDS)


def test_a_pool_that_grows_whole_is_answered_then(case: Case, controller: Controller, requests: Requests) -> None:
    half, other = (_half(number) for number in (1, 2))
    case.create(half)
    try:
        requests.settle()
        request = requests.ask(driver=DRIVER)
        # What is asked later and answered shows that this one was looked at.
        requests.settle()
        assert "status" not in requests.get(request)
        case.create(other)
        (pool,) = requests.answer(request)["pools"]
        assert (pool["resourceSliceCount"], pool["totalDevices"]) == (2, 2)
    finally:
        for each in (half, other):
            case.api.delete("ResourceSlice", each["metadata"]["name"])


@pytest.mark.parametrize(
    "parameters",
    [r'{"text":"\ud800"}', '{"a":' * 1600 + "1" + "}" * 1600],
    ids=["half a surrogate pair", "nested deeply"],
)
def test_a_claim_that_is_hard_to_read_hides_no_others_and_its_pod_runs(
    case: Case, controller: Controller, requests: Requests, parameters: str
) -> None:
    foreign = {"requests": [], "opaque": {"driver": "other.example.com", "parameters": "@"}}
    odd = objects.claim("odd", objects.request("net", "lab"), config=[objects.config({"podIfName": "net1"}), foreign])
    path = case.api.path("ResourceClaim")
    case.api.raw("POST", path, text=json.dumps(odd).replace('"@"', parameters))
    try:
        case.create(objects.pod("uses", objects.of_claim("odd")))
        case.running("uses")
        assert "net1" in case.exec("uses", "ip", "link")
        # It lists all claims when it starts, and has to have read them before it answers.
        assert controller.terminate() == 0
        controller.start()
        (pool,) = requests.answer(requests.ask(driver=DRAGOMAN, poolName=files.NODE))["pools"]
        assert pool["allocatedDevices"] == 1
        case.delete("uses")
    finally:
        case.api.raw("DELETE", f"{path}/odd")


def test_neither_a_question_nor_its_answer_can_be_changed(
    case: Case, controller: Controller, requests: Requests
) -> None:
    request = requests.ask(driver=DRIVER)
    answer = requests.answer(request)
    path = f"{requests.path}/{request['metadata']['name']}"
    for at, change, said in (
        (path, {"spec": {"driver": "other.example.com"}}, "spec is immutable"),
        (path, {"spec": {"limit": 7}}, "spec is immutable"),
        (f"{path}/status", {"status": {"poolCount": 7}}, "status is set once"),
        (f"{path}/status", {"status": None}, "status is set once"),
    ):
        with pytest.raises(ApiError, match=said):
            case.api.request("PATCH", at, change, content="application/merge-patch+json")
    assert requests.answer(request) == answer
    for spec in ({}, {"driver": "-"}, {"driver": DRIVER, "limit": 0}, {"driver": DRIVER, "limit": 1001}):
        with pytest.raises(ApiError, match=r"Invalid value|Required value"):
            requests.ask(**spec)


def test_answers_are_deleted_after_an_hour(case: Case, controller: Controller, requests: Requests) -> None:
    assert controller.terminate() == 0
    old, new = (requests.ask(driver=DRIVER) for _ in range(2))
    for request, minutes in ((old, 61), (new, 50)):
        path = f"{requests.path}/{request['metadata']['name']}/status"
        case.api.request("PATCH", path, {"status": _answered(minutes)}, content="application/merge-patch+json")
    # It looks for them when it starts, and every ten minutes.
    controller.start()
    names = {each["metadata"]["name"] for each in (old, new)}
    case.until(lambda: requests.names() & names == {new["metadata"]["name"]}, "the old answer is deleted")


def test_metrics_tell_what_pools_have(case: Case, controller: Controller, requests: Requests) -> None:
    case.create(*(_half(number) for number in (1, 2)))
    try:
        requests.settle()
        found = controller.metrics()
        labels = f'{{driver="{DRIVER}",pool="{DRIVER}",node=""}}'
        assert found[f"dragoman_pool_devices{labels}"] == 2
        assert found[f"dragoman_pool_devices_available{labels}"] == 2
        assert found[f"dragoman_pool_complete{labels}"] == 1
    finally:
        for number in (1, 2):
            case.api.delete("ResourceSlice", _half(number)["metadata"]["name"])


@pytest.mark.skipif(build.minor() < 36, reason="the cluster has no requests of its own before 1.36")
def test_the_clusters_requests_are_left_to_the_cluster_as_long_as_it_answers(
    case: Case, controller: Controller
) -> None:
    theirs = Requests(case, pools.BUILT_IN)
    try:
        request = theirs.ask(driver=DRIVER)
        theirs.answer(request)
        case.node.parts["kube-controller-manager"].end()
        orphan = theirs.ask(driver=DRIVER)
        assert theirs.answer(orphan) == pools.of_library(case, orphan, pools.NEWEST)
        # The second request was seen after the first one, so that the time to wait is over for both.
        assert _writers(theirs.get(request)) == {"kube-controller-manager"}
        assert _writers(theirs.get(orphan)) == {"dragoman-controller"}
        counted = controller.metrics()
        assert counted[f'dragoman_pool_status_requests_processed_total{{driver="{DRIVER}"}}'] == 1
        assert not any(name.startswith("dragoman_pool_status_request_errors_total") for name in counted)
    finally:
        theirs.close()


@pytest.mark.usefixtures("session_controller")
@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_account_may_not_do_what_the_controller_need_not(node: Node, what: str) -> None:
    account = node.api.bearing(controllers.request_token(node))
    method, path = FORBIDDEN[what]
    body = {"apiVersion": "any/v1", "kind": "Any"} if method == "POST" else None
    with pytest.raises(ApiError, match="cannot") as refused:
        account.raw(method, path, body)
    assert refused.value.code == 403


def _half(number: int) -> Object:
    pool = {"name": DRIVER, "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": f"d{number}"}]}
    return manifest("ResourceSlice", {"metadata": {"name": f"half-{number}"}, "spec": spec})


def _answered(minutes: int) -> Object:
    """Give the status of a request that was answered so long ago."""
    at = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "Complete", "status": "True", "reason": "CalculationComplete", "message": "old"}
    return {"poolCount": 0, "conditions": [condition | {"lastTransitionTime": at}]}


def _writers(request: Object) -> set[str]:
    return {each["manager"] for each in request["metadata"]["managedFields"] if each.get("subresource") == "status"}
