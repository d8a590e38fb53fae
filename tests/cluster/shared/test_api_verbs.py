"""Discovery, verbs, preconditions, selectors."""

from __future__ import annotations

import copy

import pytest

from tests.cluster.shared.wire import GROUP, MERGE, SLICES, Wire, slice_of, unique

OTHER_UID = "11111111-2222-3333-4444-555555555555"


def test_discovery_lists_versions_and_kinds(server: Wire) -> None:
    group = server.ask("GET", "/apis/resource.k8s.io").body
    assert {"v1", "v1beta1", "v1beta2"} <= {version["version"] for version in group["versions"]}
    assert group["preferredVersion"]["version"] == "v1"
    kinds = server.ask("GET", GROUP).body["resources"]
    assert {"resourceslices", "resourceclaims", "resourceclaims/status"} <= {kind["name"] for kind in kinds}
    assert int(server.ask("GET", "/version").body["minor"]) >= 34


def test_an_unknown_group_is_answered_in_plain_text(server: Wire) -> None:
    answer = server.ask("GET", "/apis/unknown.example.com/v1/things")
    assert (answer.status, answer.text) == (404, "404 page not found\n")


@pytest.mark.parametrize("path", ["/apis/resource.k8s.io/v9/resourceslices", f"{GROUP}/things", "/api/v1/things"])
def test_an_unknown_version_or_kind_of_a_known_group_is_not_found_about_nothing(server: Wire, path: str) -> None:
    answer = server.ask("GET", path)
    assert (answer.status, answer.reason, answer.body.get("details")) == (404, "NotFound", {})


def test_a_missing_object_is_not_found_by_kind_and_name(server: Wire) -> None:
    answer = server.ask("GET", f"{SLICES}/nobody")
    assert (answer.status, answer.reason) == (404, "NotFound")
    assert answer.body["details"] == {"name": "nobody", "group": "resource.k8s.io", "kind": "resourceslices"}


def test_generation_and_version_of_an_object_over_its_life(server: Wire, driver: str) -> None:
    made = server.make(SLICES, slice_of(driver, {"name": "a"}, name=driver))
    path = f"{SLICES}/{driver}"
    assert made["metadata"]["generation"] == 1
    assert server.ask("PUT", path, made).body == made
    made["spec"]["devices"] = [{"name": "b"}]
    updated = server.ask("PUT", path, made)
    assert (updated.status, updated.metadata["generation"]) == (200, 2)
    assert (updated.metadata["uid"], updated.body["spec"]["devices"]) == (made["metadata"]["uid"], [{"name": "b"}])
    patched = server.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content=MERGE)
    assert (patched.metadata["labels"], patched.metadata["generation"]) == ({"a": "b"}, 2)
    deleted = server.ask("DELETE", path)
    assert (deleted.status, deleted.metadata["uid"]) == (200, made["metadata"]["uid"])
    assert server.ask("DELETE", path).reason == "NotFound"
    assert server.ask("PUT", path, {**made, "metadata": {"name": driver}}).reason == "NotFound"


def test_names_are_generated_taken_and_required(server: Wire, driver: str) -> None:
    body = slice_of(driver)
    body["metadata"] = {"generateName": "x" * 80}
    names = {server.make(SLICES, body)["metadata"]["name"] for _ in range(3)}
    assert (len(names), {len(name) for name in names}) == (3, {63})
    body["metadata"] = {"name": names.pop()}
    taken = server.ask("POST", SLICES, body)
    assert (taken.status, taken.reason) == (409, "AlreadyExists")
    body["metadata"] = {}
    unnamed = server.ask("POST", SLICES, body)
    assert (unnamed.status, unnamed.wrong) == (422, ["metadata.name"])
    body["metadata"] = {"name": unique("another")}
    assert server.ask("PUT", f"{SLICES}/{names.pop()}", body).status == 400


def test_an_old_version_and_another_uid_are_conflicts_and_no_version_is_none(server: Wire, driver: str) -> None:
    made = server.make(SLICES, slice_of(driver, {"name": "a"}, name=driver))
    path = f"{SLICES}/{driver}"
    newer = copy.deepcopy(made)
    newer["spec"]["devices"] = [{"name": "b"}]
    assert server.ask("PUT", path, newer).status == 200
    assert server.ask("PUT", path, made).reason == "Conflict"
    merged = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "spec": {"devices": []}}
    assert server.ask("PATCH", path, merged, content=MERGE).reason == "Conflict"
    del made["metadata"]["resourceVersion"]
    assert server.ask("PUT", path, made).status == 200
    made["metadata"]["uid"] = OTHER_UID
    assert server.ask("PUT", path, made).reason == "Conflict"


@pytest.mark.since(37, "a wrong uid is told twice")
def test_a_patch_that_names_another_uid_would_change_it(server: Wire, driver: str) -> None:
    server.make(SLICES, slice_of(driver, name=driver))
    answer = server.ask("PATCH", f"{SLICES}/{driver}", {"metadata": {"uid": OTHER_UID}}, content=MERGE)
    assert (answer.status, answer.wrong) == (422, ["metadata.uid"])


@pytest.mark.parametrize("wrong", [{"uid": OTHER_UID}, {"resourceVersion": "1"}])
def test_preconditions_hold_a_delete_back(server: Wire, driver: str, wrong: dict[str, str]) -> None:
    metadata = server.make(SLICES, slice_of(driver, name=driver))["metadata"]
    path = f"{SLICES}/{driver}"
    assert server.ask("DELETE", path, {"preconditions": wrong}).reason == "Conflict"
    right = {key: metadata[key] for key in ("uid", "resourceVersion")}
    assert server.ask("DELETE", path, {"preconditions": right}).status == 200


@pytest.mark.since(37, "slices cannot be selected by pool")
def test_field_selectors_choose_and_unknown_ones_are_bad_requests(server: Wire, driver: str) -> None:
    for node, pool in (("n1", "p1"), ("n1", "p2"), ("n2", "p1")):
        spec = {"nodeName": node, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1}}
        server.make(SLICES, slice_of(driver, name=f"{driver}-{node}-{pool}", **spec))
    for selector, expected in (
        ("spec.nodeName=n1", ["n1-p1", "n1-p2"]),
        ("spec.pool.name=p1", ["n1-p1", "n2-p1"]),
        ("spec.nodeName=n1,spec.pool.name!=p1", ["n1-p2"]),
        (f"metadata.name={driver}-n2-p1", ["n2-p1"]),
    ):
        found = server.ask("GET", SLICES, fieldSelector=f"spec.driver={driver},{selector}").body["items"]
        assert [item["metadata"]["name"] for item in found] == [f"{driver}-{name}" for name in expected]
    answer = server.ask("GET", SLICES, fieldSelector="spec.color=red")
    assert (answer.status, answer.reason) == (400, "BadRequest")


def test_deleting_a_collection_tells_what_was_deleted(server: Wire, driver: str) -> None:
    for node in ("n1", "n2"):
        server.make(SLICES, slice_of(driver, name=f"{driver}-{node}", nodeName=node))
    answer = server.ask("DELETE", SLICES, fieldSelector=f"spec.driver={driver},spec.nodeName=n1")
    assert [item["metadata"]["name"] for item in answer.body["items"]] == [f"{driver}-n1"]
    left = server.ask("GET", SLICES, fieldSelector=f"spec.driver={driver}").body["items"]
    assert [item["metadata"]["name"] for item in left] == [f"{driver}-n2"]


def test_an_unknown_kind_of_patch_is_refused(server: Wire, driver: str) -> None:
    server.make(SLICES, slice_of(driver, name=driver))
    answer = server.ask("PATCH", f"{SLICES}/{driver}", {}, content="application/x")
    assert (answer.status, answer.reason) == (415, "UnsupportedMediaType")


def test_older_versions_show_the_same_object_in_their_shape(server: Wire, driver: str) -> None:
    device = {"name": "a", "attributes": {"x": {"int": 1}}}
    server.make(SLICES, slice_of(driver, device, name=driver))
    old = server.ask("GET", f"/apis/resource.k8s.io/v1beta1/resourceslices/{driver}").body
    assert old["spec"]["devices"] == [{"name": "a", "basic": {"attributes": {"x": {"int": 1}}}}]
    between = server.ask("GET", f"/apis/resource.k8s.io/v1beta2/resourceslices/{driver}").body
    assert between["spec"]["devices"] == [device]
