"""Writes this driver's entries of ``status.devices`` with server-side apply."""

from __future__ import annotations

import functools
from http import HTTPStatus

from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.claims import ClaimObject, claim_path, get_claim
from dragoman.kube.client import APPLY_PATCH, KubeClient, decode
from dragoman.kube.conditions import TransitionTimes, entry_key
from dragoman.kube.errors import REPLACED, ApiError, ServerUnavailable, replacement
from dragoman.kube.status_exact import LooseClaims, put_exactly, takes_it_for_another_allocation
from dragoman.kube.status_json import entry_json
from dragoman.kube.times import timestamp
from dragoman.kube.versions import Api, Versions
from dragoman.model.claims import ClaimRef
from dragoman.model.errors import NotKept, Refused
from dragoman.model.status import ClaimStatus, DeviceStatus
from dragoman_hookspecs import JsonObject

GATE = "DRAResourceClaimDeviceStatus"
_NOT_ALLOCATED = "must be an allocated device"
_NEEDS_KEY = 'omits key field "shareID"'

_NODES_OWN = "associated-node:patch and associated-node:update"
_BOUND = "and a token that is bound to the node (arbitrary-node:… without one, or where the device is not local)"

_FINAL = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)
"""Refusals of what is written; others are of the writer or the moment."""


class StatusWriter:
    """Satisfies the engine's ``ClaimStatusSink``. One write of a claim at a time is the caller's business.

    ``warning`` is a sentence while the server drops device status, else "". Nothing is asked of it then, until another
    server is met: see ``Versions``.
    """

    def __init__(
        self, client: KubeClient, versions: Versions, clock: Clock, times: TransitionTimes, *, driver: str
    ) -> None:
        self._client = client
        self._versions = versions
        self._clock = clock
        self._times = times
        self._driver = driver
        self._gate_off: int | None = None
        self._put: int | None = None
        self._loose = LooseClaims()
        self.warning = ""

    async def write(self, status: ClaimStatus) -> None:
        """Apply the entries; entries that are not given any more are taken back.

        A claim that is gone or was replaced, and devices that it has no longer, are nobody's concern. Raises
        ``Unavailable``, also where a right is missing: it may come, and just after its start a server knows of none.
        Raises ``Refused`` for what will not be taken, and ``NotKept`` where the server drops it.
        """
        try:
            await self._versions.call(functools.partial(self._write, status=status))
        except ApiError as error:
            if not self._gone(error):
                raise self._refused(status.claim, error) from error
            self._times.forget(status.claim.uid)

    async def _write(self, api: Api, status: ClaimStatus) -> None:
        if self._gate_off == api.epoch:
            raise NotKept(self.warning)
        claim = status.claim
        if status.devices and not self._times.knows(claim.uid):
            await self._learn(api, claim)
        devices = status.devices
        try:
            answer = await self._send(api, claim, devices)
        except ApiError as error:
            if not any(_NOT_ALLOCATED in cause.message for cause in error.causes):
                raise
            devices = await self._still_allocated(api, status)
            answer = await self._send(api, claim, devices)
        self._after(api, claim, devices, answer)

    async def _send(self, api: Api, claim: ClaimRef, devices: tuple[DeviceStatus, ...]) -> ClaimObject:
        entries = [self._entry(claim, device) for device in devices]
        if self._put != api.epoch and claim.uid not in self._loose:
            try:
                return await self._apply(api, claim, entries)
            except (ApiError, ServerUnavailable) as error:
                if _NEEDS_KEY in str(error):
                    # Servers before 1.34 cannot apply an entry without its optional key.
                    self._put = api.epoch
                elif takes_it_for_another_allocation(error):
                    self._loose.add(claim.uid)
                else:
                    raise
        return await put_exactly(self._client, api, claim, self._driver, entries)

    async def _apply(self, api: Api, claim: ClaimRef, entries: list[JsonObject]) -> ClaimObject:
        path = f"{claim_path(api, claim)}/status"
        body = {
            "apiVersion": api.api_version,
            "kind": "ResourceClaim",
            "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid},
            "status": {"devices": entries} if entries else {},
        }
        query = {"fieldManager": self._driver, "force": "true"}
        try:
            raw = await self._client.request("PATCH", path, query=query, body=body, content_type=APPLY_PATCH)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            # The server itself lost to other writers a few times, or the UID was its precondition.
            await self._learn(api, claim)
            raise ServerUnavailable(f"others write {claim} too: {error.message}", status=error.status) from error
        return decode(path, raw, ClaimObject)

    def _entry(self, claim: ClaimRef, device: DeviceStatus) -> JsonObject:
        now = timestamp(self._clock)
        key = device.driver, device.pool, device.device, device.share_id or ""
        times = {c.type: self._times.time_of(claim.uid, key, c.type, c.status, now) for c in device.conditions}
        return entry_json(device, times)

    async def _learn(self, api: Api, claim: ClaimRef) -> None:
        found = await get_claim(self._client, api, claim)
        if found.metadata.uid != claim.uid:
            raise replacement(claim)
        self._times.learn(claim.uid, (found.status.devices if found.status else None) or ())

    async def _still_allocated(self, api: Api, status: ClaimStatus) -> tuple[DeviceStatus, ...]:
        found = await get_claim(self._client, api, status.claim)
        if found.metadata.uid != status.claim.uid:
            raise replacement(status.claim)
        has = {(r.driver, r.pool, r.device, r.share_id or "") for r in found.allocated() or ()}
        return tuple(d for d in status.devices if (d.driver, d.pool, d.device, d.share_id or "") in has)

    def _after(self, api: Api, claim: ClaimRef, devices: tuple[DeviceStatus, ...], answer: ClaimObject) -> None:
        entries = (answer.status.devices if answer.status else None) or []
        if not devices:
            self._times.forget(claim.uid)
            return
        self._times.learn(claim.uid, entries)
        sent = {(d.driver, d.pool, d.device, d.share_id or "") for d in devices}
        self.warning = ""
        if sent.isdisjoint(map(entry_key, entries)):
            self._gate_off = api.epoch
            self.warning = (
                f"the API server drops the device status of {claim}: feature gate {GATE} is off there; "
                "no device status is written until the API server is restarted or upgraded"
            )
            logger.bind(claim=claim.label).warning(self.warning)
            raise NotKept(self.warning)

    def _gone(self, error: ApiError) -> bool:
        replaced = error.status == 422 and any(cause.field == "metadata.uid" for cause in error.causes)
        return replaced or error.reason == REPLACED or (error.status == 404 and not error.not_served)

    def _refused(self, claim: ClaimRef, error: ApiError) -> Refused | ServerUnavailable:
        what = f"the status of {claim} was refused"
        if error.status == 403:
            need = "get on resourceclaims, and patch and update on resourceclaims/status (resource.k8s.io)"
            return ServerUnavailable(f"{what}: {error.message}; the agent's account needs {need}", status=403)
        for cause in error.causes:
            if cause.reason == "FieldValueForbidden" and cause.field == "status.devices":
                need = f"{_NODES_OWN} on resourceclaims/driver (resource.k8s.io) for the resource name {self._driver}"
                sentence = f"{what}: {cause.message}; the agent's account needs the verbs {need}, {_BOUND}"
                return ServerUnavailable(sentence, status=error.status)
        if error.status not in _FINAL:
            # An account whose token was turned down, or one of several servers that is of another version.
            return ServerUnavailable(f"{what}: {error}", status=error.status)
        causes = ", ".join(map(str, error.causes)) or error.message
        return Refused(f"{what}: {causes}")
