"""What the API server is told of pods: phase, conditions, containers, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer
from dragoman_testkit.sandbox.kubelet import ContainerSpec, PodSpec

IDLE = ("sleep", "infinity")
"""What a container runs that names no command: images are not pulled here."""


@dataclass(slots=True)
class PodRecords:
    """Writes the status and the events of pods. Writes about pods that are gone do nothing."""

    api: ApiServer
    node_name: str
    _events: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def wanted(self, pod: JsonObject) -> bool:
        """Tell whether the pod still exists and is not being deleted."""
        current = self._read(pod)
        return current is not None and "deletionTimestamp" not in current["metadata"]

    def unschedulable(self, pod: JsonObject, why: str) -> None:
        """Tell that the pod waits for devices; the same reason twice is written once."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
        self._change(pod, phase="Pending", conditions=[condition])

    def scheduled(self, pod: JsonObject) -> None:
        """Tell that the pod's claims are allocated."""
        current = self._read(pod)
        if current and not current["spec"].get("nodeName"):
            self.api.update({**current, "spec": {**current["spec"], "nodeName": self.node_name}})
        self._change(pod, phase="Pending", conditions=[{"type": "PodScheduled", "status": "True"}])

    def waiting(self, pod: JsonObject, container: str, reason: str, message: str, restarts: int) -> None:
        """Tell that a container could not be made or started; also as an event, as kubelets do."""
        state = {"waiting": {"reason": reason, "message": message}}
        self._container(pod, container, state, restarts)
        self.event(pod, "Failed", f"{reason}: {message}")

    def running(self, pod: JsonObject, container: str, restarts: int, ips: Sequence[str]) -> None:
        """Tell that a container runs; the pod does once none of its containers waits."""
        self._container(pod, container, {"running": {}}, restarts)
        self._change(pod, podIP=ips[0], podIPs=[{"ip": ip} for ip in ips])

    def ended(self, pod: JsonObject, container: str, code: int, restarts: int) -> None:
        """Tell that a container's process has ended."""
        self._container(pod, container, {"terminated": {"exitCode": code}}, restarts)

    def phase(self, pod: JsonObject, phase: str) -> None:
        """Tell the phase."""
        self._change(pod, phase=phase)

    def gone(self, pod: JsonObject) -> None:
        """Remove the pod's object, as the kubelet does when nothing of the pod is left."""
        if self._read(pod):
            self.api.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])

    def event(self, pod: JsonObject, reason: str, message: str) -> None:
        """Write a warning about the pod; the same one again is counted."""
        metadata = pod["metadata"]
        name = self._events.get((metadata["uid"], reason, message))
        if name is not None:
            event = self.api.get("events", name, metadata["namespace"])
            self.api.update({**event, "count": event["count"] + 1})
            return
        about = {"kind": "Pod", "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}
        event = self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
                "involvedObject": about,
                "reason": reason,
                "message": message,
                "type": "Warning",
                "count": 1,
            }
        )
        self._events[metadata["uid"], reason, message] = event["metadata"]["name"]

    def _container(self, pod: JsonObject, name: str, state: JsonObject, restarts: int) -> None:
        current = self._read(pod) or {}
        entry = {"name": name, "restartCount": restarts, "ready": "running" in state, "state": state}
        known = {entry["name"]: entry for entry in (current.get("status") or {}).get("containerStatuses") or ()}
        statuses = list({**known, name: entry}.values())
        all_told = len(statuses) == len(pod["spec"]["containers"])
        running = all_told and not any("waiting" in status["state"] for status in statuses)
        self._change(pod, phase="Running" if running else "Pending", containerStatuses=statuses)

    def _change(self, pod: JsonObject, **status: object) -> None:
        if current := self._read(pod):
            self.api.update_status({**current, "status": {**(current.get("status") or {}), **status}})

    def _read(self, pod: JsonObject) -> JsonObject | None:
        metadata = pod["metadata"]
        try:
            current = self.api.get("pods", metadata["name"], metadata["namespace"])
        except ApiFault:
            return None
        return current if current["metadata"]["uid"] == metadata["uid"] else None


def pod_spec(pod: JsonObject, claims: Sequence[tuple[str, JsonObject]]) -> PodSpec:
    """Give the pod to the kubelet stand-in, with its claims resolved."""
    metadata = pod["metadata"]
    refs = [
        (name, ClaimRef(uid=c["metadata"]["uid"], namespace=c["metadata"]["namespace"], name=c["metadata"]["name"]))
        for name, c in claims
    ]
    containers = [
        ContainerSpec(
            name=body["name"],
            claims=[(c["name"], c.get("request")) for c in (body.get("resources") or {}).get("claims") or ()],
        )
        for body in pod["spec"]["containers"]
    ]
    return PodSpec(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        claims=refs,
        containers=containers,
    )


def command(container: JsonObject) -> list[str]:
    """Give what a container runs."""
    return [*(container.get("command") or ()), *(container.get("args") or ())] or list(IDLE)
