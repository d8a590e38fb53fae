"""Device status by read and replace, with the rest of the claim byte by byte as it was.

The server keeps opaque parameters as they were sent. Where that was not its own form (members in alphabetical order,
no blanks), it takes any write that goes through JSON, server-side apply included, for one that changes the allocation,
which holds them: refused with a cause for ``status.allocation`` (seen with 1.37). Protobuf carries them unread.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from google.protobuf.message import DecodeError

from dragoman.kube._proto import claim_pb2
from dragoman.kube.claims import ClaimObject, claim_path
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.versions import Api
from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_TRIES = 5


def is_needed(error: ApiError) -> bool:
    """Tell whether a write of device status was refused for a change of the allocation, which was not meant."""
    return any(cause.field == "status.allocation" for cause in error.causes)


async def put_exactly(
    client: KubeClient, api: Api, claim: ClaimRef, driver: str, entries: Sequence[JsonObject]
) -> ClaimObject:
    """Replace the driver's entries and nothing else. Raises ``ApiError`` or ``ServerUnavailable``."""
    path = claim_path(api, claim)
    for tries in reversed(range(_TRIES)):
        found = await _read(client, path, claim)
        body = replaced(found, claim, driver, entries)
        try:
            answer = await client.request("PUT", f"{path}/status", body=body, content_type=PROTOBUF)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT or not tries:
                raise
        else:
            return decode(path, answer, ClaimObject)
    raise AssertionError("the last try answers or raises")


async def _read(client: KubeClient, path: str, claim: ClaimRef) -> bytes:
    try:
        return await client.request("GET", path, accept=PROTOBUF)
    except ApiError as error:
        # Refusals come as protobuf too, which is not read.
        if error.status == HTTPStatus.NOT_FOUND:
            raise ApiError(error.status, "NotFound", f"{claim} is gone", kind="resourceclaims") from error
        raise


def replaced(content: bytes, claim: ClaimRef, driver: str, entries: Sequence[JsonObject]) -> bytes:
    """Give a claim, as protobuf, with these entries of the driver instead of those that it has.

    Raises ``ApiError`` where it is another claim of that name, ``ServerUnavailable`` for what is no claim.
    """
    envelope, found = claim_pb2.Unknown(), claim_pb2.ResourceClaim()
    try:
        envelope.ParseFromString(content.removeprefix(_MAGIC))
        found.ParseFromString(envelope.raw)
    except DecodeError as error:
        raise ServerUnavailable(f"{claim} cannot be read as protobuf: {error}") from error
    if found.metadata.uid != claim.uid:
        raise ApiError(HTTPStatus.CONFLICT, "Replaced", "the claim was replaced")
    others = [entry for entry in found.status.devices if entry.driver != driver]
    del found.status.devices[:]
    found.status.devices.extend([*others, *map(_entry, entries)])
    envelope.raw = found.SerializeToString()
    return _MAGIC + envelope.SerializeToString()


def _entry(entry: JsonObject) -> claim_pb2.AllocatedDeviceStatus:
    message = claim_pb2.AllocatedDeviceStatus(
        driver=entry["driver"],
        pool=entry["pool"],
        device=entry["device"],
        shareID=entry.get("shareID"),
        conditions=[_condition(condition) for condition in entry["conditions"]],
    )
    if "data" in entry:
        message.data.raw = msgspec.json.encode(entry["data"], order="deterministic")
    if "networkData" in entry:
        message.networkData.CopyFrom(claim_pb2.NetworkDeviceData(**entry["networkData"]))
    return message


def _condition(condition: JsonObject) -> claim_pb2.Condition:
    since = dt.datetime.fromisoformat(condition["lastTransitionTime"])
    time = claim_pb2.Time(seconds=int(since.timestamp()))
    return claim_pb2.Condition(**condition | {"lastTransitionTime": time})
