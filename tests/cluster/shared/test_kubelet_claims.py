"""What a kubelet asks of a driver for the claims of pods, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.model.claims import ClaimRef
from tests.cluster.shared.kubelets import Kubelet
from tests.cluster.shared.pods import Pods, Result
from tests.cluster.shared.preparing import PREPARE, UNPREPARE, Preparing, device, registered
from tests.cluster.shared.wire import unique
from tests.cluster.waiting import until


@pytest.fixture
def driver(kubelet: Kubelet) -> Iterator[Preparing]:
    """A registered driver."""
    with registered(kubelet) as driver:
        yield driver


@pytest.fixture
def pods(kubelet: Kubelet) -> Pods:
    """The kubelet's pods."""
    return kubelet.pods


def ended(pods: Pods, *names: str) -> None:
    """Stop pods, and wait until they are gone."""
    for name in names:
        pods.stop(name)
    for name in names:
        until(lambda name=name: pods.gone(name), f"{name} is gone")  # type: ignore[misc]  # mypy cannot infer it


def started(pods: Pods, *claims: ClaimRef) -> str:
    """Start a pod, and wait until its claims are prepared."""
    pod = pods.start(*claims)
    until(lambda: pods.prepared(pod), f"{pod} is prepared")
    return pod


def test_a_claim_is_prepared_before_and_unprepared_after_its_pod(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    pod = started(pods, claim)
    assert [(each.version, each.method, each.claims) for each in driver.calls] == [("v1", PREPARE, (claim,))]
    ended(pods, pod)
    assert [(each.version, each.method, each.claims) for each in driver.calls[1:]] == [("v1", UNPREPARE, (claim,))]


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (("v1beta1.DRAPlugin",), "v1beta1"),
        (("v1beta1.DRAPlugin", "v1.DRAPlugin"), "v1beta1"),
        (("v9.DRAPlugin", "v1.DRAPlugin"), "v1"),
    ],
)
def test_the_version_is_the_first_known_of_those_that_the_driver_names(
    kubelet: Kubelet, pods: Pods, versions: tuple[str, ...], chosen: str
) -> None:
    with registered(kubelet, versions) as driver:
        ended(pods, started(pods, pods.claim(Result(driver.name))))
    assert {each.version for each in driver.calls} == {chosen}


def test_all_claims_of_a_pod_come_in_one_call(driver: Preparing, pods: Pods) -> None:
    claims = [pods.claim(Result(driver.name)) for _ in range(3)]
    ended(pods, started(pods, *claims))
    assert [set(each) for each in driver.of(PREPARE)] == [set(claims)]
    assert [set(each) for each in driver.of(UNPREPARE)] == [set(claims)]


def test_each_driver_of_a_claim_is_asked(kubelet: Kubelet, driver: Preparing, pods: Pods) -> None:
    with registered(kubelet) as other:
        claim = pods.claim(Result(driver.name), Result(other.name, request="back"))
        ended(pods, started(pods, claim))
    for each in (driver, other):
        assert (each.of(PREPARE), each.of(UNPREPARE)) == ([(claim,)], [(claim,)])


def test_a_claim_of_two_pods_is_prepared_once_and_unprepared_after_the_last(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    first = started(pods, claim)
    second = started(pods, claim)
    assert driver.of(PREPARE) == [(claim,)]
    ended(pods, first)
    assert driver.of(UNPREPARE) == []
    ended(pods, second)
    assert driver.of(UNPREPARE) == [(claim,)]


def test_a_refusal_is_told_of_the_pod_and_tried_again(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    driver.answers[claim.name] = "the cable is out"
    pod = pods.start(claim)
    until(lambda: "the cable is out" in pods.refusals(pod), "the pod is told why")
    assert claim.name in pods.refusals(pod)
    assert not pods.prepared(pod)
    del driver.answers[claim.name]
    pods.look(pod)
    until(lambda: pods.prepared(pod), "the pod starts")
    ended(pods, pod)
    assert driver.of(UNPREPARE) == [(claim,)]


def test_a_claim_that_was_refused_is_unprepared_all_the_same(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    driver.answers[claim.name] = "the cable is out"
    pod = pods.start(claim)
    until(lambda: pods.refusals(pod), "the pod is told why")
    ended(pods, pod)
    assert driver.of(UNPREPARE) == [(claim,)]


def test_claims_that_the_driver_leaves_out_are_counted(driver: Preparing, pods: Pods) -> None:
    claims = [pods.claim(Result(driver.name)) for _ in range(2)]
    driver.answers[claims[1].name] = None
    pod = pods.start(*claims)
    until(lambda: "skipped 1" in pods.refusals(pod), "the pod is told why")
    ended(pods, pod)


def test_an_answer_for_a_claim_that_was_not_asked_is_refused(driver: Preparing, pods: Pods) -> None:
    driver.answers[""] = ()
    pod = pods.start(pods.claim(Result(driver.name)))
    until(lambda: "unknown claim UID nobody" in pods.refusals(pod), "the pod is told why")
    ended(pods, pod)


def test_a_driver_that_is_not_there_is_named_and_nothing_is_unprepared(driver: Preparing, pods: Pods) -> None:
    missing = f"{unique('nobody')}.example.com"
    claims = pods.claim(Result(driver.name)), pods.claim(Result(missing))
    pod = pods.start(*claims)
    until(lambda: f"{missing} is not registered" in pods.refusals(pod), "the pod is told why")
    ended(pods, pod)
    assert driver.calls == []


def test_an_unprepare_that_fails_is_tried_again_and_the_pod_stays_until_then(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    pod = started(pods, claim)
    driver.faults[claim.name] = "still busy"
    pods.stop(pod)
    until(lambda: len(driver.of(UNPREPARE)) >= 2, "unprepare is tried again")
    assert not pods.gone(pod)
    driver.faults.clear()
    until(lambda: pods.gone(pod), "the pod is gone")


def test_a_new_sandbox_asks_again_only_after_the_kubelet_has_started_anew(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    pod = started(pods, claim)
    pods.new_sandbox(pod)
    other = started(pods, pods.claim(Result(driver.name)))
    until(lambda: pods.prepared(pod), "the pod has another sandbox")
    assert driver.of(PREPARE).count((claim,)) == 1
    driver.kubelet.restart()
    until(lambda: len(driver.told) == 2, "the driver is registered again")
    pods.new_sandbox(pod)
    until(lambda: driver.of(PREPARE).count((claim,)) == 2, "the claim is prepared again")
    ended(pods, pod, other)


def test_a_kubelet_that_starts_anew_knows_what_to_unprepare(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name))
    first, second = started(pods, claim), started(pods, claim)
    driver.kubelet.restart()
    until(lambda: len(driver.told) == 2, "the driver is registered again")
    ended(pods, first)
    assert driver.of(UNPREPARE) == []
    ended(pods, second)
    assert driver.of(UNPREPARE) == [(claim,)]
    assert driver.of(PREPARE) == [(claim,)]


def test_a_container_is_made_with_the_ids_of_the_requests_that_it_names(driver: Preparing, pods: Pods) -> None:
    claim = pods.claim(Result(driver.name), Result(driver.name, device="dev-1", request="back"))
    kind = f"{driver.name}/nic"
    driver.answers[claim.name] = (
        device("dev-0", f"{kind}=a", f"{kind}=guard"),
        device("dev-1", f"{kind}=b", requests=("back",)),
        device("dev-2", f"{kind}=c", requests=()),
    )
    pod = pods.start(claim, containers=[("all", [(claim, "")]), ("some", [(claim, "back")])])
    wanted = {"all": "a guard b c", "some": "b c"}
    for container, names in wanted.items():
        ids = until(lambda container=container: pods.ids(pod, container), f"{container} is made")  # type: ignore[misc]  # mypy cannot infer it
        assert ids == [f"{kind}={name}" for name in names.split()]
    ended(pods, pod)
