"""Slices, claims and rules from files and folders of YAML and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from dragoman_allocator import conversion
from dragoman_allocator.decode import decode, reading
from dragoman_allocator.errors import InvalidInput, InvalidMember
from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim, ResourceSlice
from dragoman_allocator.pool_status import LeanSlice
from dragoman_hookspecs import JsonObject
from dragoman_kit import manifests
from dragoman_kit.manifests import Unreadable
from dragoman_pool_status.objects import Objects
from dragoman_pool_status.reading import read as read_one

KINDS: Final = ("DeviceTaintRule", "ResourceClaim", "ResourceSlice")


def read(files: Sequence[Path]) -> Objects:
    """Read what is given; other kinds of resource are left aside. Raises ``Unreadable``, for files without any too."""
    objects, seen = Objects(), set()
    for each in manifests.read(files):
        seen.add(str(each.body.get("kind", "what has no kind")))
        try:
            _add(each.body, objects)
        except InvalidInput as error:
            raise Unreadable(f"{each.source}: {_title(each.body)}: {error}") from error
    if not (objects.slices or objects.claims or objects.rules):
        raise manifests.none_of(files, KINDS, seen)
    return objects


def _add(body: JsonObject, objects: Objects) -> None:
    if not str(body.get("apiVersion")).startswith(f"{conversion.GROUP}/"):
        return
    match body.get("kind"):
        case "ResourceSlice":
            objects.slices.append(_slice(body))
        case "ResourceClaim":
            objects.whole_claims.append(decode(ResourceClaim, body, defaults=False))
        case "DeviceTaintRule":
            objects.rules.append(decode(DeviceTaintRule, body, defaults=False))


def _slice(body: Any) -> LeanSlice:
    """Read as much of a slice as pools need, in the shape of v1. Raises ``InvalidMember``."""
    version = body["apiVersion"]
    if version not in conversion.VERSIONS:
        raise InvalidMember(f"{version} is not known, only {', '.join(sorted(conversion.VERSIONS))}", "apiVersion")
    if version == conversion.OLD_SHAPE:
        body = conversion.to_v1(ResourceSlice, body)
    return reading(partial(read_one, kind=LeanSlice), body)


def _title(body: JsonObject) -> str:
    metadata = body.get("metadata")
    names = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, dict) else []
    return f"{body['kind']} {'/'.join(str(name) for name in names if name)}".rstrip()
