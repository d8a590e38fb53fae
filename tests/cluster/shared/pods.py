"""Pods and their claims beside a kubelet: started, looked at and stopped alike with the stand-in and the real one.

Claims are allocated by hand and pods bound by hand, so that neither scheduler nor slices matter.
"""

from __future__ import annotations

import abc
import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.kubelet import ContainerSpec, FakeKubelet, PodSpec, PrepareFailed, UnprepareFailed
from tests.cluster import files, objects
from tests.cluster.node import Node
from tests.cluster.shared.wire import unique

NAMESPACE = "kubelets"
POOL = "pool"
REQUEST = "net"
_AGAIN = 0.3
"""Seconds after which the stand-in's pods try again."""

Containers = Sequence[tuple[str, Sequence[tuple[ClaimRef, str]]]]
"""Name of each container, and its claims, each with a request or "" for all."""


@dataclass(frozen=True, slots=True)
class Result:
    """A device that a claim was given."""

    driver: str
    device: str = "dev-0"
    request: str = REQUEST


class Pods(abc.ABC):
    """``claim`` gives an allocated claim, ``start`` the name of a pod that uses claims: all in its container ``app``.

    A pod starts when it can, and is tried again until then.
    """

    @abc.abstractmethod
    def claim(self, *results: Result, name: str = "") -> ClaimRef:
        """Make a claim that has these devices."""

    @abc.abstractmethod
    def start(self, *claims: ClaimRef, containers: Containers = ()) -> str:
        """Start a pod."""

    @abc.abstractmethod
    def stop(self, pod: str) -> None:
        """Have it end; that it is gone is not waited for."""

    @abc.abstractmethod
    def gone(self, pod: str) -> bool:
        """Tell whether it has ended, and its claims are unprepared where they had to be."""

    @abc.abstractmethod
    def prepared(self, pod: str) -> bool:
        """Tell whether its claims were prepared and it has a sandbox."""

    @abc.abstractmethod
    def new_sandbox(self, pod: str) -> None:
        """Kill its sandbox, so that it gets another."""

    @abc.abstractmethod
    def look(self, pod: str) -> None:
        """Have the kubelet look at it now, and not only at the next of its rounds, which are a minute apart."""

    @abc.abstractmethod
    def refusals(self, pod: str) -> str:
        """Tell why its claims could not be prepared, up to now."""

    @abc.abstractmethod
    def health(self, pod: str) -> dict[str, list[JsonObject]]:
        """Give the health of the devices of container ``app``: by the name of the claim, in no order."""

    @abc.abstractmethod
    def ids(self, pod: str, container: str) -> list[str]:
        """Give the CDI ids that the container is made with, of which none can be resolved; empty before."""


class FakePods(Pods):
    """The stand-in's. ``run`` runs in its thread; ``kubelet`` is set once there is one."""

    kubelet: FakeKubelet

    def __init__(self, run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._run = run
        self._claims: dict[str, JsonObject] = {}
        self._specs: dict[str, PodSpec] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._prepared: set[str] = set()
        self._refusals: dict[str, list[str]] = {}

    async def read(self, _namespace: str, name: str) -> JsonObject | None:
        """Read a claim, as the API server has it."""
        return self._claims.get(name)

    async def close(self) -> None:
        """End what is still tried."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def claim(self, *results: Result, name: str = "") -> ClaimRef:
        name = name or unique("claim")
        self._claims[name] = {"metadata": {"uid": f"uid-{name}"}, "status": {"allocation": _allocation(results)}}
        return ClaimRef(uid=f"uid-{name}", namespace=NAMESPACE, name=name)

    def start(self, *claims: ClaimRef, containers: Containers = ()) -> str:
        name = unique("pod")
        used = containers or [("app", [(ref, "") for ref in claims])]
        self._specs[name] = PodSpec(
            uid=f"uid-{name}",
            namespace=NAMESPACE,
            name=name,
            claims=[(ref.name, ref) for ref in claims],
            containers=[
                ContainerSpec(name=each, claims=[(ref.name, request or None) for ref, request in asked])
                for each, asked in used
            ],
        )
        for ref in claims:
            reserved = self._claims[ref.name]["status"].setdefault("reservedFor", [])
            reserved += [{"resource": "pods", "name": name, "uid": f"uid-{name}"}]
        self._begin(name, self._prepare(name))
        return name

    def stop(self, pod: str) -> None:
        self._begin(pod, self._unprepare(pod))

    def gone(self, pod: str) -> bool:
        return pod not in self._specs

    def prepared(self, pod: str) -> bool:
        return pod in self._prepared

    def new_sandbox(self, pod: str) -> None:
        self._prepared.discard(pod)
        self._begin(pod, self._prepare(pod))

    def look(self, pod: str) -> None:
        """It looks all the time."""

    def refusals(self, pod: str) -> str:
        return "\n".join(self._refusals.get(pod, ()))

    def health(self, pod: str) -> dict[str, list[JsonObject]]:
        return {each["name"]: each["resources"] for each in self.kubelet.pod_status(self._specs[pod])["app"]}

    def ids(self, pod: str, container: str) -> list[str]:
        return self.kubelet.cdi_devices(self._specs[pod], container)

    def _begin(self, pod: str, work: Coroutine[Any, Any, None]) -> None:
        async def begin() -> None:
            if former := self._tasks.pop(pod, None):
                former.cancel()
                await asyncio.gather(former, return_exceptions=True)
            self._tasks[pod] = asyncio.create_task(work)

        self._run(begin())

    async def _prepare(self, pod: str) -> None:
        while True:
            try:
                await self.kubelet.prepare_pod(self._specs[pod])
            except PrepareFailed as error:
                self._refusals.setdefault(pod, []).append(str(error))
                await asyncio.sleep(_AGAIN)
            else:
                self._prepared.add(pod)
                return

    async def _unprepare(self, pod: str) -> None:
        while True:
            try:
                await self.kubelet.unprepare_pod(self._specs[pod])
            except UnprepareFailed:
                await asyncio.sleep(_AGAIN)
            else:
                del self._specs[pod]
                return


class RealPods(Pods):
    """The node's."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._api = node.api.within(NAMESPACE)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        for manifest in (namespace, account):
            self._api.apply(manifest)

    def claim(self, *results: Result, name: str = "") -> ClaimRef:
        requests = [objects.request(each.request, "any") for each in results]
        made = self._api.create(objects.claim(name or unique("claim"), *requests))
        status = {"status": {"allocation": _allocation(results)}}
        self._api.patch("ResourceClaim", made["metadata"]["name"], status, "status")
        return ClaimRef(uid=made["metadata"]["uid"], namespace=NAMESPACE, name=made["metadata"]["name"])

    def start(self, *claims: ClaimRef, containers: Containers = ()) -> str:
        used = containers or [("app", [(ref, "") for ref in claims])]
        inside = [
            objects.container(each, *({"name": ref.name} | ({"request": of} if of else {}) for ref, of in asked))
            for each, asked in used
        ]
        claimed = [objects.of_claim(ref.name) for ref in claims]
        pod = objects.pod(unique("pod"), *claimed, containers=inside, schedulerName="nobody")
        made = self._api.create(pod)["metadata"]
        for ref in claims:
            self._reserve(ref, {"resource": "pods", "name": made["name"], "uid": made["uid"]})
        target = {"apiVersion": "v1", "kind": "Node", "name": files.NODE}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": made["name"]}, "target": target}
        self._api.request("POST", f"{self._api.path('Pod', made['name'])}/binding", binding)
        return str(made["name"])

    def stop(self, pod: str) -> None:
        self._api.delete("Pod", pod)

    def gone(self, pod: str) -> bool:
        return self._api.get("Pod", pod) is None

    def prepared(self, pod: str) -> bool:
        conditions = self._status(pod).get("conditions", ())
        return any(each["type"] == "PodReadyToStartContainers" and each["status"] == "True" for each in conditions)

    def new_sandbox(self, pod: str) -> None:
        uid = (self._api.get("Pod", pod) or {})["metadata"]["uid"]
        wanted = f'labels."io.kubernetes.pod.uid"=={uid},labels."io.cri-containerd.kind"==sandbox'
        for id_ in self._node.ctr("containers", "list", "--quiet", wanted).split():
            self._node.ctr("tasks", "kill", "--signal=SIGKILL", id_, check=False)

    def look(self, pod: str) -> None:
        self._api.patch("Pod", pod, {"metadata": {"annotations": {"example.com/look": unique("look")}}})

    def refusals(self, pod: str) -> str:
        query = f"involvedObject.name={pod},reason=FailedPrepareDynamicResources"
        return "\n".join(event["message"] for event in self._api.list("Event", fieldSelector=query))

    def health(self, pod: str) -> dict[str, list[JsonObject]]:
        status = next((each for each in self._statuses(pod) if each["name"] == "app"), {})
        return {each["name"]: each["resources"] for each in status.get("allocatedResourcesStatus", ())}

    def ids(self, pod: str, container: str) -> list[str]:
        status = next((each for each in self._statuses(pod) if each["name"] == container), {})
        message = status.get("state", {}).get("waiting", {}).get("message", "")
        found = re.search(r"unresolvable CDI devices (.*)$", message)
        return found.group(1).split(", ") if found else []

    def _reserve(self, ref: ClaimRef, consumer: JsonObject) -> None:
        claim = self._api.get("ResourceClaim", ref.name)
        assert claim, f"there is no claim {ref}"
        reserved = [*claim["status"].get("reservedFor", ()), consumer]
        self._api.patch("ResourceClaim", ref.name, {"status": {"reservedFor": reserved}}, "status")

    def _status(self, pod: str) -> JsonObject:
        found: JsonObject = (self._api.get("Pod", pod) or {}).get("status", {})
        return found

    def _statuses(self, pod: str) -> list[JsonObject]:
        found: list[JsonObject] = self._status(pod).get("containerStatuses", [])
        return found


def _allocation(results: Sequence[Result]) -> JsonObject:
    given = [{"request": each.request, "driver": each.driver, "pool": POOL, "device": each.device} for each in results]
    return {"devices": {"results": given}}
