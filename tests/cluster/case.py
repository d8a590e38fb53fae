"""A test's own namespace on the node, with the words that tests need."""

from __future__ import annotations

import contextlib
import http
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.cluster.agent import Agent
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.node import Node
from tests.cluster.waiting import PATIENCE, NotReached, until

T = TypeVar("T")


class Case:
    """``api`` is the administrator's, in the namespace. Waiting raises ``NotReached`` and tells what is there."""

    def __init__(self, node: Node, agent: Agent, namespace: str) -> None:
        self.node = node
        self.agent = agent
        self.namespace = namespace
        self.api: Api = node.api.within(namespace)

    def open(self) -> None:
        """Make the namespace and its pods' account, for which the controller manager takes long after an API outage."""
        self.node.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        try:
            self.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})
        except ApiError as error:
            if error.code != http.HTTPStatus.CONFLICT:
                raise

    def close(self, limit: float = PATIENCE) -> None:
        """Delete everything in it, and wait until pods and claims are gone."""
        self.api = self.node.api.within(self.namespace)
        self.until(self._deleted, "everything is being deleted", limit)
        self.until(lambda: not self.api.list("Pod"), "the pods are gone", limit)
        self.until(lambda: not self.api.list("ResourceClaim"), "the claims are gone", limit)

    def create(self, *manifests: Object) -> None:
        """Create objects."""
        for manifest in manifests:
            self.api.create(manifest)

    def pod(self, name: str) -> Object:
        """Give a pod that is there."""
        found = self.api.get("Pod", name)
        assert found, f"there is no pod {name}"
        return found

    def claim(self, name: str) -> Object:
        """Give a claim that is there."""
        found = self.api.get("ResourceClaim", name)
        assert found, f"there is no claim {name}"
        return found

    def claim_of(self, pod: str, name: str) -> Object:
        """Give the claim that a pod calls ``name``, made from a template or not."""
        found = self.pod(pod)
        entries = (*found["status"].get("resourceClaimStatuses", ()), *found["spec"]["resourceClaims"])
        return self.claim(next(each["resourceClaimName"] for each in entries if each["name"] == name))

    def running(self, *names: str, limit: float = PATIENCE) -> Object:
        """Wait until all containers of these pods run, and give the last pod."""
        for name in names:
            self.until(lambda name=name: _runs(self.pod(name)), f"pod {name} runs", limit)  # type: ignore[misc]  # mypy cannot infer it
        return self.pod(names[-1])

    def phase(self, name: str, *phases: str, limit: float = PATIENCE) -> Object:
        """Wait until a pod is in one of these phases."""
        self.until(lambda: self.pod(name)["status"]["phase"] in phases, f"pod {name} is {' or '.join(phases)}", limit)
        return self.pod(name)

    def waits(self, name: str, reason: str, said: str) -> None:
        """Wait until a container of the pod waits for that reason (``CreateContainerError``), with that in its message.

        Before that it may have waited for another one: each attempt has its own.
        """
        self.until(lambda: said in _waiting(self.pod(name), reason), f"pod {name} waits for {reason}: {said}")

    def delete(self, *names: str, grace: int | None = None, limit: float = PATIENCE) -> None:
        """Delete pods, and wait until they are gone."""
        for name in names:
            self.api.delete("Pod", name, grace=grace)
        for name in names:
            self.until(lambda name=name: self.api.get("Pod", name) is None, f"pod {name} is gone", limit)  # type: ignore[misc]  # as above

    def exec(self, pod: str, *command: str, container: str = "", limit: float = 120.0) -> str:
        """Run a command in a container. Raises ``Failed``."""
        where = ["--container", container] if container else []
        return self.node.kubectl("exec", "--namespace", self.namespace, pod, *where, "--", *command, limit=limit)

    def root(self, pod: str, container: str = "app") -> Path:
        """Give the path under which this process finds a container's files, as the container sees them."""
        statuses = self.pod(pod)["status"]["containerStatuses"]
        wanted = next(each["containerID"] for each in statuses if each["name"] == container).partition("//")[2]
        tasks = (line.split() for line in self.node.ctr("tasks", "list").splitlines())
        pid = next(pid for id_, pid, *_ in tasks if id_ == wanted)
        return self.node.spaces.path(f"/proc/{pid}/root")

    def log(self, pod: str, container: str = "app") -> str:
        """Give what a container has printed."""
        return self.api.raw("GET", f"{self.api.path('Pod', pod)}/log", query={"container": container})

    def events(self, name: str, reason: str = "") -> list[Object]:
        """Give the events about an object, by its name; ``reason``: of that one only."""
        found = self.api.list("Event", fieldSelector=f"involvedObject.name={name}")
        return [each for each in found if reason in {"", each["reason"]}]

    def event(self, name: str, reason: str, said: str = "") -> Object:
        """Wait for an event, with that in its message, and give it. There may be others before."""

        def found() -> list[Object]:
            return [each for each in self.events(name, reason) if said in (each.get("message") or "")]

        return self.until(found, f"event {reason} about {name}: {said}")[0]

    def rows(self) -> list[Object]:
        """Give the rows of the agent's ledger that belong to this namespace."""
        return [row for row in self.agent.allocations() if row["claim"].startswith(f"{self.namespace}/")]

    def until(self, look: Callable[[], T | None], what: str, limit: float = PATIENCE) -> T:
        """Wait for a state of the node or of its objects."""
        try:
            return until(look, what, limit)
        except NotReached as error:
            with contextlib.suppress(OSError):  # the API server may be away
                raise NotReached("\n".join([str(error), *self._told()])) from error
            raise

    def _deleted(self) -> bool:
        for kind in ("Job", "Pod", "ResourceClaim"):
            self.api.request("DELETE", self.api.path(kind), query={"propagationPolicy": "Background"})
        self.api.delete("Namespace", self.namespace)
        return True

    def _told(self) -> list[str]:
        pods = [f"pod {pod['metadata']['name']}: {_summary(pod)}" for pod in self.api.list("Pod")]
        events = [f"{e['involvedObject']['name']}: {e['reason']}: {e.get('message')}" for e in self.api.list("Event")]
        return [*pods, *events[-20:]]


def _runs(pod: Object) -> bool:
    statuses = pod["status"].get("containerStatuses", ())
    return len(statuses) == len(pod["spec"]["containers"]) and all("running" in each["state"] for each in statuses)


def _waiting(pod: Object, reason: str) -> str:
    status = pod["status"]
    for each in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        waiting = each["state"].get("waiting", {})
        if waiting.get("reason") == reason:
            return str(waiting.get("message") or reason)
    return ""


def _summary(pod: Object) -> str:
    status = pod["status"]
    conditions = [f"{c['type']}: {c['message']}" for c in status.get("conditions", ()) if c.get("message")]
    states = [f"{c['name']}: {c['state']}" for c in status.get("containerStatuses", ())]
    return "; ".join([status.get("phase", "?"), *conditions, *states])
