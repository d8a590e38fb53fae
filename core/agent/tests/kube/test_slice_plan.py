from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.slice_plan import SlicePlan, StoredSlice, make_plan


def stored(
    index: int, content: str = "new", *, generation: int = 1, count: int = 2, pool: str = "n1", name: str = ""
) -> StoredSlice:
    metadata = {"name": name or f"{index:05x}-d-n1", "uid": f"u{index}{name}", "resourceVersion": "1"}
    header = {"name": pool, "generation": generation, "resourceSliceCount": count}
    return StoredSlice(metadata=metadata, spec={"pool": header, "content": content})


def plan(wanted: int, *existing: StoredSlice) -> SlicePlan:
    return make_plan("n1", range(wanted), existing, lambda _, s: s.spec["content"] == "new")


def test_the_first_publication_has_generation_one() -> None:
    assert plan(2) == SlicePlan(generation=1, deletes=(), updates=(), creates=(0, 1))


def test_nothing_is_done_when_everything_is_as_wanted() -> None:
    assert plan(2, stored(0), stored(1)) == SlicePlan(generation=1, deletes=(), updates=(), creates=())


def test_one_changed_slice_keeps_the_generation() -> None:
    old = stored(1, "old", generation=4)
    assert plan(2, stored(0, generation=4), old) == SlicePlan(generation=4, deletes=(), updates=((1, old),), creates=())


def test_two_changed_slices_raise_the_generation_of_all() -> None:
    slices = stored(0, "old", count=3), stored(1, count=3), stored(2, "old", count=3)
    got = plan(3, *slices)
    assert got.generation == 2
    assert [index for index, _ in got.updates] == [0, 1, 2]


def test_a_slice_more_raises_the_generation_of_all() -> None:
    got = plan(2, stored(0, count=1))
    assert (got.generation, [i for i, _ in got.updates], got.creates) == (2, [0], (1,))


def test_a_slice_less_is_deleted_and_the_count_of_the_last_one_corrected() -> None:
    last, surplus = stored(0), stored(1)
    got = plan(1, last, surplus)
    assert got == SlicePlan(generation=1, deletes=(surplus,), updates=((0, last),), creates=())


def test_slices_of_another_pool_or_without_an_index_are_deleted() -> None:
    foreign = stored(0, pool="fast", name="00000-d-fast"), stored(1, name="by-hand")
    got = plan(2, stored(0), stored(1), *foreign)
    assert got.deletes == foreign
    assert (got.updates, got.creates) == ((), ())


def test_of_two_slices_with_one_index_the_newer_generation_stays() -> None:
    old, new = stored(0, name="00000-d-n1-a", count=1), stored(0, name="00000-d-n1-b", generation=2, count=1)
    got = plan(1, old, new)
    assert got == SlicePlan(generation=2, deletes=(old,), updates=(), creates=())


def test_a_slice_left_behind_by_an_interrupted_change_is_brought_along() -> None:
    behind = stored(1, "old", generation=1)
    got = plan(2, stored(0, generation=2), behind)
    assert got == SlicePlan(generation=2, deletes=(), updates=((1, behind),), creates=())


SLICES = st.builds(
    stored,
    st.integers(0, 4),
    st.sampled_from(["old", "new"]),
    generation=st.integers(0, 3),
    count=st.integers(1, 4),
    pool=st.sampled_from(["n1", "other"]),
)


def after(got: SlicePlan, wanted: int, existing: list[StoredSlice]) -> list[StoredSlice]:
    gone, written = {s.name for s in got.deletes}, dict(got.updates)
    kept = [s for s in existing if s.name not in gone and s not in written.values()]
    fresh = [*written, *got.creates]
    return kept + [stored(index, generation=got.generation, count=wanted) for index in fresh]


@settings(derandomize=True, max_examples=200)
@given(st.integers(1, 4), st.lists(SLICES, max_size=6, unique_by=lambda s: s.name))
def test_a_plan_makes_the_pool_complete_and_is_then_done(wanted: int, existing: list[StoredSlice]) -> None:
    got = plan(wanted, *existing)
    result = after(got, wanted, existing)
    assert [s.pool for s in result] == [("n1", got.generation, wanted)] * wanted
    again = plan(wanted, *result)
    assert (again.deletes, again.updates, again.creates) == ((), (), ())


@settings(derandomize=True, max_examples=200)
@given(st.integers(1, 4), st.lists(SLICES, max_size=6, unique_by=lambda s: s.name))
def test_more_than_one_write_never_keeps_the_generation(wanted: int, existing: list[StoredSlice]) -> None:
    got = plan(wanted, *existing)
    before = max((s.pool[1] for s in existing if s.pool[0] == "n1"), default=0)
    assert got.generation >= before
    if got.creates or len(got.updates) > 1:
        assert got.generation == before + 1
