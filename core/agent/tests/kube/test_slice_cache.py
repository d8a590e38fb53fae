from __future__ import annotations

import msgspec
import pytest

from dragoman.kube.slice_cache import SliceCache, SliceList, SliceObject
from dragoman.kube.slice_plan import StoredSlice


def stored(version: str, *, uid: str = "u", name: str = "s") -> StoredSlice:
    return StoredSlice(metadata={"name": name, "uid": uid, "resourceVersion": version}, spec={})


def test_the_event_of_an_own_write_is_no_news() -> None:
    cache = SliceCache()
    cache.wrote(stored("10"))
    assert not cache.see(stored("9"))
    assert not cache.see(stored("10"))
    assert cache.all() == (stored("10"),)


def test_a_later_change_is_news() -> None:
    cache = SliceCache()
    cache.wrote(stored("9"))
    assert cache.see(stored("10"))
    assert cache.all() == (stored("10"),)


@pytest.mark.parametrize("versions", [("9", "x"), ("x", "9")])
def test_versions_that_are_no_numbers_are_news_when_they_differ(versions: tuple[str, str]) -> None:
    cache = SliceCache()
    cache.wrote(stored(versions[0]))
    assert not cache.see(stored(versions[0]))
    assert cache.see(stored(versions[1]))


def test_events_before_an_own_deletion_do_not_bring_the_slice_back() -> None:
    cache = SliceCache()
    cache.wrote(stored("9"))
    cache.deleted(stored("9"))
    assert not cache.see(stored("8"))
    assert not cache.see_deleted(stored("11"))
    assert cache.all() == ()


def test_a_deletion_by_another_hand_is_news_at_once_also_after_an_own_write() -> None:
    cache = SliceCache()
    cache.wrote(stored("9"))
    assert cache.see_deleted(stored("10"))
    assert cache.all() == ()


def test_the_late_event_of_a_deleted_namesake_does_not_touch_the_new_slice() -> None:
    cache = SliceCache()
    cache.wrote(stored("12", uid="new"))
    assert not cache.see_deleted(stored("11", uid="old"))
    assert cache.all() == (stored("12", uid="new"),)


@pytest.mark.parametrize("items", ["null", "[]"])
def test_a_null_list_is_empty(items: str) -> None:
    cache = SliceCache()
    cache.wrote(stored("9"))
    cache.replace(msgspec.json.decode(f'{{"metadata": null, "items": {items}}}', type=SliceList))
    assert cache.all() == ()


def test_null_devices_and_unknown_fields_are_taken_as_they_come() -> None:
    raw = b'{"metadata": {"name": "s", "managedFields": [1]}, "spec": {"devices": null, "novel": 1}, "x": 2}'
    found = msgspec.json.decode(raw, type=SliceObject).stored()
    assert (found.metadata, found.spec) == ({"name": "s"}, {"devices": None, "novel": 1})
