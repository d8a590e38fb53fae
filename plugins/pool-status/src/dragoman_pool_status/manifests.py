"""Slices, claims and rules from files and folders of YAML and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim
from dragoman_allocator.pool_status import LeanSlice
from dragoman_hookspecs import JsonObject
from dragoman_kit import manifests
from dragoman_kit.manifests import Unreadable
from dragoman_pool_status.objects import Objects

_MISSHAPEN: Final = (msgspec.MsgspecError, TypeError, AttributeError, OverflowError, RecursionError)


def read(files: Sequence[Path]) -> Objects:
    """Read what is given; other kinds of resource are left aside. Raises ``Unreadable``."""
    objects = Objects()
    for each in manifests.read(files):
        try:
            _add(each.body, objects)
        except _MISSHAPEN as error:
            raise Unreadable(f"{each.source} is no {each.body.get('kind')}: {error}") from error
    return objects


def _add(body: JsonObject, objects: Objects) -> None:
    if not str(body.get("apiVersion")).startswith("resource.k8s.io/"):
        return
    match body.get("kind"):
        case "ResourceSlice":
            objects.slices.append(_decoded(_flat(body), LeanSlice))
        case "ResourceClaim":
            objects.whole_claims.append(_decoded(body, ResourceClaim))
        case "DeviceTaintRule":
            objects.rules.append(_decoded(body, DeviceTaintRule))


def _flat(body: JsonObject) -> JsonObject:
    """Bring a slice of v1beta1, whose devices wrap all but their name in ``basic``, into the later shape."""
    spec = body.get("spec") or {}
    devices = [{**device, **(device.get("basic") or {})} for device in spec.get("devices") or ()]
    return {**body, "spec": {**spec, "devices": devices}} if devices else body


def _decoded(body: JsonObject, kind: type[Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)
