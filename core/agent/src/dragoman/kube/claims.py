"""Reads claims by name and gives them free of API versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from dragoman.clock import Clock
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.conditions import TransitionTimes, entry_key
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.reading import LEVELS, is_cut
from dragoman.kube.retry import patiently
from dragoman.kube.versions import Api, Versions
from dragoman.model.claims import AllocationResult, Claim, ClaimRef, Consumer, OpaqueConfig, StatusEntry
from dragoman.model.errors import ClaimNotFound, ClaimReplaced, Unavailable

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: the name under ``pod.spec.resourceClaims``. Empty is none (KEP-5304)."""


class Result(msgspec.Struct, rename="camel"):
    """``status.allocation.devices.results[]``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, str | int | float] | None = None
    admin_access: bool | None = None


class Opaque(msgspec.Struct):
    """``opaque`` of a config entry."""

    driver: str = ""
    parameters: dict[str, Any] | None = None


class Config(msgspec.Struct):
    """``status.allocation.devices.config[]``; anything but opaque entries is for somebody else."""

    source: str = ""
    requests: list[str] | None = None
    opaque: Opaque | None = None


class Devices(msgspec.Struct):
    """``status.allocation.devices``."""

    results: list[Result] | None = None
    config: list[Config] | None = None


class Allocation(msgspec.Struct):
    """``status.allocation``."""

    devices: Devices | None = None


class Reserved(msgspec.Struct, rename="camel"):
    """``status.reservedFor[]``."""

    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str | None = None


class Status(msgspec.Struct, rename="camel"):
    """``status``."""

    allocation: Allocation | None = None
    reserved_for: list[Reserved] | None = None
    devices: list[dict[str, Any]] | None = None


class Meta(msgspec.Struct, rename="camel"):
    """``metadata``."""

    uid: str = ""
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    generation: int | None = None
    annotations: dict[str, str] | None = None


class ClaimObject(msgspec.Struct):
    """A ResourceClaim as far as a driver reads it; all versions have the same status."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    status: Status | None = None

    def allocated(self) -> list[Result] | None:
        """Give the allocation results, or None while the claim is not allocated."""
        allocation = self.status.allocation if self.status else None
        if allocation is None:
            return None
        return (allocation.devices.results if allocation.devices else None) or []


class ClaimReader:
    """Satisfies the engine's ``ClaimSource``.

    What a read shows of earlier status entries is kept in ``times``, so that their first write needs no read.
    """

    def __init__(self, client: KubeClient, versions: Versions, clock: Clock, times: TransitionTimes) -> None:
        self._client = client
        self._versions = versions
        self._clock = clock
        self._times = times

    async def read(self, ref: ClaimRef) -> Claim:
        """Read the claim and compare its UID.

        Transient failures are tried again for about two seconds (the kubelet itself comes back only after a minute),
        and so is a refusal: the node authorizer learns of a new pod with a delay.
        Raises ``ClaimNotFound``, ``ClaimReplaced`` or ``Unavailable``.
        """
        claim = await self.find(ref.namespace, ref.name)
        if claim.uid != ref.uid:
            raise ClaimReplaced(
                f"{ref} has UID {claim.uid} now, {ref.uid} was asked for: it was deleted and made again"
            )
        return claim

    async def find(self, namespace: str, name: str) -> Claim:
        """Read the claim of that name, whatever its UID is, as patiently as ``read``.

        Raises ``ClaimNotFound`` or ``Unavailable``.
        """
        ref = ClaimRef(uid="", namespace=namespace, name=name)
        try:
            found = await patiently(self._clock, lambda: self._versions.call(lambda api: self._get(api, ref)), (403,))
        except ApiError as error:
            raise _understood(ref, error) from error
        self._times.learn(found.metadata.uid, (found.status.devices if found.status else None) or [])
        return _claim(replace(ref, uid=found.metadata.uid), found)

    async def _get(self, api: Api, ref: ClaimRef) -> ClaimObject:
        return await get_claim(self._client, api, ref)


async def get_claim(client: KubeClient, api: Api, ref: ClaimRef) -> ClaimObject:
    """GET a claim by name."""
    path = claim_path(api, ref)
    return decode(path, await client.get(path), ClaimObject)


def claim_path(api: Api, ref: ClaimRef) -> str:
    """Path of a claim."""
    return f"{api.root}/namespaces/{ref.namespace}/resourceclaims/{ref.name}"


def _understood(ref: ClaimRef, error: ApiError) -> ClaimNotFound | Unavailable:
    if error.status == 404 and not error.not_served:
        return ClaimNotFound(f"{ref} does not exist")
    if error.status == 403:
        need = "allow get on resourceclaims (resource.k8s.io) to the agent's account"
        return ServerUnavailable(f"{ref} may not be read: {error.message}; {need}", status=403)
    return ServerUnavailable(f"{ref} cannot be read: {error}", status=error.status)


def _claim(ref: ClaimRef, found: ClaimObject) -> Claim:
    status, results = found.status or Status(), found.allocated()
    devices = (status.allocation.devices if status.allocation else None) or Devices()
    return Claim(
        uid=ref.uid,
        namespace=ref.namespace,
        name=ref.name,
        results=None if results is None else tuple(map(_result, results)),
        config=tuple(_config(entry, entry.opaque) for entry in devices.config or () if entry.opaque),
        reserved_for=tuple(map(_consumer, status.reserved_for or ())),
        entries=tuple(map(_entry, status.devices or ())),
        pod_claim_name=(found.metadata.annotations or {}).get(POD_CLAIM_NAME) or None,
        resource_version=found.metadata.resource_version,
        generation=found.metadata.generation or 0,
    )


def _result(result: Result) -> AllocationResult:
    return AllocationResult(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        share_id=result.share_id or None,
        consumed_capacity={key: str(value) for key, value in (result.consumed_capacity or {}).items()},
        admin_access=bool(result.admin_access),
    )


def _config(entry: Config, opaque: Opaque) -> OpaqueConfig:
    return OpaqueConfig(
        source=entry.source,
        driver=opaque.driver,
        parameters=opaque.parameters or {},
        requests=tuple(entry.requests or ()),
        fault=f"they are nested more than {LEVELS} levels deep: write them flatter"
        if is_cut(opaque.parameters)
        else "",
    )


def _entry(entry: Mapping[str, Any]) -> StatusEntry:
    driver, pool, device, share = entry_key(entry)
    return StatusEntry(driver=driver, pool=pool, device=device, share_id=share or None, data=entry.get("data"))


def _consumer(entry: Reserved) -> Consumer:
    return Consumer(resource=entry.resource, name=entry.name, uid=entry.uid, api_group=entry.api_group or "")
