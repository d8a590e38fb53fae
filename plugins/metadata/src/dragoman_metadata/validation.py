"""Are the values what the API allows? Apart from decoding: a document with faults is still handed to its reader."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dragoman_metadata.model import Attribute, Device, DeviceMetadata, NetworkData

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
_KINDS = {"int": int, "bool": bool, "string": str, "version": str}


def validate(metadata: DeviceMetadata) -> Sequence[str]:
    """List the faults, each with its path; nothing where all is well."""
    return list(_faults(metadata))


def _faults(metadata: DeviceMetadata) -> Iterator[str]:
    if metadata.generation < 0:
        yield "metadata.generation: is negative"
    if metadata.pod_claim_name and not _LABEL.fullmatch(metadata.pod_claim_name):
        yield "podClaimName: is no DNS label"
    for index, request in enumerate(metadata.requests):
        path = f"requests[{index}]"
        if not request.name:
            yield f"{path}.name: is missing"
        for number, device in enumerate(request.devices):
            yield from _device(f"{path}.devices[{number}]", device)


def _device(path: str, device: Device) -> Iterator[str]:
    if len(device.driver) > 63 or not _SUBDOMAIN.fullmatch(device.driver.lower()):
        yield f"{path}.driver: is no DNS subdomain of at most 63 characters"
    if len(device.pool) > 253 or not all(_SUBDOMAIN.fullmatch(part) for part in device.pool.split("/")):
        yield f"{path}.pool: is no list of DNS subdomains separated by '/' of at most 253 characters"
    if not _LABEL.fullmatch(device.name):
        yield f"{path}.name: is no DNS label"
    if len(device.attributes) > 32:
        yield f"{path}.attributes: has {len(device.attributes)} entries, at most 32 are allowed"
    for name, attribute in device.attributes.items():
        yield from _attribute(f"{path}.attributes[{name}]", attribute)
    if device.network_data is not None:
        yield from _network(f"{path}.networkData", device.network_data)


def _attribute(path: str, attribute: Attribute) -> Iterator[str]:
    if len(attribute) != 1:
        yield f"{path}: must have exactly one value"
        return
    ((kind, value),) = attribute.items()
    type_, is_list = _KINDS.get(kind.removesuffix("s")), kind.endswith("s")
    values = value if is_list else [value]
    if type_ is None:
        yield f"{path}: {kind} is no kind of value"
    elif not isinstance(values, list) or not values or not all(type(each) is type_ for each in values):
        yield f"{path}.{kind}: is of the wrong type"
    elif type_ is str and is_list and any(len(each.encode()) > 64 for each in values):
        yield f"{path}.{kind}: has a member of more than 64 bytes"


def _network(path: str, network: NetworkData) -> Iterator[str]:
    if len(network.interface_name.encode()) > 256:
        yield f"{path}.interfaceName: is longer than 256 bytes"
    if len(network.hardware_address.encode()) > 128:
        yield f"{path}.hardwareAddress: is longer than 128 bytes"
    if len(network.ips) > 16:
        yield f"{path}.ips: has {len(network.ips)} entries, at most 16 are allowed"
    if len(set(network.ips)) != len(network.ips):
        yield f"{path}.ips: has an entry twice"
