"""A cluster is read in the version that it serves, by the rules of its release."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman_explain.live import Live
from dragoman_explain.release import features, release_of
from dragoman_explain.store import Unusable
from dragoman_hookspecs import ApiRefused, Cluster, JsonObject

from .cluster_folder import Json, claim, device, device_class, held, node, pod, run, save, slice_, template

GROUP = "/apis/resource.k8s.io"


class Server:
    """Answers reads from a table; what is not in it does not exist."""

    def __init__(self, version: str, minor: str, **collections: list[Json]) -> None:
        self.objects: dict[str, JsonObject] = {
            GROUP: {"versions": [{"version": version}]},
            "/version": {"major": "1", "minor": minor},
        }
        core = ("nodes", "pods", "namespaces/default/pods")
        self.lists = {
            f"/api/v1/{name}" if name in core else f"{GROUP}/{version}/{name}": [_bare(each) for each in found]
            for name, found in collections.items()
        }
        self.read: list[str] = []
        self.timeout: float | None = None

    def get(self, path: str) -> JsonObject:
        self.read.append(path)
        try:
            return self.objects[path]
        except KeyError:
            raise ApiRefused(f"{path}: not found", status=404) from None

    def list(self, path: str) -> Sequence[JsonObject]:
        self.read.append(path)
        try:
            return self.lists[path]
        except KeyError:
            raise ApiRefused(f"{path}: not found", status=404) from None

    def watch(self, path: str, changed: Callable[[str, JsonObject], None], stopped: threading.Event) -> None:
        raise NotImplementedError

    def apply(self, path: str, body: JsonObject) -> JsonObject:
        raise NotImplementedError

    def update(self, path: str, body: JsonObject) -> JsonObject:
        raise NotImplementedError

    def delete(self, path: str, *, uid: str | None = None) -> None:
        raise NotImplementedError


def _bare(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in ("apiVersion", "kind")}


def connecting(server: Server) -> Any:
    @contextmanager
    def connect(
        kubeconfig: Path | None, context: str | None, request_timeout: float | None = None
    ) -> Iterator[Cluster]:
        server.timeout = request_timeout
        yield server

    return connect


def cluster(version: str = "v1", minor: str = "37", **more: list[Json]) -> Server:
    collections: dict[str, list[Json]] = {
        "resourceslices": [slice_(device("d1"))],
        "deviceclasses": [device_class("nic")],
        "resourceclaims": [claim()],
        "nodes": [node()],
        "namespaces/default/resourceclaimtemplates": [template()],
        "namespaces/default/pods": [pod("web", {"name": "a", "resourceClaimName": "mine"})],
    }
    return Server(version, minor, **(collections | more))


def test_a_claim_of_a_cluster_is_explained() -> None:
    server = cluster()
    result = run("claim/mine", connect=connecting(server))
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        "claim default/mine: would be allocated on node node-a",
    )
    assert "/api/v1/pods" not in server.read


def test_a_pod_of_another_namespace_can_be_left_out() -> None:
    other = pod("db")
    other["metadata"]["namespace"] = "shop"
    theirs = held("theirs", "d1", users=[{"resource": "pods", "name": "db", "uid": "uid-db"}])
    server = cluster(resourceclaims=[claim(), theirs])
    server.lists["/api/v1/namespaces/shop/pods"] = [other]
    server.lists[f"{GROUP}/v1/namespaces/shop/resourceclaimtemplates"] = []
    result = run("claim/mine", "--without", "pod/shop/db", connect=connecting(server))
    assert (result.exception, result.exit_code) == (None, 0)


def test_how_long_an_answer_may_take_is_told_to_who_connects() -> None:
    server = cluster()
    assert run("claim/mine", "--request-timeout", "1m30s", connect=connecting(server)).exit_code == 0
    assert server.timeout == 90
    assert run("claim/mine", "--request-timeout", "soon", connect=connecting(server)).exit_code == 2


def test_objects_of_the_first_beta_are_read_in_their_shape() -> None:
    old_claim = claim() | {"spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "nic"}]}}}
    old_slice = slice_({"name": "d1", "basic": {"attributes": {"x": {"int": 1}}}})
    by_x = device_class("nic", 'device.attributes["dra.example.com"].x == 1')
    server = cluster("v1beta1", "34", resourceslices=[old_slice], resourceclaims=[old_claim], deviceclasses=[by_x])
    result = run("claim/mine", "-o", "json", connect=connecting(server))
    found = json.loads(result.stdout)
    assert (found["release"], found["subjects"][0]["state"]) == ("1.34", "would be allocated")


def test_the_newest_version_that_both_know_is_read() -> None:
    server = cluster()
    server.objects[GROUP] = {"versions": [{"version": each} for each in ("v9", "v1beta1", "v1", "v1beta2")]}
    assert Live.of(server).version == "v1"


def test_a_file_is_explained_against_a_cluster_with_its_namespace(tmp_path: Path) -> None:
    asked = save(tmp_path / "app.yaml", pod("app", {"name": "a", "resourceClaimTemplateName": "nics"}))
    result = run(asked, connect=connecting(cluster(resourceclaims=[held("theirs", "d1")])))
    assert result.exit_code == 3
    assert "held by claim default/theirs" in result.stdout


def test_a_cluster_without_claims_is_refused_in_words() -> None:
    server = cluster()
    del server.objects[GROUP]
    result = run("claim/mine", connect=connecting(server))
    assert "serves none of v1, v1beta2, v1beta1 of resource.k8s.io" in str(result.exception)


@pytest.mark.parametrize(
    ("major", "minor", "release"),
    [("1", "36", "1.36"), ("1", "35+", "1.35"), ("1", "37-gke.1", "1.37"), ("1", "99", "1.37"), ("2", "0", "1.37")],
)
def test_the_release_is_read_from_the_servers_version(major: str, minor: str, release: str) -> None:
    assert release_of({"major": major, "minor": minor}) == release


@pytest.mark.parametrize("version", [{}, {"major": "1", "minor": "33"}, {"major": None, "minor": "x"}])
def test_a_release_whose_rules_are_not_known_has_to_be_chosen(version: Json) -> None:
    with pytest.raises(Unusable, match="give --release"):
        release_of(version)


def test_options_change_the_gates_of_a_release() -> None:
    gates = features("1.36", "DRADeviceTaints=false, DRAListTypeAttributes=true")
    assert (gates.rules, gates.on("DRADeviceTaints"), gates.on("DRAListTypeAttributes")) == ("1.36", False, True)


# As deep as the API takes them, and deeper than any interpreter writes them.
@pytest.mark.parametrize("levels", [2000, 200_000])
def test_a_claim_with_deep_parameters_hides_no_other(levels: int) -> None:
    parameters: Json = {}
    for _ in range(levels):
        parameters = {"a": parameters}
    config = [{"source": "FromClaim", "opaque": {"driver": "dra.example.com", "parameters": parameters}}]
    theirs = held("theirs", "d1")
    theirs["spec"]["devices"]["config"] = theirs["status"]["allocation"]["devices"]["config"] = config
    server = cluster(resourceclaims=[claim(), theirs])
    result = run("claim/mine", connect=connecting(server))
    assert (result.exit_code, "held by claim default/theirs" in result.stdout) == (3, True)
    assert run("claim/theirs", connect=connecting(server)).exit_code == 0
    as_json = run("claim/theirs", "-o", "json", connect=connecting(server))
    if as_json.exit_code:
        assert isinstance(as_json.exception, Unusable)
        assert "nested too deeply to be written as JSON: ask for text" in str(as_json.exception)
    assert levels == 2000 or as_json.exit_code
