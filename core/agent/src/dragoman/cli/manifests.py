"""Checks opaque parameters in manifests: ResourceClaim, ResourceClaimTemplate and DeviceClass."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.model.claims import OpaqueConfig
from dragoman.model.parameters import COMMON_KEYS, LOCKED, Kind, effective
from dragoman.schema.types import below, unknown_key
from dragoman_hookspecs import Fault, InvalidConfig

_CONFIG = {
    "ResourceClaim": ("spec", "devices", "config"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "config"),
    "DeviceClass": ("spec", "config"),
}
KINDS = frozenset(_CONFIG)
"""Kinds of objects that carry opaque parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Opaque parameters of one driver and the path at which they stand in their object."""

    path: str
    source: str
    driver: str
    parameters: Any


def objects(document: Any, path: str = "") -> Iterator[Mapping[str, Any] | Fault]:
    """Give the objects of a document: itself, or the items of a List; and what is no object, with its path."""
    if not isinstance(document, Mapping):
        yield Fault(path, "must be an object")
        return
    kind, items = str(document.get("kind", "")), document.get("items")
    if not kind.endswith("List"):
        yield document if "kind" in document else Fault(path, "has no kind")
        return
    here = below(path, "items")
    if not isinstance(items, list | None):
        yield Fault(here, "must be a list")
        return
    # Items of a typed list carry no kind of their own.
    of = {} if kind == "List" else {"kind": kind.removesuffix("List")}
    for index, item in enumerate(items or ()):
        yield from objects({**of, **item} if isinstance(item, Mapping) else item, f"{here}[{index}]")


def title(manifest: Mapping[str, Any]) -> str:
    """Name an object for a person: ``ResourceClaim net/a``."""
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    parts = [metadata.get("namespace"), metadata.get("name") or metadata.get("generateName")]
    return f"{manifest.get('kind')} {'/'.join(str(part) for part in parts if part)}".rstrip()


def check(found: Iterable[Entry], driver: str, kinds: Sequence[Kind]) -> list[Fault]:
    """Check the parameters of this driver. Gives the faults with their paths."""
    return [
        Fault(below(entry.path, fault.path), fault.message)
        for entry in found
        if entry.driver == driver
        for fault in parameter_faults(entry, kinds)
    ]


def foreign(found: Iterable[Entry], drivers: Collection[str]) -> list[str]:
    """Say which parameters are for other drivers: these are not checked, and a misspelt driver is one of them."""
    wanted = " or ".join(drivers)
    return [
        f"{entry.path} is not checked: it is for driver {entry.driver}, not {wanted}"
        for entry in found
        if entry.driver not in drivers
    ]


def entries(manifest: Mapping[str, Any]) -> tuple[list[Entry], list[Fault]]:
    """Give the opaque entries of all drivers in an object of one of ``KINDS``, and where it is not one of the API."""
    kind = manifest["kind"]
    here: Any = manifest
    for depth, key in enumerate(_CONFIG[kind]):
        if not isinstance(here, Mapping):
            return [], [Fault(".".join(_CONFIG[kind][:depth]), "must be an object")]
        here = here.get(key)
        if here is None:
            return [], []
    base = ".".join(_CONFIG[kind])
    if not isinstance(here, list):
        return [], [Fault(base, "must be a list")]
    source = "FromClass" if kind == "DeviceClass" else "FromClaim"
    found = [_entry(f"{base}[{index}]", source, item) for index, item in enumerate(here)]
    return [each for each in found if isinstance(each, Entry)], [each for each in found if isinstance(each, Fault)]


def _entry(path: str, source: str, item: Any) -> Entry | Fault | None:
    if not isinstance(item, Mapping):
        return Fault(path, "must be an object")
    opaque = item.get("opaque")
    if opaque is None:
        return None
    if not isinstance(opaque, Mapping):
        return Fault(f"{path}.opaque", "must be an object")
    driver = opaque.get("driver")
    if not isinstance(driver, str) or not driver:
        return Fault(f"{path}.opaque.driver", "must name a driver")
    return Entry(path=f"{path}.opaque.parameters", source=source, driver=driver, parameters=opaque.get("parameters"))


def parameter_faults(entry: Entry, kinds: Sequence[Kind]) -> list[Fault]:
    """Check one entry without a device: a key is at fault if no kind of device that takes it accepts its value."""
    if not isinstance(entry.parameters, Mapping):
        return [Fault("", "must be an object")]
    config = OpaqueConfig(source=entry.source, driver=entry.driver, parameters=entry.parameters)
    kinds = kinds or [Kind(type="network", applies=COMMON_KEYS)]
    known = frozenset[str]().union(*(kind.keys for kind in kinds))
    found = [_faults(config, kind, kinds) for kind in kinds]
    faults = dict.fromkeys(_unknown(fault, known) for faults in found for fault in faults)
    return [
        fault
        for fault in faults
        if all(
            _key(fault) in map(_key, faults)
            for kind, faults in zip(kinds, found, strict=True)
            if _key(fault) in kind.keys
        )
    ]


def _faults(config: OpaqueConfig, kind: Kind, kinds: Sequence[Kind]) -> list[Fault]:
    try:
        effective([config], config.driver, "", kind, kinds)
    except InvalidConfig as error:
        return list(error.faults)
    return []


def _unknown(fault: Fault, known: frozenset[str]) -> Fault:
    """Say once of a key that no kind of device takes what else each kind would say of it."""
    is_key = fault.path and fault.path == _key(fault)
    if not is_key or fault.path in known | COMMON_KEYS | {LOCKED}:
        return fault
    return Fault(fault.path, unknown_key(fault.path, sorted(known)))


def _key(fault: Fault) -> str:
    return fault.path.replace("[", ".").partition(".")[0]
