"""Objects of v1beta1 of resource.k8s.io as JSON of v1; devices and requests have another shape (v1beta2: none)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dragoman_allocator.errors import InvalidMember
from dragoman_allocator.objects import ResourceClaim, ResourceClaimTemplate, ResourceSlice, Struct
from dragoman_allocator.objects.meta import JsonObject

GROUP: Final = "resource.k8s.io"
OLD_SHAPE: Final = f"{GROUP}/v1beta1"
VERSIONS: Final = frozenset({f"{GROUP}/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha3")})

REQUEST_MEMBERS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
"""What a request of v1beta1 has in itself, and one of v1 in ``exactly``."""

_UNSET: Final[Mapping[str, Any]] = {
    "nodeName": "",
    "allNodes": False,
    "deviceClassName": "",
    "allocationMode": "",
    "count": 0,
}
"""Zero values of the members that are no pointers in v1beta1, where they mean "not set"."""


def to_v1(kind: type[Struct], json: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give the v1 form of an object in v1beta1 form; kinds that have the same form are returned as they are.

    Raises ``InvalidMember`` where a part that has to be moved is no object or list.
    """
    convert = _CONVERSIONS.get(kind)
    return json if convert is None else convert(json)


def _slice(json: Mapping[str, Any]) -> JsonObject:
    return _changed(json, "spec", lambda spec, at: _slice_spec(_object(spec, at), at), "")


def _slice_spec(spec: Mapping[str, Any], at: str) -> JsonObject:
    kept = {name: value for name, value in spec.items() if _is_set(name, value)}
    return _changed(kept, "devices", lambda devices, at: _each(devices, at, _device), at)


def _device(device: Mapping[str, Any], at: str) -> JsonObject:
    return {**_object(device.get("basic"), f"{at}.basic"), "name": device.get("name", "")}


def _claim(json: Mapping[str, Any]) -> JsonObject:
    return _changed(json, "spec", _claim_spec, "")


def _template(json: Mapping[str, Any]) -> JsonObject:
    return _changed(json, "spec", lambda spec, at: _changed(_object(spec, at), "spec", _claim_spec, at), "")


def _claim_spec(spec: Any, at: str) -> JsonObject:
    return _changed(_object(spec, at), "devices", _claim_devices, at)


def _claim_devices(devices: Any, at: str) -> JsonObject:
    return _changed(_object(devices, at), "requests", lambda requests, at: _each(requests, at, _request), at)


def _request(request: Mapping[str, Any], at: str) -> JsonObject:
    kept = {name: value for name, value in request.items() if name in ("name", "firstAvailable")}
    exactly = {name: value for name, value in request.items() if name in REQUEST_MEMBERS}
    return {**kept, "exactly": exactly} if any(_is_set(*member) for member in exactly.items()) else kept


def _is_set(name: str, value: Any) -> bool:
    # A zero of another type is left where it is, to be refused.
    zero = _UNSET.get(name)
    return value is not None and not (type(value) is type(zero) and value == zero)


def _changed(json: Mapping[str, Any], name: str, change: Callable[[Any, str], Any], at: str) -> JsonObject:
    """Give the object with one member changed, if it has that member."""
    if json.get(name) is None:
        return dict(json)
    return {**json, name: change(json[name], f"{at}.{name}" if at else name)}


def _each(items: Any, at: str, change: Callable[[Mapping[str, Any], str], Any]) -> list[Any]:
    if not isinstance(items, list):
        raise InvalidMember(f"expected a list, not {type(items).__name__}", at)
    return [change(_object(item, f"{at}[{index}]"), f"{at}[{index}]") for index, item in enumerate(items)]


def _object(json: Any, at: str) -> Mapping[str, Any]:
    if json is None:
        return {}
    if not isinstance(json, Mapping):
        raise InvalidMember(f"expected an object, not {type(json).__name__}", at)
    return json


_CONVERSIONS: Final[Mapping[type[Struct], Callable[[Mapping[str, Any]], JsonObject]]] = {
    ResourceSlice: _slice,
    ResourceClaim: _claim,
    ResourceClaimTemplate: _template,
}
