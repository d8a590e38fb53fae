"""The claim manager: which calls a pod's start and end cause."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import grpc

from dragoman.model.claims import ClaimRef, PreparedDevice
from dragoman_testkit.sandbox.kubelet.cache import ClaimCache, Entry
from dragoman_testkit.sandbox.kubelet.drivers import Drivers, Instance
from dragoman_testkit.sandbox.kubelet.pods import ClaimReader, PodSpec, PrepareFailed, Timings, UnprepareFailed

PREPARE: Final = "NodePrepareResources"
UNPREPARE: Final = "NodeUnprepareResources"


class Claims:
    """Prepares and unprepares claims of pods. ``calls`` lists the calls made: driver, method, UIDs."""

    def __init__(self, path: Path, drivers: Drivers, read: ClaimReader, timings: Timings) -> None:
        self.cache = ClaimCache(path)
        self.calls: list[tuple[str, str, tuple[str, ...]]] = []
        self._drivers = drivers
        self._read = read
        self._timings = timings

    async def prepare(self, pod: PodSpec) -> None:
        """Do what happens before a new sandbox of the pod. All checks come first. Raises ``PrepareFailed``."""
        checked = [(ref, await self._check(pod, ref)) for _, ref in pod.claims]
        entries = [self.cache.add(ref, dict.fromkeys(drivers), pod.uid) for ref, drivers in checked]
        self.cache.save()
        batch = [entry for entry in entries if not entry.prepared]
        for driver in sorted({driver for entry in batch for driver in entry.drivers}):
            await self._prepare(driver, [entry for entry in batch if driver in entry.drivers])
        for entry in batch:
            entry.prepared = True
        self.cache.save()

    async def unprepare(self, pod: PodSpec) -> None:
        """Do what happens once the pod's sandboxes are stopped. Raises ``UnprepareFailed``."""
        batch = []
        for ref in dict.fromkeys(ref for _, ref in pod.claims):
            entry = self.cache.get(ref)
            if entry is None or entry.ref.uid != ref.uid or pod.uid not in entry.pods:
                continue
            if entry.pods == {pod.uid}:
                entry.unpreparing = True
                batch.append(entry)
            else:
                entry.pods.discard(pod.uid)
        for driver in sorted({driver for entry in batch for driver in entry.drivers}):
            await self._unprepare(driver, [entry for entry in batch if driver in entry.drivers])
        for entry in batch:
            self.cache.remove(entry)
        self.cache.save()

    async def _check(self, pod: PodSpec, ref: ClaimRef) -> list[str]:
        """Give the drivers of the claim, if the pod may use it now."""
        claim = await self._read(ref.namespace, ref.name)
        if claim is None:
            raise PrepareFailed(f"{ref}: not found")
        if claim["metadata"]["uid"] != ref.uid:
            raise PrepareFailed(f"{ref}: it has another UID, {claim['metadata']['uid']}")
        status = claim.get("status") or {}
        if {pod.uid, pod.group_uid}.isdisjoint(consumer["uid"] for consumer in status.get("reservedFor") or ()):
            raise PrepareFailed(
                f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {ref.name} ({ref.uid})"
            )
        if not status.get("allocation"):
            raise PrepareFailed(f"{ref}: it is not allocated")
        drivers = _drivers_of(status["allocation"])
        for driver in drivers:
            self._instance(driver, PrepareFailed)
        cached = self.cache.get(ref)
        if cached and cached.ref.uid != ref.uid:
            raise PrepareFailed(f"{ref}: an older claim of that name, {cached.ref.uid}, is still in use")
        if cached and cached.unpreparing:
            raise PrepareFailed(f"{ref}: it is being unprepared")
        return drivers

    async def _prepare(self, driver: str, entries: Sequence[Entry]) -> None:
        results = await self._call(driver, PREPARE, entries, PrepareFailed)
        for entry in entries:
            if entry.ref.uid in results:
                entry.drivers[driver] = [_device(device) for device in results[entry.ref.uid].devices]
        _check_count(entries, results, PrepareFailed)

    async def _unprepare(self, driver: str, entries: Sequence[Entry]) -> None:
        _check_count(entries, await self._call(driver, UNPREPARE, entries, UnprepareFailed), UnprepareFailed)

    async def _call(
        self, driver: str, method: str, entries: Sequence[Entry], failure: type[Exception]
    ) -> Mapping[str, Any]:
        instance = self._instance(driver, failure)
        messages = instance.messages
        claims = [messages.Claim(uid=e.ref.uid, namespace=e.ref.namespace, name=e.ref.name) for e in entries]
        self.calls.append((driver, method, tuple(claim.uid for claim in claims)))
        request = getattr(messages, f"{method}Request")(claims=claims)
        try:
            results: Mapping[str, Any] = (await instance.call(method, request, self._timings.call)).claims
        except grpc.aio.AioRpcError as error:
            raise failure(f"{driver}: {method}: {error.code().name}: {error.details()}") from error
        except asyncio.CancelledError as error:
            # A connection that is closed because its driver was deregistered also shows as this.
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            raise failure(f"{driver}: {method}: CANCELLED: the driver was deregistered") from error
        refs = {entry.ref.uid: entry.ref for entry in entries}
        for uid, result in results.items():
            if uid not in refs:
                raise failure(f"{driver}: {method} answered for an unknown claim UID {uid}")
            if result.error:
                raise failure(f"{driver}: {method} of {refs[uid]}: {result.error}")
        return results

    def _instance(self, driver: str, failure: type[Exception]) -> Instance:
        instance = self._drivers.pick(driver)
        if instance is None:
            raise failure(f"driver {driver} is not registered")
        return instance


def _check_count(entries: Sequence[Entry], results: Mapping[str, Any], failure: type[Exception]) -> None:
    # The kubelet counts entries of the request, so a claim that a pod lists twice counts as skipped.
    if skipped := len(entries) - len(results):
        raise failure(f"the driver skipped {skipped} ResourceClaims")


def _drivers_of(allocation: Mapping[str, Any]) -> list[str]:
    results = (allocation.get("devices") or {}).get("results") or ()
    return list(dict.fromkeys(result["driver"] for result in results))


def _device(message: Any) -> PreparedDevice:
    has_share = "share_id" in message.DESCRIPTOR.fields_by_name and message.HasField("share_id")
    return PreparedDevice(
        requests=tuple(message.request_names),
        pool=message.pool_name,
        device=message.device_name,
        cdi_device_ids=tuple(message.cdi_device_ids),
        share_id=message.share_id if has_share else None,
    )
