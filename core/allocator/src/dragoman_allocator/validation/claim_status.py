"""Rules about the status of a claim: allocation, reservations, and what drivers report about devices."""

from __future__ import annotations

from typing import Any, Final

from dragoman_allocator import names
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import addresses, conditions, formats, metadata, nodes, opaque, tolerations
from dragoman_allocator.validation.binding import binding, node_operations
from dragoman_allocator.validation.claims import NOT_ADMIN
from dragoman_allocator.validation.errors import (
    IMMUTABLE,
    Errors,
    covered,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from dragoman_allocator.validation.normal import results
from dragoman_allocator.validation.reading import same
from dragoman_allocator.validation.requests import References, config

MOST_RESERVATIONS: Final = 256
MOST_RESULTS: Final = 32
MOST_CONFIGS: Final = 64
MOST_CONDITIONS: Final = 8
MOST_ADDRESSES: Final = 16
INTERFACE_SIZE: Final = 256
ADDRESS_SIZE: Final = 128

_SOURCES: Final = ("FromClaim", "FromClass")
_NO_ALLOCATION: Final = "may not be specified when `allocated` is not set"
_DELETING: Final = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"


def drop_deallocated(new: JsonObject, old: JsonObject, features: Features) -> None:
    """Take out what drivers reported about devices that this update deallocates."""
    status = new["status"]
    if not features.on("DRAResourceClaimDeviceStatus") and not old["status"].get("devices"):
        return
    gone = {device_key(one) for one in results(old)} - {device_key(one) for one in results(new)}
    kept = [one for one in status.pop("devices", []) if device_key(one) not in gone]
    if kept:
        status["devices"] = kept


def device_key(value: JsonObject) -> tuple[str, ...]:
    """Give driver, pool, device and share of a result or report; no share is as good as an empty one."""
    return tuple(value.get(name, "") for name in ("driver", "pool", "device", "shareID"))


def update(claim: JsonObject, old: JsonObject, *, admin: bool) -> Errors:
    """Check an update of the status; the spec is the stored one."""
    errors = [] if admin else _admin_access(claim, old)
    errors += metadata.check_update(claim["metadata"], old["metadata"])
    status, stored = claim["status"], old["status"]
    errors += formats.unique(
        status.get("reservedFor", []), "status.reservedFor", MOST_RESERVATIONS, _consumer, key="uid"
    )
    errors += _reports(status.get("devices", []), {device_key(one) for one in results(claim)})
    errors += _reservations(claim, old)
    if "allocation" not in status:
        return errors
    if "allocation" not in stored:
        return errors + _allocation(status["allocation"], "status.allocation", References.of(claim["spec"]))
    if not same(status["allocation"], stored["allocation"]):
        errors += covered([invalid("status.allocation", status["allocation"], IMMUTABLE)], "update")
    return errors


def _admin_access(claim: JsonObject, old: JsonObject) -> Errors:
    if any(one.get("adminAccess") for one in results(old)):
        return []
    for index, result in enumerate(results(claim)):
        if result.get("adminAccess"):
            return [forbidden(f"status.allocation.devices.results[{index}].adminAccess", NOT_ADMIN)]
    return []


def _consumer(value: JsonObject, path: str) -> Errors:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not value.get(name)]


def _reservations(claim: JsonObject, old: JsonObject) -> Errors:
    found = claim["status"].get("reservedFor", [])
    if not found:
        return []
    if "allocation" not in claim["status"]:
        return [forbidden("status.reservedFor", _NO_ALLOCATION)]
    before = old["status"].get("reservedFor", [])
    if "deletionTimestamp" in claim["metadata"] and any(one not in before for one in found):
        return [forbidden("status.reservedFor", _DELETING)]
    return []


def _allocation(value: JsonObject, path: str, known: References) -> Errors:
    devices = value["devices"]
    errors = formats.listed(
        devices.get("results", []), f"{path}.devices.results", MOST_RESULTS, lambda one, at: _result(one, at, known)
    )
    errors += formats.listed(
        devices.get("config", []), f"{path}.devices.config", MOST_CONFIGS, lambda one, at: _config(one, at, known)
    )
    if "nodeSelector" in value:
        errors += nodes.selector(value["nodeSelector"], f"{path}.nodeSelector")
    return errors


def _result(value: JsonObject, path: str, known: References) -> Errors:
    errors = known.check(value.get("request", ""), f"{path}.request")
    errors += formats.driver_covered(value.get("driver", ""), f"{path}.driver")
    errors += covered(formats.pool(value.get("pool", ""), f"{path}.pool"))
    errors += formats.label(value.get("device", ""), f"{path}.device")
    errors += binding(value, path)
    for index, toleration in enumerate(value.get("tolerations", [])):
        errors += tolerations.toleration(toleration, f"{path}.tolerations[{index}]")
    if "shareID" in value:
        errors += formats.uuid(value["shareID"], f"{path}.shareID")
    return errors + node_operations(value, path)


def _config(value: JsonObject, path: str, known: References) -> Errors:
    source = value.get("source", "")
    errors: Errors = []
    if not source:
        errors = covered([required(f"{path}.source")])
    elif source not in _SOURCES:
        errors = covered([not_supported(f"{path}.source", source, _SOURCES)])
    return errors + config(value, path, known, stored=False)


def _reports(found: list[JsonObject], allocated: set[tuple[str, ...]]) -> Errors:
    errors = formats.listed(found, "status.devices", None, lambda one, at: _report(one, at, allocated))
    return errors + formats.repeated((device_key(one) for one in found), "status.devices")


def _report(value: JsonObject, path: str, allocated: set[tuple[str, ...]]) -> Errors:
    errors = formats.driver(value.get("driver", ""), f"{path}.driver")
    errors += formats.pool(value.get("pool", ""), f"{path}.pool")
    errors += formats.label(value.get("device", ""), f"{path}.device")
    if "shareID" in value:
        errors += formats.uuid(value["shareID"], f"{path}.shareID")
    if device_key(value) not in allocated:
        errors.append(invalid(path, device_key(value), "must be an allocated device in the claim"))
    found = value.get("conditions", [])
    if len(found) > MOST_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(found), MOST_CONDITIONS))
    errors += conditions.check(found, f"{path}.conditions")
    if value.get("data"):
        errors += opaque.parameters(value["data"], f"{path}.data")
    return errors + _network(value.get("networkData", {}), f"{path}.networkData")


def _network(value: dict[str, Any], path: str) -> Errors:
    errors: Errors = []
    for name, most in (("interfaceName", INTERFACE_SIZE), ("hardwareAddress", ADDRESS_SIZE)):
        if names.size(value.get(name, "")) > most:
            errors += covered([too_long(f"{path}.{name}", most, "maxBytes")])
    return errors + formats.unique_texts(value.get("ips", []), f"{path}.ips", MOST_ADDRESSES, addresses.interface)
