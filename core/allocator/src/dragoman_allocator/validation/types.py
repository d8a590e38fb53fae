"""The types of ``fields.py``, parsed, per API version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dragoman_allocator.validation.fields import PODS, V1, V1BETA1

GROUP: Final = "resource.k8s.io"
CORE: Final = "core"
"""Stands for v1 of Kubernetes' own group, of which only pods are known, and those in part."""
VERSIONED: Final = ("ResourceSlice", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
KINDS: Final[Mapping[str, frozenset[str]]] = {
    "v1": frozenset({*VERSIONED, "DeviceTaintRule"}),
    "v1beta2": frozenset({*VERSIONED, "DeviceTaintRule"}),
    "v1beta1": frozenset(VERSIONED),
    "v1alpha3": frozenset({"DeviceTaintRule", "ResourcePoolStatusRequest"}),
    CORE: frozenset({"Pod"}),
}
"""Kinds that the API server of 1.37 knows, by version (api-semantics 1.1)."""

_TEXTS: Final = frozenset(
    {
        "string",
        "UID",
        "QualifiedName",
        "FullyQualifiedName",
        "ResourceName",
        "SkipNodeOperation",
        "DeviceTaintEffect",
        "DeviceAllocationMode",
        "DeviceTolerationOperator",
        "AllocationConfigSource",
        "NodeSelectorOperator",
        "ConditionStatus",
        "ManagedFieldsOperationType",
    }
)
_PACKAGES: Final = {"UID": "types.", "Quantity": "resource.", "Raw": "runtime."}
_OF_CORE: Final = frozenset(
    {
        "ObjectMeta",
        "OwnerReference",
        "ManagedFieldsEntry",
        "ManagedFieldsOperationType",
        "Condition",
        "ConditionStatus",
        "Time",
        "NodeSelector",
        "NodeSelectorTerm",
        "NodeSelectorRequirement",
        "NodeSelectorOperator",
        "ResourceName",
    }
)


@dataclass(frozen=True, slots=True)
class Type:
    """A parsed type: ``kind`` is pointer, list, map, struct, text, int64, int32, bool, Quantity, Time or Raw."""

    kind: str
    name: str = ""
    element: Type | None = None
    shown: str = ""

    @property
    def of(self) -> Type:
        """Give the type of the elements, or what is pointed to."""
        assert self.element is not None
        return self.element


Schema = Mapping[str, Mapping[str, Type]]


@lru_cache(maxsize=8)
def schema(version: str) -> Schema:
    """Give the fields by struct for an API version."""
    tables = _table(V1) | _table({"v1beta1": V1BETA1, CORE: PODS}.get(version, ""))
    for kind in KINDS[version]:
        tables[kind] = {"kind": "string", "apiVersion": "string"} | tables[kind]
    return {name: {field: parse(text, version) for field, text in row.items()} for name, row in tables.items()}


def _table(text: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    row: dict[str, str] = {}
    for line in text.strip().splitlines():
        if line.startswith(" "):
            row.update((item.partition(":")[0], item.partition(":")[2]) for item in line.split())
        else:
            row = found[line] = {}
    return found


def parse(text: str, version: str) -> Type:
    """Parse one type."""
    if text.startswith("*"):
        element = parse(text[1:], version)
        return Type("pointer", element=element, shown=element.shown)
    if text.startswith("[]"):
        element = parse(text[2:], version)
        return Type("list", element=element, shown=f"[]{element.shown}")
    if key := re.match(r"map\[(\w+)\]", text):
        element = parse(text[key.end() :], version)
        return Type("map", element=element, shown=f"map[{_shown(key[1], version)}]{element.shown}")
    if text in _TEXTS:
        return Type("text", text, shown=_shown(text, version))
    if text in ("int64", "int32", "bool", "Quantity", "Time", "Raw"):
        return Type(text, text, shown=_shown(text, version))
    return Type("struct", text, shown=_shown(text, version))


def _shown(name: str, version: str) -> str:
    if name in ("string", "int64", "int32", "bool"):
        return name
    if name in _PACKAGES:
        return _PACKAGES[name] + name
    return f"v1.{name}" if name in _OF_CORE else f"{version}.{name}"
