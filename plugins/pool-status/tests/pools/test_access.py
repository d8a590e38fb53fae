"""The account of the controller has the rights that its requests need, and no others."""

import logging
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from dragoman_pool_status.controller import Controlling
from dragoman_pool_status.kinds import BUILT_IN, CLAIMS, OWN, RULES, SLICES
from dragoman_pool_status.moments import seconds_of

from .memorycluster import MemoryCluster
from .poolobjects import complete, request

FILE = Path(__file__).resolve().parents[4] / "deploy" / "manifests" / "controller-access.yaml"
OBJECTS: dict[str, dict[str, Any]] = {each["kind"]: each for each in yaml.safe_load_all(FILE.read_text("utf-8"))}
NOW = "2026-03-01T10:00:00Z"
EARLIER = "2026-03-01T08:00:00Z"
Right = tuple[str, str, str]
"""API group, resource with its subresource, verb."""


class NotingCluster(MemoryCluster):
    """Notes which rights an API server would ask for: a PUT is an update, and a watch begins with a list."""

    def __init__(self, *collections: str) -> None:
        super().__init__(*collections)
        self.needed: set[Right] = set()

    def watch(self, path: str, changed: Callable[[str, dict[str, Any]], None], stopped: threading.Event) -> None:
        self._note(path, "list", "watch")
        super().watch(path, changed, stopped)

    def update(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self._note(path, "update")
        return super().update(path, body)

    def delete(self, path: str, *, uid: str | None = None) -> None:
        self._note(path, "delete")
        super().delete(path, uid=uid)

    def _note(self, path: str, *verbs: str) -> None:
        _, _, group, _, resource, *name_and_part = path.split("/")
        part = name_and_part[1:]
        self.needed |= {(group, "/".join([resource, *part]), verb) for verb in verbs}


def granted() -> set[Right]:
    return {
        right
        for rule in OBJECTS["ClusterRole"]["rules"]
        for right in product(rule["apiGroups"], rule["resources"], rule["verbs"])
    }


def test_a_controller_that_answers_and_tidies_up_needs_just_what_its_role_grants() -> None:
    cluster = NotingCluster(SLICES, CLAIMS, RULES[0], BUILT_IN.path, OWN.path)
    for kind in (BUILT_IN, OWN):
        cluster.put(kind.path, request("new"))
        cluster.put(kind.path, complete(request("old", created=EARLIER), EARLIER))
    controlling = Controlling(cluster, logging.getLogger("test"), grace=0, clock=lambda: seconds_of(NOW) or 0.0)
    stopped = threading.Event()
    thread = threading.Thread(target=controlling.run, args=(stopped,), daemon=True)
    thread.start()
    for kind in (BUILT_IN, OWN):
        cluster.wait_for(kind.of("new"), lambda body: body is not None and "status" in body)
        cluster.wait_for(kind.of("old"), lambda body: body is None)
    stopped.set()
    thread.join(60)

    assert cluster.needed == granted()


def test_the_role_is_bound_to_the_account() -> None:
    role, account, binding = (OBJECTS[kind] for kind in ("ClusterRole", "ServiceAccount", "ClusterRoleBinding"))

    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("ClusterRole", role["metadata"]["name"])
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]
    assert account["metadata"]["namespace"] == OBJECTS["Namespace"]["metadata"]["name"]
