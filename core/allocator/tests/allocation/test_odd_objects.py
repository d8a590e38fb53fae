"""Objects that no API server stores, and that the scheduler would answer all the same."""

from __future__ import annotations

import pytest

from dragoman_allocator.errors import AllocationFailed

from .clusters import Cluster, Json, claim, device, distinct, every, first, has, held, req, slice_, sub

OPEN = {"metadata": {"name": "open"}, "spec": {"selectors": [{}]}}
"""A class with a selector of no kind that this release knows."""
TWO = [slice_("s1", device("d1", attrs={"x": 1}), device("d2", attrs={"x": 1}))]


@pytest.mark.parametrize(
    ("slices", "allocated"),
    [([], []), ([slice_("s1", "d1")], [held("p1/d1")])],
    ids=["no device", "a device in use"],
)
def test_a_class_selector_of_no_kind_matters_once_a_device_is_examined(
    slices: list[Json], allocated: list[Json]
) -> None:
    cluster = Cluster(slices, allocated, classes=[OPEN])
    assert cluster.outcome(claim(req("r0", cls="open"))).results is None
    with pytest.raises(AllocationFailed, match="class open: selector #0: CEL expression empty"):
        Cluster([*slices, slice_("s2", "d2", pool="p2")], allocated, classes=[OPEN]).outcome(
            claim(req("r0", cls="open"))
        )


def test_errors_of_the_claim_come_before_a_class_selector_of_no_kind() -> None:
    asked = claim(req("r0", cls="open"), constraints=[{}])
    with pytest.raises(AllocationFailed, match="constraint #0: empty constraint"):
        Cluster(TWO, classes=[OPEN]).outcome(asked)
    with pytest.raises(AllocationFailed, match="asks for all devices, but resource pool"):
        Cluster([slice_("s1", "d1", count=2)], classes=[OPEN]).outcome(claim(every("r0", cls="open")))


EXISTS = [{"key": "a", "operator": "Exists"}]
OTHER = [{"key": "b", "operator": "Exists"}]


def tolerations(asked: Json) -> list[list[str]]:
    """Give the keys of the tolerations of each result."""
    results = Cluster(TWO).outcome(asked).results
    assert results is not None
    return [[each.key for each in result.tolerations or ()] for result in results[0].devices.results or ()]


def test_of_two_requests_with_one_name_the_tolerations_of_the_first_are_recorded() -> None:
    assert tolerations(claim(req("r", tolerations=EXISTS), req("r", tolerations=OTHER))) == [["a"], ["a"]]
    assert tolerations(claim(req("r"), req("r", tolerations=OTHER))) == [[], []]


def test_of_two_subrequests_with_one_name_the_tolerations_of_the_first_are_recorded() -> None:
    never = has("x", "== 2")
    choice = first("r", sub("s", tolerations=EXISTS, selectors=never), sub("s", tolerations=OTHER))
    assert tolerations(claim(choice)) == [["a"]]
    assert tolerations(claim(first("r", sub("t")), first("r", sub("s", tolerations=OTHER)))) == [[], ["b"]]


def test_a_request_whose_name_has_a_slash_is_no_subrequest() -> None:
    apart = [distinct("driver-a/x", "r")]
    assert Cluster(TWO).found(claim(req("r/0"), req("r/1"), constraints=apart)) == "r/0 d1, r/1 d2"
    named = [distinct("driver-a/x", "r/0")]
    assert Cluster(TWO).found(claim(first("r/0", sub("s", 2)), constraints=named)) is None


@pytest.mark.parametrize(("name", "applies"), [("r/s", True), ("r/s/t", True), ("r", False)])
def test_configuration_for_a_request_whose_name_has_a_slash(name: str, applies: bool) -> None:
    config = [{"requests": [name], "opaque": {"driver": "driver-a", "parameters": {}}}]
    results = Cluster(TWO).outcome(claim(first("r/s", sub("t")), config=config)).results
    assert results is not None
    assert bool(results[0].devices.config) is applies


def test_the_subrequest_of_a_request_without_a_name_stands_for_itself() -> None:
    asked = claim(req("s", tolerations=EXISTS), first("", sub("s", tolerations=OTHER)))
    assert Cluster(TWO).found(asked) == "s d1, s d2"
    assert tolerations(asked) == [["a"], ["a"]]


@pytest.mark.parametrize(("namespace", "name", "shown"), [("ns", "", "ns/"), ("", "c", "c"), ("", "", "")])
def test_a_claim_without_a_name_is_called_what_the_scheduler_calls_it(namespace: str, name: str, shown: str) -> None:
    asked = claim(req("r0", 33)) | {"metadata": {"namespace": namespace, "name": name}}
    with pytest.raises(AllocationFailed, match=f"^claim {shown}, request r0: "):
        Cluster(TWO).outcome(asked)


def test_a_count_at_the_end_of_64_bits_wraps_around_as_the_schedulers_sum_does() -> None:
    asked = claim(req("r0", -(2**63)), req("r1"))
    words = f"request r1: adding 1 devices exceeds the claim limit of 32, with {-(2**63)} already accounted for"
    with pytest.raises(AllocationFailed, match=words):
        Cluster(TWO).outcome(asked)
    assert Cluster(TWO).found(claim(req("r0", -5), req("r1"))) == "r1 d1"
