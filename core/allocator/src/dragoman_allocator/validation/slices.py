"""Rules about ResourceSlices (api-semantics 1.4)."""

from __future__ import annotations

from typing import Any, Final

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import formats, metadata, nodes
from dragoman_allocator.validation.binding import node_operations
from dragoman_allocator.validation.devices import LISTS, Devices, counters
from dragoman_allocator.validation.errors import IMMUTABLE, Errors, covered, invalid, required, too_many

MOST_DEVICES: Final = 128
MOST_ADVANCED_DEVICES: Final = 64
"""Where any device has taints, consumes counters or has list attributes."""
MOST_COUNTER_SETS: Final = 8

SCOPES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_SCOPE: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_UNSET_OR_TRUE: Final = "must be either unset or set to true"
_NO_CONSUMERS: Final = "may only be set on a slice which declares devices that consume counters"
_TYPE_MISSING: Final = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
_TYPE_NOT_TEXT: Final = "must be a string value because `partitionTypeAttribute` names this attribute"


def create(slice_: JsonObject, features: Features) -> Errors:
    """Check a new slice."""
    return metadata.check(slice_["metadata"], namespaced=False) + _spec(slice_["spec"], None, features)


def update(slice_: JsonObject, old: JsonObject, features: Features) -> Errors:
    """Check an update; capacity and taints that did not change stay as good as they were."""
    errors = metadata.check_update(slice_["metadata"], old["metadata"])
    return errors + _spec(slice_["spec"], old["spec"], features)


def _spec(spec: JsonObject, old: JsonObject | None, features: Features) -> Errors:
    errors = formats.driver(spec.get("driver", ""), "spec.driver") + _pool(spec["pool"])
    errors += [] if old is None else _fixed(spec, old)
    errors += _scope(spec)
    if "sharedCounters" in spec and "devices" in spec:
        errors.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    errors += _devices(spec, old, features)
    errors += formats.unique(spec.get("sharedCounters", []), "spec.sharedCounters", MOST_COUNTER_SETS, _counter_set)
    if "partitionTypeAttribute" in spec:
        errors += _partition_type(spec, spec["partitionTypeAttribute"])
    return errors + node_operations(spec, "spec")


def _pool(pool: JsonObject) -> Errors:
    errors = formats.pool(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        errors.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(invalid("spec.pool.generation", generation, "must be greater than or equal to zero"))
    return errors


def _fixed(spec: JsonObject, old: JsonObject) -> Errors:
    pairs: list[tuple[str, Any, Any]] = [
        ("spec.pool.name", spec["pool"].get("name", ""), old["pool"].get("name", "")),
        ("spec.driver", spec.get("driver", ""), old.get("driver", "")),
        ("spec.nodeName", spec.get("nodeName"), old.get("nodeName")),
    ]
    return [invalid(path, new, IMMUTABLE) for path, new, before in pairs if new != before]


def _scope(spec: JsonObject) -> Errors:
    errors: Errors = []
    if "nodeName" in spec:
        errors += _node_name(spec["nodeName"])
    if "nodeSelector" in spec:
        errors += nodes.selector(spec["nodeSelector"], "spec.nodeSelector")
        terms = spec["nodeSelector"].get("nodeSelectorTerms", [])
        if len(terms) != 1:
            path = "spec.nodeSelector.nodeSelectorTerms"
            errors.append(invalid(path, terms, "must have exactly one node selector term"))
    errors += [invalid(f"spec.{name}", False, _UNSET_OR_TRUE) for name in SCOPES[2:] if name in spec and not spec[name]]
    chosen = [f"`{name}`" for name in SCOPES if spec.get(name) or (name == "nodeSelector" and name in spec)]
    if not chosen:
        errors.append(required("spec", _ONE_SCOPE))
    elif len(chosen) > 1:
        errors.append(invalid("spec", f"{{{', '.join(chosen)}}}", f"{_ONE_SCOPE}, but multiple fields are set"))
    return errors


def _node_name(name: str) -> Errors:
    if name:
        return nodes.name(name, "spec.nodeName")
    return [invalid("spec.nodeName", name, "must be either unset or set to a non-empty string")]


def _devices(spec: JsonObject, old: JsonObject | None, features: Features) -> Errors:
    found = spec.get("devices", [])
    most = MOST_ADVANCED_DEVICES if any(map(_is_advanced, found)) else MOST_DEVICES
    if len(found) > most:
        return [too_many("spec.devices", len(found), most)]
    before: dict[str, JsonObject] = {}
    for device in [] if old is None else old.get("devices", []):
        before.setdefault(device.get("name", ""), device)
    rules = Devices(features, per_device=bool(spec.get("perDeviceNodeSelection")), before=before)
    errors = formats.listed(found, "spec.devices", None, rules.device)
    return errors + formats.repeated((one.get("name", "") for one in found), "spec.devices", by_rule=False)


def _is_advanced(device: JsonObject) -> bool:
    attributes = device.get("attributes", {}).values()
    return bool(
        device.get("taints")
        or device.get("consumesCounters")
        or any(name in attribute for attribute in attributes for name in LISTS)
    )


def _counter_set(value: JsonObject, path: str) -> Errors:
    name = value.get("name", "")
    errors = covered(formats.label(name, f"{path}.name") if name else [required(f"{path}.name")])
    return errors + counters(value, path)


def _partition_type(spec: JsonObject, name: str) -> Errors:
    if not any(device.get("consumesCounters") for device in spec.get("devices", [])):
        return [invalid("spec.partitionTypeAttribute", name, _NO_CONSUMERS)]
    if formats.fully_qualified(name, ""):
        return []  # the declared rule tells
    bare = name.removeprefix(f"{spec.get('driver', '')}/")
    errors: Errors = []
    for index, device in enumerate(spec["devices"]):
        if not device.get("consumesCounters"):
            continue
        attributes, path = device.get("attributes", {}), f"spec.devices[{index}].attributes[{name}]"
        attribute = attributes.get(name, attributes.get(bare))
        if attribute is None:
            errors.append(required(path, _TYPE_MISSING))
        elif "string" not in attribute:
            errors.append(invalid(path, attribute, _TYPE_NOT_TEXT))
    return errors
