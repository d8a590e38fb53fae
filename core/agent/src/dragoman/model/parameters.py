"""Opaque parameters: which entries reach a device, how they merge, which keys its kind takes.

Order of the rules: entries of this driver only; those of the class before those of the claim; key by key, and inside
the sysctl maps key by key as well; a key that the class lists in ``locked`` keeps the class's value. A reference to a
request covers its sub-requests, an empty list covers all requests (resource.k8s.io, DeviceAllocationConfiguration).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dragoman import schema
from dragoman.model.claims import OpaqueConfig, base_request
from dragoman.schema.types import close_keys
from dragoman_hookspecs import Fault, InvalidConfig, JsonObject, Parameters, rules
from dragoman_hookspecs.descriptors import Schema

T = TypeVar("T")

LOCKED = "locked"
"""Key of class parameters: the list of keys that a claim cannot change."""

COMMON_KEYS = frozenset(schema.keys(Parameters)) - {"own"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What parameters a kind of device takes: JSON names of common ones, and the class of those it adds."""

    type: str
    applies: frozenset[str]
    own: Schema | None = None

    @property
    def keys(self) -> frozenset[str]:
        """All JSON names that this kind takes."""
        return self.applies | (frozenset(schema.keys(self.own)) if self.own else frozenset())


def covers(config: OpaqueConfig, request: str) -> bool:
    """Tell whether an entry is for a request (full reference)."""
    return not config.requests or request in config.requests or base_request(request) in config.requests


def merge(configs: Sequence[OpaqueConfig], driver: str, request: str) -> JsonObject:
    """Merge the entries that reach a request of this driver into one object.

    Raises ``InvalidConfig`` where a claim changes a locked key, uses ``locked`` itself, ``locked`` is no list, or an
    entry has a fault.
    """
    merged: JsonObject = {}
    locked: set[str] = set()
    ours = [config for config in configs if config.driver == driver and covers(config, request)]
    for config in sorted(ours, key=lambda config: config.source != "FromClass"):
        if config.fault:
            raise InvalidConfig.at("", config.fault)
        values = dict(config.parameters)
        if config.source == "FromClass":
            locked |= _locked(values.pop(LOCKED, []))
        else:
            _refuse_locked(values, merged, locked)
        merged = _overlay(merged, values)
    return merged


def effective(
    configs: Sequence[OpaqueConfig], driver: str, request: str, kind: Kind, others: Collection[Kind] = ()
) -> tuple[JsonObject, Parameters]:
    """Give the parameters of a device of ``kind``, as JSON and decoded.

    ``others`` are the kinds of the claim's other devices: an entry may cover several kinds, and each takes the keys
    that apply to it. A key that applies to none of them is refused with the list of those that do.
    Raises ``InvalidConfig`` with every fault and its path.
    """
    merged = merge(configs, driver, request)
    known = kind.keys.union(*(other.keys for other in others))
    faults = [_misfit(key, kind) for key in sorted(merged.keys() - known)]
    own = {key: value for key, value in merged.items() if key in kind.keys}
    try:
        parameters = decode(own, kind.own)
    except InvalidConfig as error:
        raise InvalidConfig([*faults, *error.faults]) from None
    if faults:
        raise InvalidConfig(faults)
    return own, parameters


def _misfit(key: str, kind: Kind) -> Fault:
    close = [] if key in COMMON_KEYS else close_keys(key, kind.keys)
    others = f": did you mean {' or '.join(close)}?" if close else f", which takes {', '.join(sorted(kind.keys))}"
    return Fault(key, f"does not apply to a {kind.type} device{others}")


def decode(values: JsonObject, own: Schema | None) -> Parameters:
    """Decode effective parameters strictly. Raises ``InvalidConfig`` with every fault and its path."""
    common, rest = _split(values)
    faults: list[Fault] = []
    parameters = _decode(Parameters, common, faults)
    extra = _decode(own, rest, faults) if own else None
    if own is None:
        faults += [Fault(key, "is not a parameter of this kind of device") for key in sorted(rest)]
    if parameters is not None:
        faults += check(parameters)
    if faults or parameters is None:
        raise InvalidConfig(faults)
    return replace(parameters, own=extra)


def decode_known(values: JsonObject) -> Parameters:
    """Decode the common parameters among those recorded, leaving out each that is not valid any more."""
    valid: JsonObject = {}
    for key in sorted(COMMON_KEYS & values.keys()):
        try:
            decode({key: values[key]}, None)
        except InvalidConfig:
            continue
        valid[key] = values[key]
    return decode(valid, None)


def check(parameters: Parameters) -> list[Fault]:
    """Check the common parameters for what the kernel and the sysctl tree would not take."""
    faults = _optional("podIfName", parameters.pod_if_name, rules.interface_name)
    faults += _optional("vlan", parameters.vlan, rules.vlan_id)
    faults += _optional("mtu", parameters.mtu, rules.mtu)
    faults += _optional("mac", parameters.mac, rules.mac_address)
    for index, address in enumerate(parameters.addresses):
        faults += _optional(f"addresses[{index}]", address, rules.interface_address)
    for index, route in enumerate(parameters.routes):
        faults += _optional(f"routes[{index}].destination", route.destination, rules.route_destination)
        faults += _optional(f"routes[{index}].gateway", route.gateway, rules.ip_address)
        faults += _optional(f"routes[{index}].source", route.source, rules.ip_address)
    for key in ("interfaceSysctlIPv4", "interfaceSysctlIPv6"):
        leaves = parameters.interface_sysctl_ipv4 if key.endswith("4") else parameters.interface_sysctl_ipv6
        for leaf, value in leaves.items():
            faults += _optional(f"{key}.{leaf}", leaf, rules.sysctl_leaf)
            if not value:
                faults.append(Fault(f"{key}.{leaf}", "has an empty value"))
    faults += [
        Fault(f"inherit[{index}]", "must be one of addresses, neighbours, routes")
        for index, what in enumerate(parameters.inherit)
        if what not in ("addresses", "routes", "neighbours")
    ]
    return faults


def _split(values: JsonObject) -> tuple[JsonObject, JsonObject]:
    common = {key: value for key, value in values.items() if key in COMMON_KEYS}
    return common, {key: value for key, value in values.items() if key not in COMMON_KEYS}


def _decode(class_: type[T], values: JsonObject, faults: list[Fault]) -> T | None:
    try:
        return schema.decode(class_, values)
    except InvalidConfig as error:
        faults += error.faults
        return None


def _optional(path: str, value: Any, rule: Any) -> list[Fault]:
    message = None if value is None else rule(value)
    return [Fault(path, message)] if message else []


def _overlay(base: Mapping[str, Any], top: Mapping[str, Any]) -> JsonObject:
    out = dict(base)
    for key, value in top.items():
        old = out.get(key)
        out[key] = _overlay(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return out


def _locked(value: Any) -> set[str]:
    if not isinstance(value, list) or not all(isinstance(key, str) for key in value):
        raise InvalidConfig.at(LOCKED, "must be a list of parameter names")
    return set(value)


def _refuse_locked(values: Mapping[str, Any], merged: Mapping[str, Any], locked: Collection[str]) -> None:
    faults = [
        Fault(key, "is locked by the device class and cannot be changed by the claim")
        for key in values
        if key in locked and values[key] != merged.get(key)
    ]
    if LOCKED in values:
        faults.append(Fault(LOCKED, "belongs to the parameters of a device class"))
    if faults:
        raise InvalidConfig(faults)
