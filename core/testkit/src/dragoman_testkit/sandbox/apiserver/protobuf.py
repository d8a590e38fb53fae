"""Claims in protobuf, as far as drivers write them: entries of ``status.devices``.

All else stands in fields that the driver's messages do not have, as JSON; a driver has to give it back as it was.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from dragoman.kube._proto import claim_pb2 as pb
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import ApiFault, bad_request

TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_REST, _ALLOCATION = 2, 1
"""Fields of the claim and of its status, where the API has its spec and its allocation."""


def encode(claim: JsonObject) -> bytes:
    """Give a stored claim."""
    metadata, status = claim["metadata"], dict(claim.get("status") or {})
    entries, allocation = status.pop("devices", None) or (), status.pop("allocation", None)
    known = pb.ResourceClaim(
        metadata=pb.ObjectMeta(uid=metadata["uid"], resourceVersion=metadata["resourceVersion"]),
        status=pb.ResourceClaimStatus(devices=map(_message, entries)),
    )
    known.status.MergeFromString(_field(_ALLOCATION, allocation))
    known.MergeFromString(_field(_REST, {**claim, "status": status}))
    return _MAGIC + pb.Unknown(raw=known.SerializeToString()).SerializeToString()


def decode(content: bytes) -> JsonObject:
    """Give the claim that was sent. Raises ``ApiFault`` 400."""
    try:
        envelope = pb.Unknown.FromString(content.removeprefix(_MAGIC))
        known = pb.ResourceClaim.FromString(envelope.raw)
        claim, allocation = _kept(known, _REST), _kept(known.status, _ALLOCATION)
    except (DecodeError, ValueError, LookupError) as error:
        raise bad_request(f"the body is no claim in protobuf: {error}") from error
    metadata = {"uid": known.metadata.uid, "resourceVersion": known.metadata.resourceVersion}
    status = claim["status"] | {"allocation": allocation, "devices": list(map(_entry, known.status.devices))}
    return claim | {"metadata": claim["metadata"] | metadata, "status": status}


def failure(fault: ApiFault) -> bytes:
    """Give a failure; it cannot be read as JSON."""
    return _MAGIC + pb.Unknown(raw=fault.message.encode()).SerializeToString()


def _field(number: int, value: object) -> bytes:
    content, length = json.dumps(value).encode(), b""
    size = len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def _kept(message: Message, number: int) -> JsonObject:
    fields: Any = UnknownFieldSet(message)  # its stubs do not say that it can be iterated over
    found: JsonObject = json.loads({field.field_number: field.data for field in fields}[number])
    return found


def _message(entry: JsonObject) -> pb.AllocatedDeviceStatus:
    message = pb.AllocatedDeviceStatus(**{key: entry[key] for key in _PLAIN if key in entry})
    for given in entry.get("conditions") or ():
        since = dt.datetime.fromisoformat(given["lastTransitionTime"]).timestamp()
        message.conditions.add(**given | {"lastTransitionTime": pb.Time(seconds=int(since))})
    if "data" in entry:
        message.data.raw = json.dumps(entry["data"]).encode()
    return message


def _entry(message: pb.AllocatedDeviceStatus) -> JsonObject:
    entry: JsonObject = {key: getattr(message, key) for key in _PLAIN[:4] if message.HasField(key)}
    if message.conditions:
        entry["conditions"] = [_condition(each) for each in message.conditions]
    if message.HasField("data"):
        entry["data"] = json.loads(message.data.raw)
    if message.HasField("networkData"):
        entry["networkData"] = {
            name.name: list(value) if name.name == "ips" else value for name, value in message.networkData.ListFields()
        }
    return entry


def _condition(message: pb.Condition) -> JsonObject:
    since = dt.datetime.fromtimestamp(message.lastTransitionTime.seconds, dt.UTC)
    plain = {name: getattr(message, name) for name in ("type", "status", "reason", "message")}
    return plain | {"lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ")}


_PLAIN = ("driver", "pool", "device", "shareID", "networkData")
