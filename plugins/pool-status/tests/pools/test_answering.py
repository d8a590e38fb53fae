"""The protocol of the controller in virtual time; vector 25 of the reference and what stands around it."""

from collections.abc import Sequence
from typing import Any

import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects import PoolStatusRequest
from dragoman_allocator.objects.requests import PoolStatusRequestStatus
from dragoman_allocator.pool_status import PoolIncomplete, failed
from dragoman_pool_status.answering import Answering, Delete, Write, WriteStatus
from dragoman_pool_status.kinds import BUILT_IN, OWN
from dragoman_pool_status.moments import seconds_of

from .poolobjects import DRIVER, complete, request

GRACE = 30.0


def at(text: str) -> float:
    moment = seconds_of(f"2026-03-{text}Z")
    assert moment is not None
    return moment


START = at("01T10:00:00")


class Scene:
    """An ``Answering`` whose calculation says what ``outcome`` is, and a clock that moves to whatever is due next."""

    def __init__(self) -> None:
        self.outcome: Exception | None = None
        self.asked: list[float] = []
        self.now = START
        self.core = Answering(self._calculate, GRACE)
        assert self.core.step(self.now) == []

    def _calculate(self, question: PoolStatusRequest, now: str) -> PoolStatusRequestStatus:
        self.asked.append(self.now - START)
        if self.outcome is not None:
            raise self.outcome
        return PoolStatusRequestStatus(pool_count=len(question.metadata.name))

    def until(self, end: float) -> list[tuple[float, Write]]:
        """Step at every moment that the protocol asks for."""
        found = []
        while True:
            found += [(self.now - START, write) for write in self.core.step(self.now)]
            due = max(self.core.wakes(self.now), self.now + 0.001)
            if due > end:
                self.now = end
                return found
            self.now = due


def incomplete() -> PoolIncomplete:
    return PoolIncomplete("PoolIncomplete: pool p", failed("", ""))


def writes(found: Sequence[tuple[float, Write]]) -> list[float]:
    return [when for when, write in found if isinstance(write, WriteStatus)]


def deletes(found: Sequence[tuple[float, Write]]) -> list[tuple[float, str, str]]:
    return [(when, write.name, write.uid) for when, write in found if isinstance(write, Delete)]


@pytest.fixture
def scene() -> Scene:
    return Scene()


class TestAnswers:
    def test_a_request_of_our_kind_is_answered_at_once_with_its_own_resource_version(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)

        assert scene.core.step(scene.now) == [WriteStatus(OWN, "q", {**request(), "status": {"poolCount": 1}})]

    def test_it_is_answered_once(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)
        ((_, write),) = scene.until(START + 1)
        assert isinstance(write, WriteStatus)
        scene.core.written(write, scene.now)
        scene.core.seen(OWN, complete(request(), "2026-03-01T10:00:00Z"), scene.now)

        assert writes(scene.until(START + 3000)) == []
        assert scene.core.processed == {DRIVER: 1}

    def test_an_answered_request_is_left_as_it_is(self, scene: Scene) -> None:
        scene.core.seen(OWN, {**request(), "status": {"poolCount": 0}}, scene.now)

        assert writes(scene.until(START + 3000)) == []

    def test_the_same_name_with_another_uid_is_another_request(self, scene: Scene) -> None:
        scene.core.seen(BUILT_IN, complete(request(), "2026-03-01T10:00:00Z"), scene.now)
        scene.now += 100
        scene.core.seen(BUILT_IN, request(uid="u2"), scene.now)

        assert writes(scene.until(START + 200)) == [130.0]

    def test_a_deleted_request_is_not_answered(self, scene: Scene) -> None:
        scene.core.seen(BUILT_IN, request(), scene.now)
        scene.core.gone(BUILT_IN, "q")

        assert writes(scene.until(START + 100)) == []

    def test_requests_of_a_kind_that_is_served_no_longer_are_forgotten(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)
        scene.core.seen(BUILT_IN, request(), scene.now)
        scene.core.absent(OWN)

        assert writes(scene.until(START + 100)) == [30.0]
        assert [kind for _, write in scene.until(START + 3 * 86400) if (kind := write.kind) == OWN] == []

    def test_what_cannot_be_calculated_is_a_failed_answer(self, scene: Scene) -> None:
        scene.outcome = InvalidInput("'x' is not a quantity")
        scene.core.seen(OWN, request(), scene.now)

        ((_, write),) = scene.until(START)
        assert isinstance(write, WriteStatus)
        (condition,) = write.body["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("Failed", "CalculationFailed")
        assert condition["message"] == "Failed to calculate the status: 'x' is not a quantity"

    def test_a_request_that_cannot_be_read_is_a_failed_answer(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(limit="many"), scene.now)

        ((_, write),) = scene.until(START)
        assert isinstance(write, WriteStatus)
        assert write.body["status"]["conditions"][0]["type"] == "Failed"


class TestStandingAside:
    def test_the_built_in_kind_is_left_to_the_cluster_for_the_grace(self, scene: Scene) -> None:
        scene.core.seen(BUILT_IN, request(), scene.now)

        assert writes(scene.until(START + 3000)) == [GRACE]

    def test_an_answer_of_the_cluster_is_final(self, scene: Scene) -> None:
        scene.core.seen(BUILT_IN, request(), scene.now)
        scene.until(START + 1)
        scene.core.seen(BUILT_IN, complete(request(), "2026-03-01T10:00:01Z"), scene.now)

        assert writes(scene.until(START + 3000)) == []

    def test_a_change_of_metadata_does_not_prolong_the_grace_nor_end_it(self, scene: Scene) -> None:
        scene.core.seen(BUILT_IN, request(), scene.now)
        scene.until(START + 10)
        scene.core.seen(BUILT_IN, request(), scene.now)

        assert writes(scene.until(START + 100)) == [GRACE]

    def test_the_cluster_cleans_up_first(self, scene: Scene) -> None:
        answered = complete(request(), "2026-03-01T10:00:00Z")
        scene.core.seen(BUILT_IN, answered, scene.now)

        # It would delete in the first sweep after 11:00, at 11:10 at the latest.
        assert deletes(scene.until(at("01T11:10:30"))) == []
        assert [name for _, name, _ in deletes(scene.until(at("01T11:25:00")))] == ["q"]


class TestIncompletePools:
    def test_are_tried_six_times_with_pauses_that_double_and_then_left(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)

        assert writes(scene.until(START + 7200)) == []
        assert scene.asked == [0, 1, 3, 7, 15, 31]
        assert scene.core.processed == {}

    def test_are_answered_as_soon_as_they_are_complete(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)
        scene.until(START + 2)
        scene.outcome = None

        assert writes(scene.until(START + 60)) == [3.0]

    def test_are_tried_again_when_the_request_changes(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)
        scene.until(START + 100)
        scene.core.seen(OWN, request(), scene.now)
        scene.until(START + 200)

        assert scene.asked[6:] == [100, 101, 103, 107, 115, 131]

    def test_are_tried_again_when_their_driver_changes_slices_and_no_other(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)
        scene.until(START + 100)
        scene.core.pools_changed("nic.example.com", scene.now)
        scene.until(START + 200)
        scene.outcome = None
        scene.core.pools_changed(DRIVER, scene.now)

        assert writes(scene.until(START + 300)) == [201.0]

    def test_slices_that_change_all_the_time_do_not_hasten_attempts(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)
        for second in range(30):
            scene.core.pools_changed(DRIVER, scene.now)
            scene.until(START + second + 0.5)

        assert scene.asked == [0, 1, 3, 7, 15]


class TestRefusedWrites:
    def refuse(self, scene: Scene, end: float) -> list[float]:
        refusals = []
        while scene.now < end:
            for write in scene.core.step(scene.now):
                assert isinstance(write, WriteStatus)
                refusals.append(scene.now - START)
                scene.core.refused(write, scene.now)
            scene.now = min(end, max(scene.core.wakes(scene.now), scene.now + 0.001))
        return refusals

    def test_are_tried_again_and_counted(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)

        assert self.refuse(scene, START + 500) == [0, 1, 3, 7, 15, 31]
        assert (scene.core.processed, scene.core.errors) == ({DRIVER: 6}, {DRIVER: 6})

    def test_are_tried_for_as_long_as_the_api_server_is_away(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)
        for _ in range(10):
            ((_, write),) = scene.until(scene.now)
            assert isinstance(write, WriteStatus)
            scene.core.unanswered(write, scene.now)
            scene.now += 15

        assert writes(scene.until(scene.now)) == [150.0]
        assert scene.core.errors == {}

    def test_of_a_request_that_went_meanwhile_are_forgotten(self, scene: Scene) -> None:
        scene.core.seen(OWN, request(), scene.now)
        ((_, write),) = scene.until(START)
        assert isinstance(write, WriteStatus)
        scene.core.gone(OWN, "q")
        scene.core.refused(write, scene.now)

        assert scene.until(START + 100) == []


class TestCleanUp:
    @pytest.mark.parametrize("type_", ["Complete", "Failed"])
    def test_an_answered_request_goes_in_the_first_sweep_after_an_hour(self, scene: Scene, type_: str) -> None:
        body = complete(request(created="2026-03-01T09:00:00Z"), "2026-03-01T10:00:00Z")
        body["status"]["conditions"][0]["type"] = type_
        scene.core.seen(OWN, body, scene.now)

        # Sweeps are at 10:00, 10:10 …; at 11:00 the hour has not passed yet.
        assert deletes(scene.until(at("01T11:10:00")))[0] == (4200.0, "q", "u1")

    def test_a_pending_one_goes_after_a_day(self, scene: Scene) -> None:
        scene.outcome = incomplete()
        scene.core.seen(OWN, request(), scene.now)

        assert deletes(scene.until(at("02T10:10:00"))) == [(24 * 3600 + 600.0, "q", "u1")]

    def test_a_status_without_condition_counts_from_the_creation(self, scene: Scene) -> None:
        scene.core.seen(OWN, {**request(created="2026-03-01T09:05:00Z"), "status": {"poolCount": 0}}, scene.now)

        assert deletes(scene.until(at("01T10:15:00"))) == [(600.0, "q", "u1")]

    def test_one_without_a_readable_time_stays(self, scene: Scene) -> None:
        scene.core.seen(OWN, complete(request(created="yesterday"), "noon"), scene.now)

        assert deletes(scene.until(START + 100000)) == []

    def test_is_asked_for_again_until_the_request_is_gone(self, scene: Scene) -> None:
        scene.core.seen(OWN, complete(request(), "2026-03-01T08:00:00Z"), scene.now)
        first = deletes(scene.until(START + 1200))
        scene.core.gone(OWN, "q")

        assert [when for when, _, _ in first] == [600.0, 1200.0]
        assert scene.until(START + 6000) == []


def test_an_answer_of_ours_is_kept_for_an_hour_even_if_it_is_not_seen(scene: Scene) -> None:
    scene.core.seen(OWN, request(), scene.now)
    ((_, write),) = scene.until(START)
    assert isinstance(write, WriteStatus)
    scene.core.written(write, scene.now)
    found: Any = deletes(scene.until(at("01T11:20:00")))

    assert found[0][0] == 4200.0
