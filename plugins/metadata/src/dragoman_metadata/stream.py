"""The file format: JSON documents one after the other, the same content once for each API version.

Decoding follows the protocol: the first document of a known version counts and nothing behind it is looked at; unknown
versions are skipped whatever their shape; a malformed document of a known version is an error. Whether values are
valid is another question (``validation``): it never keeps a decoded document from its reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dragoman_metadata.model import GROUP, KIND, VERSIONS, Device, DeviceMetadata, NetworkData, Request

T = TypeVar("T")


class MetadataError(Exception):
    """The metadata cannot be had; the text says which file and why."""


class MalformedMetadata(MetadataError):
    """The file is not what the protocol says."""


class UnknownVersions(MetadataError):
    """The file has only versions that this reader does not know."""


def encode(metadata: DeviceMetadata, versions: Sequence[str]) -> bytes:
    """Write the document once for each version (``v1beta1`` and the like), in that order."""
    return b"".join(
        json.dumps(_document(metadata, version), indent=2, ensure_ascii=False).encode() + b"\n" for version in versions
    )


def decode(content: bytes, where: str = "metadata", known: Sequence[str] = VERSIONS) -> DeviceMetadata:
    """Read the first document of a known version.

    Raises ``MalformedMetadata`` or ``UnknownVersions``; both name ``where``.
    """
    skipped = []
    for document in _documents(content, where):
        version = _text(document, "apiVersion", where)
        kind = _text(document, "kind", where)
        group, _, short = version.rpartition("/")
        if group != GROUP or short not in known:
            skipped.append(version)
            continue
        if kind != KIND:
            raise MalformedMetadata(f"{where}: a document of {version} is a {kind!r}, expected {KIND}")
        return _metadata(document, where)
    if skipped:
        raise UnknownVersions(f"{where} has only versions that are not known here: {', '.join(skipped)}")
    raise MalformedMetadata(f"{where} is empty")


def _documents(content: bytes, where: str) -> Iterator[Mapping[str, Any]]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise MalformedMetadata(f"{where} is not UTF-8: {error}") from None
    decoder, position = json.JSONDecoder(), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        try:
            document, position = decoder.raw_decode(text, position)
            document = _whole(document) if "\\u" in text else document
        except (ValueError, RecursionError) as error:
            raise MalformedMetadata(f"{where} is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise MalformedMetadata(f"{where}: a document is no JSON object")
        yield document


def _whole(value: Any) -> Any:
    """Put U+FFFD in the place of half a surrogate pair, as Go does: JSON may escape it, and no text holds it."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list) else value


def _text(document: Mapping[str, Any], key: str, where: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise MalformedMetadata(f"{where}: a document has no {key}")
    return value


def _document(metadata: DeviceMetadata, version: str) -> dict[str, Any]:
    identity = {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": metadata.uid,
        "generation": metadata.generation,
    }
    return {"kind": KIND, "apiVersion": f"{GROUP}/{version}"} | _present(
        {
            "metadata": _present(identity),
            "podClaimName": metadata.pod_claim_name,
            "requests": [
                {"name": request.name} | _present({"devices": [_device(device) for device in request.devices]})
                for request in metadata.requests
            ],
        }
    )


def _device(device: Device) -> dict[str, Any]:
    network = device.network_data
    return {"driver": device.driver, "pool": device.pool, "name": device.name} | _present(
        {
            "attributes": {name: dict(device.attributes[name]) for name in sorted(device.attributes)},
            "networkData": network
            and _present(
                {
                    "interfaceName": network.interface_name,
                    "ips": list(network.ips),
                    "hardwareAddress": network.hardware_address,
                }
            ),
        }
    )


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _metadata(document: Mapping[str, Any], where: str) -> DeviceMetadata:
    read = _Reader(where)
    identity = read.get(document, "metadata", dict, {})
    return DeviceMetadata(
        name=read.get(identity, "name", str, ""),
        namespace=read.get(identity, "namespace", str, ""),
        uid=read.get(identity, "uid", str, ""),
        generation=read.get(identity, "generation", int, 0),
        pod_claim_name=read.get(document, "podClaimName", str, ""),
        requests=tuple(
            Request(
                name=read.get(request, "name", str, ""),
                devices=tuple(read.device(device) for device in read.objects(request, "devices")),
            )
            for request in read.objects(document, "requests")
        ),
    )


class _Reader:
    """Reads members with their type; null counts as absent, unknown members are ignored."""

    def __init__(self, where: str) -> None:
        self._where = where

    def get(self, holder: Mapping[str, Any], key: str, type_: type[T], default: T) -> T:
        value = holder.get(key)
        if value is None:
            return default
        if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
            raise MalformedMetadata(f"{self._where}: {key} is {value!r}, which is of the wrong type")
        return value

    def objects(self, holder: Mapping[str, Any], key: str) -> Iterable[Mapping[str, Any]]:
        values = self.get(holder, key, list, [])
        if not all(isinstance(value, dict) for value in values):
            raise MalformedMetadata(f"{self._where}: {key} has a member that is no object")
        return values

    def texts(self, holder: Mapping[str, Any], key: str) -> tuple[str, ...]:
        values = self.get(holder, key, list, [])
        if not all(isinstance(value, str) for value in values):
            raise MalformedMetadata(f"{self._where}: {key} has a member that is no string")
        return tuple(values)

    def device(self, value: Mapping[str, Any]) -> Device:
        attributes = self.get(value, "attributes", dict, {})
        if not all(isinstance(attribute, dict) for attribute in attributes.values()):
            raise MalformedMetadata(f"{self._where}: an attribute is no object")
        network = value.get("networkData")
        return Device(
            driver=self.get(value, "driver", str, ""),
            pool=self.get(value, "pool", str, ""),
            name=self.get(value, "name", str, ""),
            attributes=attributes,
            network_data=None if network is None else self.network(self.get(value, "networkData", dict, {})),
        )

    def network(self, value: Mapping[str, Any]) -> NetworkData:
        return NetworkData(
            interface_name=self.get(value, "interfaceName", str, ""),
            ips=self.texts(value, "ips"),
            hardware_address=self.get(value, "hardwareAddress", str, ""),
        )
