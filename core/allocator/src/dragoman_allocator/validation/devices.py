"""Rules about the devices of a slice: attributes, capacity, counters, scope, taints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dragoman_allocator import names, semver
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import allocatable, formats, nodes, policies, tolerations
from dragoman_allocator.validation.binding import binding
from dragoman_allocator.validation.errors import (
    Errors,
    covered,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
)
from dragoman_allocator.validation.reading import same

MOST_MEMBERS: Final = 32
MOST_VALUES: Final = 48
MOST_CONSUMPTIONS: Final = 2
MOST_COUNTERS: Final = 32
MOST_TAINTS: Final = 16
VALUE_SIZE: Final = 64

SCALARS: Final = ("int", "bool", "string", "version")
LISTS: Final = ("ints", "bools", "strings", "versions")
_SCOPES: Final = ("nodeName", "nodeSelector", "allNodes")
_ONE_SCOPE: Final = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true"
    " in the ResourceSlice spec"
)
_NO_SCOPE: Final = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true"
    " in the ResourceSlice spec"
)


@dataclass(frozen=True, slots=True)
class Devices:
    """Checks devices; ``before`` holds the stored ones by name."""

    features: Features
    per_device: bool
    before: dict[str, JsonObject]

    def device(self, value: JsonObject, path: str) -> Errors:
        """Check one device."""
        name = value.get("name", "")
        old = self.before.get(name)
        errors = formats.label(name, f"{path}.name") + _sizes(value, path)
        errors += _keyed(value.get("attributes", {}), f"{path}.attributes", attribute)
        if old is None or not same(old.get("capacity"), value.get("capacity")):
            errors += self._capacity(value, f"{path}.capacity")
        if old is None or not same(old.get("taints"), value.get("taints")):
            taints = value.get("taints", [])
            errors += formats.listed(taints, f"{path}.taints", MOST_TAINTS, tolerations.taint, size_covered=False)
        consumed = value.get("consumesCounters", [])
        errors += formats.unique(
            consumed, f"{path}.consumesCounters", MOST_CONSUMPTIONS, _consumption, key="counterSet"
        )
        errors += _scope(value, path) if self.per_device else _no_scope(value, path)
        errors += binding(value, path)
        return errors + allocatable.resources(value, path)

    def _capacity(self, value: JsonObject, path: str) -> Errors:
        shareable = value.get("allowMultipleAllocations")

        def one(capacity: JsonObject, at: str) -> Errors:
            if "requestPolicy" not in capacity:
                return []
            if not shareable:
                return [forbidden(f"{at}.requestPolicy", "allowMultipleAllocations must be true")]
            return policies.policy(capacity["value"], capacity["requestPolicy"], f"{at}.requestPolicy", self.features)

        return _keyed(value.get("capacity", {}), path, one)


def _sizes(value: JsonObject, path: str) -> Errors:
    attributes = value.get("attributes", {})
    members = len(attributes) + len(value.get("capacity", {}))
    errors: Errors = []
    if members > MOST_MEMBERS:
        text = f"the total number of attributes and capacities must not exceed {MOST_MEMBERS}"
        errors.append(invalid(path, members, text))
    values = sum(sum(len(one.get(name, ())) for name in LISTS) or 1 for one in attributes.values())
    if values > MOST_VALUES:
        errors.append(invalid(path, values, f"the total number of attribute values must not exceed {MOST_VALUES}"))
    return errors


def _keyed(values: dict[str, JsonObject], path: str, check: formats.Check) -> Errors:
    errors: Errors = []
    for key, value in values.items():
        errors += formats.qualified(key, path) + check(value, f"{path}[{formats.shown_key(key)}]")
    return errors


def attribute(value: JsonObject, path: str) -> Errors:
    """Check an attribute: one member, and its size and form."""
    errors: Errors = []
    if "string" in value:
        errors += _text(value["string"], f"{path}.string")
    if "version" in value:
        errors += _version(value["version"], f"{path}.version")
    for name in LISTS:
        if name in value and not value[name]:
            errors.append(invalid(f"{path}.{name}", value[name], "must not be empty if specified"))
    errors += formats.listed(value.get("strings", []), f"{path}.strings", None, _text)
    errors += formats.listed(value.get("versions", []), f"{path}.versions", None, _version)
    found = [name for name in (*SCALARS, *LISTS) if name in value]
    if len(found) != 1:
        shown = value if found else ""
        errors += covered([invalid(path, shown, "exactly one value must be specified")], "union")
    return errors


def _text(value: str, path: str) -> Errors:
    return [too_long(path, VALUE_SIZE)] if names.size(value) > VALUE_SIZE else []


def _version(value: str, path: str) -> Errors:
    text = "must be a string compatible with semver.org spec 2.0.0"
    errors = [] if semver.is_version(value) else [invalid(path, value, text)]
    return errors + _text(value, path)


def counters(value: JsonObject, path: str) -> Errors:
    """Check the counters of a set or of a consumption; any amount is good."""
    found = value.get("counters", {})
    if not found:
        return covered([required(f"{path}.counters")])
    if len(found) > MOST_COUNTERS:
        return [too_many(f"{path}.counters", len(found), MOST_COUNTERS, "")]
    return covered(error for name in found for error in formats.label(name, f"{path}.counters"))


def _consumption(value: JsonObject, path: str) -> Errors:
    name, at = value.get("counterSet", ""), f"{path}.counterSet"
    return covered(formats.label(name, at) if name else [required(at)]) + counters(value, path)


def _scope(value: JsonObject, path: str) -> Errors:
    errors: Errors = []
    if "nodeName" in value:
        at, name = f"{path}.nodeName", value["nodeName"]
        errors += nodes.name(name, at) if name else [invalid(at, name, "must not be empty")]
    if "nodeSelector" in value:
        errors += nodes.selector(value["nodeSelector"], f"{path}.nodeSelector")
    if "allNodes" in value and not value["allNodes"]:
        errors.append(invalid(f"{path}.allNodes", False, "must be either unset or set to true"))
    chosen = [f"`{name}`" for name in _SCOPES if value.get(name) or (name == "nodeSelector" and name in value)]
    if not chosen:
        errors.append(required(path, _ONE_SCOPE))
    elif len(chosen) > 1:
        errors.append(invalid(path, f"{{{', '.join(chosen)}}}", _ONE_SCOPE))
    return errors


def _no_scope(value: JsonObject, path: str) -> Errors:
    return [invalid(path, None, _NO_SCOPE)] if any(name in value for name in _SCOPES) else []
