from __future__ import annotations

import msgspec
import pytest

from dragoman.kube.slice_cache import SliceCache, SliceList, SliceObject
from dragoman.kube.slice_plan import StoredSlice


def stored(version: str, *, uid: str = "u", name: str = "s") -> StoredSlice:
    return StoredSlice(metadata={"name": name, "uid": uid, "resourceVersion": version}, spec={})


@pytest.fixture
def news() -> list[str]:
    return []


@pytest.fixture
def cache(news: list[str]) -> SliceCache:
    return SliceCache(lambda deleted: news.append("deleted" if deleted else "changed"))


@pytest.mark.parametrize("version", ["9", "10"])
def test_the_event_of_an_own_write_is_no_news(cache: SliceCache, news: list[str], version: str) -> None:
    cache.wrote(stored("10"))
    cache.see("MODIFIED", stored(version))
    assert (news, cache.all()) == ([], (stored("10"),))


def test_the_event_of_an_own_write_is_no_news_when_it_comes_before_the_answer(
    cache: SliceCache, news: list[str]
) -> None:
    cache.wrote(stored("9"))
    with cache.writing("s"):
        cache.see("MODIFIED", stored("10"))
        cache.wrote(stored("10"))
    assert (news, cache.all()) == ([], (stored("10"),))


def test_the_event_of_an_own_deletion_is_no_news_when_it_comes_before_the_answer(
    cache: SliceCache, news: list[str]
) -> None:
    cache.wrote(stored("9"))
    with cache.writing("s"):
        cache.see("DELETED", stored("10"))
        cache.deleted(stored("9"))
    assert (news, cache.all()) == ([], ())


def test_what_another_hand_does_during_an_own_write_is_news_after_it(cache: SliceCache, news: list[str]) -> None:
    cache.wrote(stored("9"))
    with cache.writing("s"):
        cache.see("MODIFIED", stored("10"))
        cache.see("MODIFIED", stored("11"))
        cache.see("DELETED", stored("12"))
        cache.wrote(stored("10"))
        assert news == []
    assert (news, cache.all()) == (["changed", "deleted"], ())


def test_a_later_change_is_news(cache: SliceCache, news: list[str]) -> None:
    cache.wrote(stored("9"))
    cache.see("MODIFIED", stored("10"))
    assert (news, cache.all()) == (["changed"], (stored("10"),))


@pytest.mark.parametrize("versions", [("9", "x"), ("x", "9")])
def test_versions_that_are_no_numbers_are_news_when_they_differ(
    cache: SliceCache, news: list[str], versions: tuple[str, str]
) -> None:
    cache.wrote(stored(versions[0]))
    cache.see("MODIFIED", stored(versions[0]))
    assert news == []
    cache.see("MODIFIED", stored(versions[1]))
    assert news == ["changed"]


def test_events_before_an_own_deletion_do_not_bring_the_slice_back(cache: SliceCache, news: list[str]) -> None:
    cache.wrote(stored("9"))
    cache.deleted(stored("9"))
    cache.see("MODIFIED", stored("8"))
    cache.see("DELETED", stored("11"))
    assert (news, cache.all()) == ([], ())


def test_a_deletion_by_another_hand_is_news_at_once_also_after_an_own_write(cache: SliceCache, news: list[str]) -> None:
    cache.wrote(stored("9"))
    cache.see("DELETED", stored("10"))
    assert (news, cache.all()) == (["deleted"], ())


def test_the_late_event_of_a_deleted_namesake_does_not_touch_the_new_slice(cache: SliceCache, news: list[str]) -> None:
    cache.wrote(stored("12", uid="new"))
    cache.see("DELETED", stored("11", uid="old"))
    assert (news, cache.all()) == ([], (stored("12", uid="new"),))


@pytest.mark.parametrize("items", ["null", "[]"])
def test_a_null_list_is_empty(cache: SliceCache, items: str) -> None:
    cache.wrote(stored("9"))
    cache.replace(msgspec.json.decode(f'{{"metadata": null, "items": {items}}}', type=SliceList))
    assert cache.all() == ()


def test_null_devices_and_unknown_fields_are_taken_as_they_come() -> None:
    raw = b'{"metadata": {"name": "s", "managedFields": [1]}, "spec": {"devices": null, "novel": 1}, "x": 2}'
    found = msgspec.json.decode(raw, type=SliceObject).stored()
    assert (found.metadata, found.spec) == ({"name": "s"}, {"devices": None, "novel": 1})
