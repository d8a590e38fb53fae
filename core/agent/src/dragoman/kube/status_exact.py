"""Device status by read and replace, with the rest of the claim byte by byte as it was.

It is for two kinds of claims that server-side apply cannot write. Servers before 1.34 take no entry without a share id.
And every server keeps opaque parameters as they were sent: with blanks, or with members in another order than the
alphabetical, they come out of an apply as other bytes, which counts as a change of the allocation that holds them
(seen with 1.37). JSON is no way round: a server shows parameters without their blanks, and the patches that it merges
itself pass through the same form. Protobuf carries them unread.
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
from dragoman.kube.errors import ApiError, ServerUnavailable, replacement
from dragoman.kube.versions import Api
from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_TRIES = 5
_CLAIMS = 1024
_ESCAPED = "<>&\u2028\u2029"
"""What Go writes as an escape in JSON, beside what has to be."""


def takes_it_for_another_allocation(error: ApiError | ServerUnavailable) -> bool:
    """Tell whether a write of device status was refused for a change of the allocation, which was not meant."""
    return isinstance(error, ApiError) and any(cause.field == "status.allocation" for cause in error.causes)


class LooseClaims:
    """UIDs of claims of which an apply was refused so; of many the oldest is forgotten, and costs one more refusal."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids

    def add(self, uid: str) -> None:
        """Note that no apply can write this claim: its allocation keeps the parameters that it has."""
        self._uids[uid] = None
        if len(self._uids) > _CLAIMS:
            del self._uids[next(iter(self._uids))]


async def put_exactly(
    client: KubeClient, api: Api, claim: ClaimRef, driver: str, entries: Sequence[JsonObject]
) -> ClaimObject:
    """Replace the driver's entries and nothing else.

    Raises ``ApiError`` with reason ``Replaced`` for another claim of that name, or as the server refuses, and
    ``ServerUnavailable``, also where others write the claim each time in between.
    """
    path = claim_path(api, claim)
    for _ in range(_TRIES):
        body = replaced(await _read(client, path), claim, driver, entries)
        try:
            answer = await client.request("PUT", f"{path}/status", body=body, content_type=PROTOBUF)
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        else:
            return decode(path, answer, ClaimObject)
    raise ServerUnavailable(f"{claim} was changed by somebody else at each of {_TRIES} attempts", status=409)


async def _read(client: KubeClient, path: str) -> bytes:
    try:
        return await client.request("GET", path, accept=PROTOBUF)
    except ApiError as error:
        # Why is told in protobuf too; this one raises it as JSON tells it.
        await client.get(path)
        raise ServerUnavailable(f"{path} was refused and then it was not: {error}", status=error.status) from error


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
        raise replacement(claim)
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
        message.data.raw = _canonical(entry["data"])
    if "networkData" in entry:
        message.networkData.CopyFrom(claim_pb2.NetworkDeviceData(**entry["networkData"]))
    return message


def _canonical(data: JsonObject) -> bytes:
    """Encode as the server does; otherwise the next apply of another driver would count as a change of this entry."""
    text = msgspec.json.encode(data, order="sorted").decode()
    return "".join(f"\\u{ord(letter):04x}" if letter in _ESCAPED else letter for letter in text).encode()


def _condition(condition: JsonObject) -> claim_pb2.Condition:
    since = dt.datetime.fromisoformat(condition["lastTransitionTime"])
    time = claim_pb2.Time(seconds=int(since.timestamp()))
    return claim_pb2.Condition(**condition | {"lastTransitionTime": time})
