"""Claims of pods: made from templates, resolved, given back: what pods need of Kubernetes' claim controller."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: the name under ``pod.spec.resourceClaims``."""


class ClaimMissing(DragomanError):
    """The pod names a claim or template that does not exist, or a claim that belongs to another pod."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of pods in one API server."""

    api: ApiServer

    def resolve(self, pod: JsonObject) -> list[tuple[str, JsonObject]]:
        """Give the pod's claims by their names in it; those of templates are made. Raises ``ClaimMissing``."""
        return [(entry["name"], self._claim(pod, entry)) for entry in pod["spec"].get("resourceClaims") or ()]

    def release(self, pod: JsonObject) -> None:
        """Take the pod off its claims, deallocate those that nobody uses now, and delete those made for it."""
        uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
        for claim in self.api.list("resourceclaims", namespace):
            status = dict(claim.get("status") or {})
            reserved = [consumer for consumer in status.get("reservedFor") or () if consumer["uid"] != uid]
            if len(reserved) < len(status.get("reservedFor") or ()):
                status["reservedFor"] = reserved
                if not reserved:
                    status.pop("allocation", None)
                    status.pop("reservedFor")
                self.api.update_status({**claim, "status": status})
            if any(owner["uid"] == uid for owner in claim["metadata"].get("ownerReferences") or ()):
                self.api.delete("resourceclaims", claim["metadata"]["name"], namespace)

    def _claim(self, pod: JsonObject, entry: JsonObject) -> JsonObject:
        metadata, template = pod["metadata"], entry.get("resourceClaimTemplateName", "")
        namespace = metadata["namespace"]
        try:
            name = self._made(metadata).get(entry["name"]) if template else entry.get("resourceClaimName", "")
            if name is None:
                return self._from_template(
                    pod, entry["name"], self.api.get("resourceclaimtemplates", template, namespace)
                )
            claim = self.api.get("resourceclaims", name, namespace)
        except ApiFault as fault:
            raise ClaimMissing(f"pod {namespace}/{metadata['name']}: {fault.message}") from fault
        owners = [owner["uid"] for owner in claim["metadata"].get("ownerReferences") or () if owner["kind"] == "Pod"]
        if owners and metadata["uid"] not in owners:
            raise ClaimMissing(f"pod {namespace}/{metadata['name']}: claim {name} was made for another pod")
        return claim

    def _made(self, metadata: JsonObject) -> dict[str, str]:
        """Read which claims were made for the pod already, by their names in it."""
        pod = self.api.get("pods", metadata["name"], metadata["namespace"])
        statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        return {status["name"]: status["resourceClaimName"] for status in statuses}

    def _from_template(self, pod: JsonObject, pod_claim: str, template: JsonObject) -> JsonObject:
        metadata, body = pod["metadata"], template.get("spec") or {}
        wanted = body.get("metadata") or {}
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": metadata["name"],
            "uid": metadata["uid"],
            "controller": True,
        }
        claim = self.api.create(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {
                    "generateName": f"{metadata['name']}-{pod_claim}-",
                    "namespace": metadata["namespace"],
                    "labels": wanted.get("labels") or {},
                    "annotations": {**(wanted.get("annotations") or {}), POD_CLAIM_NAME: pod_claim},
                    "ownerReferences": [owner],
                },
                "spec": body.get("spec") or {},
            }
        )
        current = self.api.get("pods", metadata["name"], metadata["namespace"])
        status = dict(current.get("status") or {})
        entry = {"name": pod_claim, "resourceClaimName": claim["metadata"]["name"]}
        status["resourceClaimStatuses"] = [*(status.get("resourceClaimStatuses") or ()), entry]
        self.api.update_status({**current, "status": status})
        return claim
