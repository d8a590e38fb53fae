"""Claims of pods: from templates, by name, and given back."""

from __future__ import annotations

import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects
from dragoman_testkit.sandbox.apiserver import ApiServer
from dragoman_testkit.sandbox.pod_claims import POD_CLAIM_NAME, ClaimMissing, PodClaims


@pytest.fixture
def api() -> ApiServer:
    api = ApiServer()
    api.create(demo_objects.template("nic", "lab", {}))
    return api


def direct(name: str = "own") -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": []}},
    }


def allocate(api: ApiServer, claim: JsonObject, *pods: JsonObject) -> None:
    reserved = [{"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]} for p in pods]
    api.update_status({**claim, "status": {"allocation": {"devices": {"results": []}}, "reservedFor": reserved}})


def pod_with_claim(api: ApiServer, name: str, claim: str) -> JsonObject:
    body = demo_objects.pod(name, "")
    body["spec"]["resourceClaims"] = [{"name": "nic", "resourceClaimName": claim}]
    return api.create(body)


def test_a_claim_is_made_from_a_template_once_and_named_in_the_status_of_the_pod(api: ApiServer) -> None:
    pod = api.create(demo_objects.pod("web", "nic"))
    claims = PodClaims(api)
    ((name, claim),) = claims.resolve(pod)
    metadata = claim["metadata"]
    assert name == "nic"
    assert metadata["name"].startswith("web-nic-")
    assert metadata["annotations"] == {POD_CLAIM_NAME: "nic"}
    assert [owner["uid"] for owner in metadata["ownerReferences"]] == [pod["metadata"]["uid"]]
    assert claim["spec"] == api.get("resourceclaimtemplates", "nic", "default")["spec"]["spec"]
    statuses = api.get("pods", "web", "default")["status"]["resourceClaimStatuses"]
    assert statuses == [{"name": "nic", "resourceClaimName": metadata["name"]}]
    assert claims.resolve(pod) == [("nic", claim)]


def test_a_missing_template_or_claim_is_named_and_makes_nothing_twice(api: ApiServer) -> None:
    body = demo_objects.pod("web", "nic")
    body["spec"]["resourceClaims"].append({"name": "more", "resourceClaimTemplateName": "missing"})
    pod = api.create(body)
    for _ in range(2):
        with pytest.raises(ClaimMissing, match=r'pod default/web: resourceclaimtemplates.*"missing" not found'):
            PodClaims(api).resolve(pod)
    assert len(api.list("resourceclaims")) == 1
    with pytest.raises(ClaimMissing, match='"other" not found'):
        PodClaims(api).resolve(pod_with_claim(api, "two", "other"))


def test_a_claim_that_was_made_for_another_pod_is_refused(api: ApiServer) -> None:
    ((_, claim),) = PodClaims(api).resolve(api.create(demo_objects.pod("web", "nic")))
    with pytest.raises(ClaimMissing, match="was made for another pod"):
        PodClaims(api).resolve(pod_with_claim(api, "thief", claim["metadata"]["name"]))


def test_a_claim_from_a_template_ends_with_its_pod(api: ApiServer) -> None:
    pod = api.create(demo_objects.pod("web", "nic"))
    ((_, claim),) = PodClaims(api).resolve(pod)
    allocate(api, claim, pod)
    PodClaims(api).release(pod)
    assert api.list("resourceclaims") == []


def test_a_claim_of_several_pods_is_deallocated_with_the_last(api: ApiServer) -> None:
    claim = api.create(direct())
    one, two = pod_with_claim(api, "one", "own"), pod_with_claim(api, "two", "own")
    allocate(api, claim, one, two)
    PodClaims(api).release(one)
    left = api.get("resourceclaims", "own", "default")["status"]
    assert "allocation" in left
    assert [consumer["name"] for consumer in left["reservedFor"]] == ["two"]
    PodClaims(api).release(two)
    assert api.get("resourceclaims", "own", "default")["status"] == {}
