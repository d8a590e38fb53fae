"""Patches: RFC 7386 merge patch, and server-side apply as far as drivers use it.

Apply merges ``status.devices`` of claims by its map key and remembers per manager, in ``managedFields``, which entries
it applied, so that entries left out of the next apply go away. Elsewhere apply merges like a merge patch.
"""

from __future__ import annotations

import json
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import ApiFault
from dragoman_testkit.sandbox.apiserver.validate_claims import DeviceKey, device_key


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def apply_devices(current: JsonObject, patch: JsonObject, manager: str, *, needs_share_id: bool) -> JsonObject:
    """Apply ``status.devices`` of a claim for one field manager."""
    entries: list[JsonObject] = list((patch.get("status") or {}).get("devices") or ())
    _check_keys(entries, needs_share_id=needs_share_id)
    status = dict(current.get("status") or {})
    applied = {device_key(entry): entry for entry in entries}
    earlier = _owned(current, manager) - _owned_by_others(current, manager)
    kept = [
        applied.pop(device_key(entry), entry)
        for entry in status.get("devices") or ()
        if _stays(entry, applied, earlier)
    ]
    status["devices"] = [*kept, *applied.values()]
    if not status["devices"]:
        del status["devices"]
    metadata = {**current["metadata"], "managedFields": _managed(current, manager, entries)}
    if not metadata["managedFields"]:
        del metadata["managedFields"]
    return {**current, "metadata": metadata, "status": status}


def _stays(entry: JsonObject, applied: dict[DeviceKey, JsonObject], earlier: set[DeviceKey]) -> bool:
    key = device_key(entry)
    return key in applied or key not in earlier


def _check_keys(entries: list[JsonObject], *, needs_share_id: bool) -> None:
    keys = [device_key(entry) for entry in entries]
    if len(set(keys)) != len(keys):
        raise ApiFault(500, "", "failed to create typed patch object: .status.devices: duplicate entries for key")
    if needs_share_id and any(key[3] is None for key in keys):
        text = (
            "failed to create typed patch object: .status.devices: element 0: "
            'associative list with keys has an element that omits key field "shareID" (and doesn\'t have default value)'
        )
        raise ApiFault(500, "", text)


def _owned(obj: JsonObject, manager: str) -> set[DeviceKey]:
    return _owners(obj).get(manager, set())


def _owned_by_others(obj: JsonObject, manager: str) -> set[DeviceKey]:
    return set().union(*(keys for name, keys in _owners(obj).items() if name != manager))


def _owners(obj: JsonObject) -> dict[str, set[DeviceKey]]:
    return {
        record["manager"]: {device_key(json.loads(name.removeprefix("k:"))) for name in _applied(record)}
        for record in obj["metadata"].get("managedFields") or ()
        if record["operation"] == "Apply"
    }


def _applied(record: JsonObject) -> JsonObject:
    found: JsonObject = record["fieldsV1"]["f:status"]["f:devices"]
    return found


def _managed(obj: JsonObject, manager: str, entries: list[JsonObject]) -> list[JsonObject]:
    others = [r for r in obj["metadata"].get("managedFields") or () if r["manager"] != manager]
    if not entries:
        return others
    names = ("driver", "pool", "device", "shareID")
    keys = [json.dumps({n: entry[n] for n in names if entry.get(n)}, separators=(",", ":")) for entry in entries]
    record = {
        "manager": manager,
        "operation": "Apply",
        "subresource": "status",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:devices": {f"k:{key}": {} for key in keys}}},
    }
    return [*others, record]
