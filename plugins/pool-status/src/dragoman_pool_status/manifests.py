"""Slices, claims and rules from files: YAML or JSON, single objects, lists, several documents, folders of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim
from dragoman_allocator.pool_status import LeanSlice
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_pool_status.objects import Objects

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MISSHAPEN: Final = (msgspec.MsgspecError, TypeError, AttributeError, OverflowError, RecursionError)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Unreadable(DragomanError):
    """A manifest cannot be read."""


def read(files: Sequence[Path]) -> Objects:
    """Read what is given; other kinds of resource are left aside. Raises ``Unreadable``."""
    objects = Objects()
    for path in _files(files):
        for number, body in enumerate(_documents(path), start=1):
            try:
                _add(body, objects)
            except _MISSHAPEN as error:
                raise Unreadable(f"{path}: document {number} is no {body.get('kind')}: {error}") from error
    return objects


def _files(given: Iterable[Path]) -> Iterator[Path]:
    for path in given:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES and each.is_file())
        else:
            yield path


def _documents(path: Path) -> Iterator[JsonObject]:
    try:
        text = path.read_bytes()
        documents = [json.loads(text)] if path.suffix == ".json" else yaml.load_all(text, _LOADER)
        for document in documents:
            yield from _single(path, document)
    except (OSError, ValueError, TypeError, yaml.YAMLError, RecursionError) as error:
        raise Unreadable(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _single(path: Path, document: Any) -> Iterator[JsonObject]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise Unreadable(f"{path} holds a {type(document).__name__} where an object of the API is expected")
    if not str(document.get("kind")).endswith("List"):
        yield document
        return
    for item in document.get("items") or ():
        # Items of a typed list carry no kind of their own.
        of = {"kind": str(document["kind"]).removesuffix("List"), "apiVersion": document.get("apiVersion")}
        yield from _single(path, {**of, **item} if isinstance(item, dict) else item)


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
