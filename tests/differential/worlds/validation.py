"""Worlds of one object that is created, or changed, or whose status is."""

from __future__ import annotations

from copy import deepcopy

from tests.differential.worlds import api_objects, gates, spoil
from tests.differential.worlds.devices import Json
from tests.differential.worlds.dice import Dice

_VERSIONS = {
    "ResourceSlice": {"v1": 6.0, "v1beta2": 2.0, "v1beta1": 3.0},
    "ResourceClaim": {"v1": 6.0, "v1beta2": 2.0, "v1beta1": 3.0},
    "ResourceClaimTemplate": {"v1": 6.0, "v1beta2": 2.0, "v1beta1": 3.0},
    "DeviceClass": {"v1": 6.0, "v1beta2": 2.0, "v1beta1": 2.0},
    "DeviceTaintRule": {"v1": 6.0, "v1beta2": 3.0},
    "ResourcePoolStatusRequest": {"v1alpha3": 1.0},
}
_FAULTS = {"small": {0: 2.0, 1: 6.0}, "mixed": {0: 1.0, 1: 4.0, 2: 3.0}, "hard": {1: 2.0, 2: 2.0, 3: 2.0, 5: 1.0}}


def make(dice: Dice, size: str) -> Json:
    """Make one question of kind ``validate``."""
    chosen = gates.draw(dice)
    kind = dice.weighted(
        {
            "ResourceSlice": 6.0,
            "ResourceClaim": 6.0,
            "ResourceClaimTemplate": 1.5,
            "DeviceClass": 2.0,
            "DeviceTaintRule": 1.5,
            "ResourcePoolStatusRequest": 2.0,
        }
    )
    made = api_objects.MAKERS[kind](dice, chosen.on if dice.chance(0.8) else gates.every().on)
    question: Json = {"gates": chosen.value}
    if dice.chance(0.6):
        question["namespaceLabels"] = {"resource.kubernetes.io/admin-access": "true"}
    old: Json | None = None
    root: tuple[str, ...] = ("spec",) if dice.chance(0.9) else ("metadata",)
    if kind in api_objects.STATUS and dice.chance(0.4):
        old = made if dice.chance(0.6) else api_objects.STATUS[kind](dice, made)
        made = api_objects.STATUS[kind](dice, made) if dice.chance(0.8) else deepcopy(old)
        root = ("status",) if dice.chance(0.9) else ()
        question["subresource"] = "status"
    elif dice.chance(0.25):
        old = deepcopy(made)
    for _ in range(dice.weighted(_FAULTS[size])):
        spoil.one(dice, made, root)
    if old is not None:
        old, made = _stored(old), _stored(made)
        if dice.chance(0.15):
            spoil.one(dice, old, ("spec",))
    version = dice.weighted(_VERSIONS[kind])
    question["object"] = _as(version, made)
    if old is not None:
        question["old"] = _as(version, old)
    return question


def _stored(made: Json) -> Json:
    """Give what the API server adds to an object that it has."""
    found = deepcopy(made)
    if isinstance(found.get("metadata"), dict):
        found["metadata"] |= {"resourceVersion": "1", "uid": "uid-1", "creationTimestamp": "2024-01-01T00:00:00Z"}
    return found


def _as(version: str, made: Json) -> Json:
    """Write an object as another version does."""
    found = deepcopy(made) | {"apiVersion": f"resource.k8s.io/{version}"}
    if version != "v1beta1":
        return found
    spec = found.get("spec")
    spec = spec.get("spec") if found.get("kind") == "ResourceClaimTemplate" and isinstance(spec, dict) else spec
    if not isinstance(spec, dict):
        return found
    if found.get("kind") == "ResourceSlice" and isinstance(spec.get("devices"), list):
        spec["devices"] = [_basic(one) for one in spec["devices"]]
    elif isinstance(spec.get("devices"), dict) and isinstance(spec["devices"].get("requests"), list):
        spec["devices"]["requests"] = [_flat(one) for one in spec["devices"]["requests"]]
    return found


def _basic(device: object) -> object:
    if not isinstance(device, dict) or "name" not in device:
        return device
    return {"name": device["name"], "basic": {key: value for key, value in device.items() if key != "name"}}


def _flat(request: object) -> object:
    if not isinstance(request, dict) or not isinstance(request.get("exactly"), dict):
        return request
    return {key: value for key, value in request.items() if key != "exactly"} | request["exactly"]
