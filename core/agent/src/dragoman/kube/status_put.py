"""Device status by read and replace, for servers whose server-side apply cannot take entries without a share id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dragoman.kube.claims import ClaimObject, claim_path
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError
from dragoman.kube.versions import Api
from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject

_TRIES = 5


async def put_entries(
    client: KubeClient, api: Api, claim: ClaimRef, driver: str, entries: Sequence[JsonObject]
) -> ClaimObject:
    """Replace the driver's entries and leave everything else, unknown fields included, as it was read."""
    for _ in range(_TRIES - 1):
        try:
            return await _put_once(client, api, claim, driver, entries)
        except ApiError as error:
            if error.status != 409 or error.reason == "Replaced":
                raise
    return await _put_once(client, api, claim, driver, entries)


async def _put_once(
    client: KubeClient, api: Api, claim: ClaimRef, driver: str, entries: Sequence[JsonObject]
) -> ClaimObject:
    path = claim_path(api, claim)
    found = decode(path, await client.get(path), dict[str, Any])
    if found["metadata"].get("uid") != claim.uid:
        raise ApiError(409, "Replaced", "the claim was replaced")
    status = dict(found.get("status") or {})
    others = [entry for entry in status.get("devices") or () if entry.get("driver") != driver]
    found["status"] = {**status, "devices": [*others, *entries]}
    answer = await client.request("PUT", f"{path}/status", body=found)
    return msgspec.json.decode(answer, type=ClaimObject)
