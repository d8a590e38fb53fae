"""Entries of ``status.devices`` within the limits of the API (KEP-4817; validation of resource.k8s.io/v1)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.model.envelope import CUT, DISPENSABLE
from dragoman.model.status import Condition, DeviceStatus
from dragoman_hookspecs import JsonObject, NetworkData

DATA_BYTES = 10240
CONDITIONS = 8
IPS = 16
INTERFACE_BYTES = 256
HARDWARE_BYTES = 128
REASON_BYTES = 1024
MESSAGE_BYTES = 32768


def entry_json(device: DeviceStatus, times: Mapping[str, str]) -> JsonObject:
    """Give one entry. ``times`` maps condition types to ``lastTransitionTime``."""
    entry: JsonObject = {"driver": device.driver, "pool": device.pool, "device": device.device}
    if device.share_id:
        entry["shareID"] = device.share_id
    conditions = {condition.type: condition for condition in device.conditions}
    entry["conditions"] = [_condition(c, times[c.type]) for c in list(conditions.values())[:CONDITIONS]]
    if device.data:
        entry["data"] = bounded_data(device.data)
    if network := _network(device.network_data):
        entry["networkData"] = network
    return entry


def bounded_data(data: JsonObject) -> JsonObject:
    """Cut the data to the limit: dispensable parts first, then the largest ones; ``truncated`` names them."""
    result, gone = dict(data), []
    while encoded_size(result) > DATA_BYTES:
        parts = [key for key in result if key != CUT]
        dispensable = [key for key in DISPENSABLE if key in result]
        victim = dispensable[0] if dispensable else max(parts, key=lambda key: encoded_size(result[key]))
        del result[victim]
        gone.append(victim)
        result[CUT] = gone
    return result


def encoded_size(value: Any) -> int:
    """Give the size of a value as the server counts it: compact JSON in which Go escapes ``<``, ``>`` and ``&``."""
    encoded = msgspec.json.encode(value)
    return len(encoded) + 5 * sum(encoded.count(character) for character in (b"<", b">", b"&"))


def canonical_ips(addresses: Iterable[str]) -> list[str]:
    """Give interface addresses in canonical CIDR form, each once, at most 16; what the API would refuse is left out."""
    found: dict[str, None] = {}
    for text in addresses:
        try:
            interface = ipaddress.ip_interface(text)
        except ValueError:
            continue
        if isinstance(interface, ipaddress.IPv6Interface) and interface.ip.ipv4_mapped:
            continue
        # Without the zone of a link-local address, which means nothing to anybody else.
        found[f"{interface.ip}/{interface.network.prefixlen}"] = None
    return list(found)[:IPS]


def _condition(condition: Condition, since: str) -> JsonObject:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": _reason(condition.reason),
        "message": _cut(condition.message, MESSAGE_BYTES),
        "lastTransitionTime": since,
    }


def _reason(text: str) -> str:
    """A reason is a word; whatever is not of one becomes ``_``."""
    word = re.sub(r"[^A-Za-z0-9_,:]", "_", text).strip("_,:").lstrip("0123456789_,:")
    return word[:REASON_BYTES].rstrip(",:") or "Unspecified"


def _network(network: NetworkData | None) -> JsonObject:
    if network is None:
        return {}
    result: JsonObject = {}
    if network.interface_name and len(network.interface_name.encode()) <= INTERFACE_BYTES:
        result["interfaceName"] = network.interface_name
    if network.hardware_address and len(network.hardware_address.encode()) <= HARDWARE_BYTES:
        result["hardwareAddress"] = network.hardware_address
    if ips := canonical_ips(network.ips):
        result["ips"] = ips
    return result


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode(errors="ignore")
