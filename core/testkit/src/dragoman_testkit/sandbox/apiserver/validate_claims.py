"""Rules of ResourceClaims and of their status that a scheduler stand-in or a driver can break."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import Cause

RESULTS = 32
RESERVED_FOR = 256
CONDITIONS = 8
DATA_BYTES = 10240
IPS = 16
ALLOCATION_CHANGED = Cause("status.allocation", "FieldValueInvalid", "field cannot be modified once set")
_UUID = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_REASON = re.compile(r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")

DeviceKey = tuple[str, str, str, str | None]
"""Driver, pool, device and share id: the map key of ``status.devices``."""


def device_key(entry: JsonObject) -> DeviceKey:
    """Give the key of an entry of ``status.devices`` or of an allocation result."""
    return entry.get("driver", ""), entry.get("pool", ""), entry.get("device", ""), entry.get("shareID") or None


def allocated(obj: JsonObject) -> set[DeviceKey]:
    """Give the keys of the devices that the claim has."""
    allocation = (obj.get("status") or {}).get("allocation") or {}
    return {device_key(result) for result in (allocation.get("devices") or {}).get("results") or ()}


def check_claim(obj: JsonObject, old: JsonObject | None) -> Iterator[Cause]:
    """List what is wrong with a claim and its status."""
    if old is not None and obj.get("spec") != old.get("spec"):
        yield Cause("spec", "FieldValueInvalid", "field is immutable")
    status, before = obj.get("status") or {}, (old or {}).get("status") or {}
    yield from _check_allocation(status, before)
    known = allocated(obj)
    for index, entry in enumerate(status.get("devices") or ()):
        path = f"status.devices[{index}]"
        if device_key(entry) not in known:
            yield Cause(path, "FieldValueInvalid", "must be an allocated device in the claim")
        yield from _check_entry(path, entry)


def _check_allocation(status: JsonObject, before: JsonObject) -> Iterator[Cause]:
    allocation = status.get("allocation")
    if before.get("allocation") and allocation and allocation != before["allocation"]:
        yield ALLOCATION_CHANGED
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    if len(results) > RESULTS:
        yield Cause("status.allocation.devices.results", "FieldValueTooMany", f"must have at most {RESULTS} items")
    reserved = status.get("reservedFor") or ()
    if reserved and not allocation:
        yield Cause("status.reservedFor", "FieldValueForbidden", "may not be specified when `allocated` is not set")
    if len(reserved) > RESERVED_FOR:
        yield Cause("status.reservedFor", "FieldValueTooMany", f"must have at most {RESERVED_FOR} items")


def _check_entry(path: str, entry: JsonObject) -> Iterator[Cause]:
    share = entry.get("shareID")
    if share is not None and not _UUID.match(share):
        yield Cause(f"{path}.shareID", "FieldValueInvalid", "must be a lower-case UUID")
    yield from _check_conditions(f"{path}.conditions", entry.get("conditions") or [])
    data = entry.get("data")
    if data is not None and not isinstance(data, dict):
        yield Cause(f"{path}.data", "FieldValueInvalid", "must be a JSON object")
    if data is not None and len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) > DATA_BYTES:
        yield Cause(f"{path}.data", "FieldValueTooLong", f"may not be more than {DATA_BYTES} bytes")
    yield from _check_network(f"{path}.networkData", entry.get("networkData") or {})


def _check_conditions(path: str, conditions: list[JsonObject]) -> Iterator[Cause]:
    if len(conditions) > CONDITIONS:
        yield Cause(path, "FieldValueTooMany", f"must have at most {CONDITIONS} items")
    types = [condition.get("type") for condition in conditions]
    if len(set(types)) != len(types):
        yield Cause(path, "FieldValueDuplicate", "types must be unique")
    for index, condition in enumerate(conditions):
        if condition.get("status") not in ("True", "False", "Unknown"):
            yield Cause(f"{path}[{index}].status", "FieldValueNotSupported", "supported values: True, False, Unknown")
        if not condition.get("reason"):
            yield Cause(f"{path}[{index}].reason", "FieldValueRequired", "must be set")
        elif not _REASON.match(str(condition["reason"])):
            yield Cause(f"{path}[{index}].reason", "FieldValueInvalid", "must be a reason in CamelCase")
        if not condition.get("lastTransitionTime"):
            yield Cause(f"{path}[{index}].lastTransitionTime", "FieldValueRequired", "must be set")
        if len(str(condition.get("message") or "").encode()) > 32768:
            yield Cause(f"{path}[{index}].message", "FieldValueTooLong", "may not be more than 32768 bytes")


def _check_network(path: str, network: JsonObject) -> Iterator[Cause]:
    for key, limit in (("interfaceName", 256), ("hardwareAddress", 128)):
        if len(str(network.get(key) or "").encode()) > limit:
            yield Cause(f"{path}.{key}", "FieldValueTooLong", f"may not be more than {limit} bytes")
    addresses = network.get("ips") or []
    if len(addresses) > IPS:
        yield Cause(f"{path}.ips", "FieldValueTooMany", f"must have at most {IPS} items")
    for index, text in enumerate(addresses):
        if text in addresses[:index]:
            yield Cause(f"{path}.ips[{index}]", "FieldValueDuplicate", f'Duplicate value: "{text}"')
        if not _canonical(text):
            yield Cause(f"{path}.ips[{index}]", "FieldValueInvalid", "must be in canonical form")


def _canonical(text: str) -> bool:
    try:
        return "/" in text and str(ipaddress.ip_interface(text)) == text
    except ValueError:
        return False
