"""Requests about the slices of one node and driver."""

from __future__ import annotations

from typing import Any

from loguru import logger

from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError
from dragoman.kube.slice_cache import SliceList, SliceObject
from dragoman.kube.slice_compare import flat
from dragoman.kube.slice_plan import StoredSlice
from dragoman.kube.versions import Api
from dragoman_hookspecs import JsonObject


class SliceWriter:
    """Lists, creates, updates and deletes. Every method may raise ``ApiError`` or ``ServerUnavailable``."""

    def __init__(self, client: KubeClient, *, driver: str, node: str) -> None:
        self._client = client
        self._driver = driver
        self._node = node
        self._owner: list[JsonObject] = []

    @property
    def selector(self) -> str:
        """Field selector of this node's and driver's slices."""
        return f"spec.nodeName={self._node},spec.driver={self._driver}"

    async def fetch(self, api: Api) -> SliceList:
        """List the slices of this node and driver."""
        path = collection(api)
        return decode(path, await self._client.get(path, {"fieldSelector": self.selector}), SliceList)

    async def create(self, api: Api, name: str, pool: JsonObject, content: JsonObject) -> StoredSlice:
        """Create a slice that goes away with the Node object."""
        metadata: JsonObject = {"name": name}
        if owner := await self._owner_references():
            metadata["ownerReferences"] = owner
        return await self._send("POST", collection(api), self._body(api, metadata, pool, content))

    async def update(self, api: Api, old: StoredSlice, pool: JsonObject, content: JsonObject) -> StoredSlice:
        """Replace a slice's content; taints that stay keep the time at which they were added."""
        path = f"{collection(api)}/{old.name}"
        return await self._send("PUT", path, self._body(api, old.metadata, pool, _with_times(content, old.spec)))

    async def delete(self, api: Api, old: StoredSlice) -> None:
        """Delete a slice in the form that is known; gone or changed by another hand is seen by the next list."""
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": old.uid, "resourceVersion": old.resource_version},
        }
        try:
            await self._client.request("DELETE", f"{collection(api)}/{old.name}", body=body)
        except ApiError as error:
            if error.status != 404 or error.not_served:
                raise

    def forget_owner(self) -> None:
        """Read the Node's UID again before the next create: the node may have been registered anew."""
        self._owner = []

    async def _owner_references(self) -> list[JsonObject]:
        if not self._owner and (uid := await self._node_uid()):
            self._owner = [{"apiVersion": "v1", "kind": "Node", "name": self._node, "uid": uid, "controller": True}]
        return self._owner

    async def _node_uid(self) -> str | None:
        path = f"/api/v1/nodes/{self._node}"
        try:
            node = decode(path, await self._client.get(path), dict[str, Any])
        except ApiError as error:
            logger.bind(node=self._node).warning("slices are published without an owner: {}", error)
            return None
        return str(node["metadata"]["uid"])

    def _body(self, api: Api, metadata: JsonObject, pool: JsonObject, content: JsonObject) -> JsonObject:
        spec = {"driver": self._driver, "nodeName": self._node, "pool": pool, **content}
        return {"apiVersion": api.api_version, "kind": "ResourceSlice", "metadata": metadata, "spec": spec}

    async def _send(self, method: str, path: str, body: JsonObject) -> StoredSlice:
        return decode(path, await self._client.request(method, path, body=body), SliceObject).stored()


def collection(api: Api) -> str:
    """Path of all slices."""
    return f"{api.root}/resourceslices"


def _with_times(content: JsonObject, spec: JsonObject) -> JsonObject:
    times = {
        (device.get("name"), *_identity(taint)): taint["timeAdded"]
        for device in map(flat, spec.get("devices") or ())
        for taint in device.get("taints") or ()
        if taint.get("timeAdded")
    }
    if not times or "devices" not in content:
        return content
    return {**content, "devices": [_timed(device, times) for device in content["devices"]]}


def _timed(device: JsonObject, times: dict[tuple[Any, ...], str]) -> JsonObject:
    inner = device.get("basic", device)
    if not inner.get("taints"):
        return device
    known = [(taint, times.get((device["name"], *_identity(taint)))) for taint in inner["taints"]]
    taints = [taint if time is None else {**taint, "timeAdded": time} for taint, time in known]
    return {**device, "basic": {**inner, "taints": taints}} if "basic" in device else {**device, "taints": taints}


def _identity(taint: JsonObject) -> tuple[Any, ...]:
    return taint.get("key"), taint.get("value") or "", taint.get("effect")
