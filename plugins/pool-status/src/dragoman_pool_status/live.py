"""Slices, claims and rules of a cluster, page by page from bytes to structs."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim
from dragoman_allocator.pool_status import LeanClaim, LeanSlice
from dragoman_hookspecs import ApiRefused
from dragoman_pool_status import access
from dragoman_pool_status.api import Api, Unanswered
from dragoman_pool_status.kinds import CLAIMS, RULES, SLICES
from dragoman_pool_status.objects import Objects

_PAGE: Final = 500
_NOT_FOUND: Final = 404
_EXPIRED: Final = 410

_T = TypeVar("_T")


class _ListMeta(msgspec.Struct, frozen=True):
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, Generic[_T]):
    items: list[_T]
    metadata: _ListMeta = _ListMeta()


def read(kubeconfig: Path | None, context: str | None, *, holders: bool) -> Objects:
    """Read a cluster of 1.34 or later. Raises ``DragomanError``."""
    with Api(access.find(kubeconfig, context)) as api:
        objects = Objects(slices=everything(api, SLICES, LeanSlice), rules=_rules(api))
        if holders:
            objects.whole_claims = everything(api, CLAIMS, ResourceClaim)
        else:
            objects.lean_claims = everything(api, CLAIMS, LeanClaim)
    return objects


def everything(api: Api, path: str, kind: type[_T]) -> list[_T]:
    """Read a collection. Raises ``DragomanError``."""
    decoder: msgspec.json.Decoder[_Page[_T]] = msgspec.json.Decoder(_Page[kind])  # type: ignore[valid-type] # kind is a value
    found: list[_T] = []
    after = ""
    while True:
        query = {"limit": str(_PAGE)} | ({"continue": after} if after else {})
        try:
            page = decoder.decode(api.get(f"{path}?{urlencode(query)}"))
        except msgspec.MsgspecError as error:
            raise Unanswered(f"{path} of {api.server} cannot be read: {error}") from error
        except ApiRefused as refused:
            if refused.status != _EXPIRED or not after:
                raise
            # The list became too old while it was read: begin again.
            found, after = [], ""
            continue
        found += page.items
        after = page.metadata.continue_
        if not after:
            return found


def _rules(api: Api) -> list[DeviceTaintRule]:
    for path in RULES:
        try:
            return everything(api, path, DeviceTaintRule)
        except ApiRefused as refused:
            if refused.status != _NOT_FOUND:
                raise
    return []
