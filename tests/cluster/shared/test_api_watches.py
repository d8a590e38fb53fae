"""Watches: what they tell, from where on, and how they end."""

from __future__ import annotations

from tests.cluster.shared.wire import SLICES, Wire, slice_of


def test_a_watch_goes_on_from_a_version_and_sees_only_its_selection(server: Wire, driver: str) -> None:
    first = server.make(SLICES, slice_of(driver, {"name": "a"}, name=f"{driver}-1"))
    listed = server.ask("GET", SLICES, fieldSelector=f"spec.driver={driver}")
    first["spec"]["devices"] = []
    changed = server.ask("PUT", f"{SLICES}/{driver}-1", first)
    server.make(SLICES, slice_of(driver, name=f"{driver}-2", nodeName="elsewhere"))
    deleted = server.ask("DELETE", f"{SLICES}/{driver}-1")
    selector = f"spec.driver={driver},spec.nodeName=nowhere"
    version = listed.metadata["resourceVersion"]
    with server.watch(SLICES, fieldSelector=selector, resourceVersion=version) as events:
        seen = [next(events) for _ in range(2)]
    assert [(kind, obj["metadata"]["name"]) for kind, obj in seen] == [
        ("MODIFIED", f"{driver}-1"),
        ("DELETED", f"{driver}-1"),
    ]
    versions = [int(obj["metadata"]["resourceVersion"]) for _, obj in seen]
    assert versions[0] == int(changed.metadata["resourceVersion"])
    # The last form carries the version of the deletion.
    assert versions[1] == int(deleted.metadata["resourceVersion"])


def test_a_watch_without_a_version_begins_with_what_is_there(server: Wire, driver: str) -> None:
    server.make(SLICES, slice_of(driver, name=driver))
    with server.watch(SLICES, fieldSelector=f"spec.driver={driver}") as events:
        kind, obj = next(events)
        assert (kind, obj["metadata"]["name"]) == ("ADDED", driver)
        server.ask("DELETE", f"{SLICES}/{driver}")
        assert next(events)[0] == "DELETED"


def test_a_watch_ends_after_its_time_and_is_silent_where_no_bookmarks_were_asked_for(server: Wire, driver: str) -> None:
    version = server.ask("GET", SLICES, fieldSelector=f"spec.driver={driver}").metadata["resourceVersion"]
    query = {"resourceVersion": version, "timeoutSeconds": "1"}
    with server.watch(SLICES, fieldSelector=f"spec.driver={driver}", **query) as events:
        assert list(events) == []
