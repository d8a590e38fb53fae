"""``dragoman sandbox apply`` of objects that are there: as ``kubectl apply``, it changes what manifests say."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiServer
from dragoman_testkit.sandbox.play_apply import Applying

CLAIMS = [{"name": "nic", "resourceClaimName": "a"}]


def pod(*, labels: dict[str, str] | None = None, **spec: Any) -> JsonObject:
    body = {"containers": [{"name": "c", "command": ["sleep", "1"]}], "resourceClaims": CLAIMS, **spec}
    metadata = {"name": "web", **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


@pytest.fixture
def api() -> ApiServer:
    return ApiServer()


@pytest.fixture
def applying(api: ApiServer) -> Applying:
    return Applying(api)


def run_on_a_node(api: ApiServer) -> JsonObject:
    """Do with the pod what scheduler and kubelet do; give it as it then is."""
    live = api.get("pods", "web", "default")
    live["spec"]["nodeName"] = "n1"
    live = api.update(live)
    live["status"] = {"phase": "Running"}
    return api.update_status(live)


def test_the_same_again_leaves_a_running_pod_as_it_is(api: ApiServer, applying: Applying) -> None:
    assert applying.write(pod(), "pods", "default") == "created"
    running = run_on_a_node(api)

    assert applying.write(pod(), "pods", "default") == "unchanged"
    assert api.get("pods", "web", "default") == running


def test_a_change_keeps_what_the_cluster_has_set(api: ApiServer, applying: Applying) -> None:
    applying.write(pod(), "pods", "default")
    run_on_a_node(api)

    assert applying.write(pod(labels={"a": "b"}, hostname="h"), "pods", "default") == "changed"
    live = api.get("pods", "web", "default")
    assert (live["spec"]["nodeName"], live["spec"]["hostname"]) == ("n1", "h")
    assert (live["status"], live["metadata"]["labels"]) == ({"phase": "Running"}, {"a": "b"})


def test_what_the_manifest_says_no_more_goes(api: ApiServer, applying: Applying) -> None:
    applying.write(pod(labels={"a": "b", "c": "d"}, hostname="h"), "pods", "default")
    run_on_a_node(api)
    applying.write(pod(labels={"a": "b"}), "pods", "default")
    assert api.get("pods", "web", "default")["metadata"]["labels"] == {"a": "b"}

    assert applying.write(pod(), "pods", "default") == "changed"
    live = api.get("pods", "web", "default")
    assert live["spec"] == {**pod()["spec"], "nodeName": "n1"}
    assert "labels" not in live["metadata"]


def test_a_list_is_replaced_as_a_whole(api: ApiServer, applying: Applying) -> None:
    applying.write(pod(), "pods", "default")

    applying.write(pod(resourceClaims=[{"name": "other"}]), "pods", "default")

    assert api.get("pods", "web", "default")["spec"]["resourceClaims"] == [{"name": "other"}]


def test_an_object_that_another_made_under_the_same_name_is_changed_from_what_it_is(
    api: ApiServer, applying: Applying
) -> None:
    applying.write(pod(hostname="h"), "pods", "default")
    api.delete("pods", "web", "default")
    api.create(pod(hostname="theirs"))

    assert applying.write(pod(subdomain="s"), "pods", "default") == "changed"
    spec = api.get("pods", "web", "default")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("theirs", "s")
