"""The verbs on stored objects: metadata, generations, preconditions, subresources, validation."""

from __future__ import annotations

import copy
import datetime as dt
import secrets
import uuid
from collections.abc import Callable, Iterable

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import apply
from dragoman_testkit.sandbox.apiserver.errors import Cause, already_exists, conflict, invalid, not_found
from dragoman_testkit.sandbox.apiserver.gates import drop_gated
from dragoman_testkit.sandbox.apiserver.resources import CLAIMS, SLICES, Resource
from dragoman_testkit.sandbox.apiserver.store import Store, key_of
from dragoman_testkit.sandbox.apiserver.validate_claims import ALLOCATION_CHANGED, allocated, check_claim, device_key
from dragoman_testkit.sandbox.apiserver.validate_slices import check_slice

_SERVER_METADATA = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
_CHECKS = {SLICES.full_name: check_slice, CLAIMS.full_name: check_claim}
_GENERATED = 58
"""``generateName`` is cut to so many characters before five random ones are added."""


class Registry:
    """Objects in the shape of v1. Every method may raise ``ApiFault``."""

    def __init__(self, store: Store, now: Callable[[], float], off: Callable[[], Iterable[str]]) -> None:
        self._store = store
        self._now = now
        self._off = off

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Read an object; it must not be changed."""
        found = self._store.get(resource, (namespace, name))
        if found is None:
            raise not_found(resource, name)
        return found

    def create(self, resource: Resource, obj: JsonObject, namespace: str) -> JsonObject:
        """Make an object; a status that comes along is dropped where status is a subresource."""
        new = drop_gated(obj, None, self._off())
        if resource.status:
            new.pop("status", None)
        new |= {"apiVersion": resource.api_version(), "kind": resource.kind}
        new["metadata"] = self._new_metadata(resource, new.get("metadata") or {}, namespace)
        if self._store.get(resource, key_of(new)) is not None:
            raise already_exists(resource, new["metadata"]["name"])
        self._stamp_taints(resource, new)
        self._check(resource, new, None)
        return self._store.put(resource, new)

    def update(self, resource: Resource, obj: JsonObject, namespace: str, *, status: bool = False) -> JsonObject:
        """Replace an object, or only its status. An update that changes nothing keeps the resource version."""
        metadata = obj.get("metadata") or {}
        name = str(metadata.get("name") or "")
        old = self.get(resource, namespace, name)
        self._check_preconditions(resource, old, metadata)
        return self._replace(resource, old, self._merged(old, obj, resource, status=status))

    def apply_status(
        self, resource: Resource, namespace: str, name: str, patch: JsonObject, manager: str, **strict: bool
    ) -> JsonObject:
        """Apply ``status.devices`` of a claim for a field manager."""
        old = self.get(resource, namespace, name)
        self._check_patched(resource, old, patch.get("metadata") or {})
        return self._replace(resource, old, apply.apply_devices(old, patch, manager, **strict))

    def refuse_allocation(self, resource: Resource, namespace: str, name: str) -> None:
        """Refuse a write of status for changing the allocation of a claim that has one."""
        if (self.get(resource, namespace, name).get("status") or {}).get("allocation"):
            raise invalid(resource, name, [ALLOCATION_CHANGED])

    def merge(self, resource: Resource, namespace: str, name: str, patch: JsonObject, *, status: bool) -> JsonObject:
        """Apply a merge patch."""
        old = self.get(resource, namespace, name)
        self._check_patched(resource, old, patch.get("metadata") or {})
        patched = apply.merge_patch(old, patch)
        return self._replace(resource, old, self._merged(old, patched, resource, status=status))

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        preconditions: JsonObject | None = None,
        grace_seconds: int | None = None,
    ) -> JsonObject:
        """Delete an object; finalizers, and the grace period of a scheduled pod, only mark it as deleted."""
        old = self.get(resource, namespace, name)
        self._check_preconditions(resource, old, preconditions or {})
        waits = resource.graceful and grace_seconds != 0 and (old.get("spec") or {}).get("nodeName")
        if not waits and not old["metadata"].get("finalizers"):
            return self._store.remove(resource, old)
        if "deletionTimestamp" in old["metadata"]:
            return old
        grace = 30 if grace_seconds is None else grace_seconds
        marks = {"deletionTimestamp": self.timestamp(), "deletionGracePeriodSeconds": grace if waits else 0}
        return self._store.put(resource, {**old, "metadata": {**old["metadata"], **marks}})

    def timestamp(self) -> str:
        """Give the present time as the API writes it."""
        return dt.datetime.fromtimestamp(int(self._now()), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _new_metadata(self, resource: Resource, given: JsonObject, namespace: str) -> JsonObject:
        metadata = {k: v for k, v in given.items() if k not in (*_SERVER_METADATA, "resourceVersion")}
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                cause = Cause("metadata.name", "FieldValueRequired", "name or generateName is required")
                raise invalid(resource, "", [cause])
            metadata["name"] = metadata["generateName"][:_GENERATED] + secrets.token_hex(3)[:5]
        if resource.namespaced:
            metadata["namespace"] = namespace or metadata.get("namespace") or "default"
        return metadata | {"uid": str(uuid.uuid4()), "creationTimestamp": self.timestamp(), "generation": 1}

    def _merged(self, old: JsonObject, obj: JsonObject, resource: Resource, *, status: bool) -> JsonObject:
        if status:
            new = {**old, "status": obj.get("status") or {}}
        else:
            server = {key: old["metadata"][key] for key in _SERVER_METADATA if key in old["metadata"]}
            own = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _SERVER_METADATA}
            new = {**obj, "metadata": {**own, **server}}
            new |= {"apiVersion": resource.api_version(), "kind": resource.kind}
            if resource.status:
                new.pop("status", None)
                new |= {"status": old["status"]} if "status" in old else {}
            if "namespace" in old["metadata"]:
                new["metadata"]["namespace"] = old["metadata"]["namespace"]
        return new

    def _replace(self, resource: Resource, old: JsonObject, new: JsonObject) -> JsonObject:
        new = drop_gated(new, old, self._off())
        _forget_deallocated(resource, new, old)
        self._stamp_taints(resource, new)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if new == old:
            return old
        self._check(resource, new, old)
        if "deletionTimestamp" in new["metadata"] and not new["metadata"].get("finalizers") and not resource.graceful:
            return self._store.remove(resource, new)
        return self._store.put(resource, new)

    def _stamp_taints(self, resource: Resource, new: JsonObject) -> None:
        if resource is not SLICES:
            return
        for device in (new.get("spec") or {}).get("devices") or ():
            for taint in device.get("taints") or ():
                taint.setdefault("timeAdded", self.timestamp())

    def _check(self, resource: Resource, new: JsonObject, old: JsonObject | None) -> None:
        check = _CHECKS.get(resource.full_name)
        causes = list(check(new, old)) if check else []
        if causes:
            raise invalid(resource, new["metadata"]["name"], causes)

    def _check_patched(self, resource: Resource, old: JsonObject, wanted: JsonObject) -> None:
        """What a patch says of the UID would change it; elsewhere it is a precondition."""
        if wanted.get("uid") not in (None, "", old["metadata"]["uid"]):
            cause = Cause("metadata.uid", "FieldValueInvalid", f'Invalid value: "{wanted["uid"]}": field is immutable')
            raise invalid(resource, old["metadata"]["name"], [cause])
        self._check_preconditions(resource, old, wanted)

    def _check_preconditions(self, resource: Resource, old: JsonObject, wanted: JsonObject) -> None:
        have = old["metadata"]
        if wanted.get("uid") not in (None, "", have["uid"]):
            why = f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {have['uid']}"
            raise conflict(resource, have["name"], why)
        if wanted.get("resourceVersion") not in (None, "", have["resourceVersion"]):
            raise conflict(resource, have["name"], "the object has been modified; please apply your changes")


def _forget_deallocated(resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Drop status entries of devices that the claim had and no longer has."""
    if resource is not CLAIMS or not (new.get("status") or {}).get("devices"):
        return
    gone = allocated(old) - allocated(new)
    kept = [entry for entry in new["status"]["devices"] if device_key(entry) not in gone]
    new["status"] = {**new["status"], "devices": copy.deepcopy(kept)}
    if not kept:
        del new["status"]["devices"]
