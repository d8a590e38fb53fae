"""Slices, claims and rules of a cluster, page by page, so that never all of them are there as plain JSON."""

from __future__ import annotations

from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import msgspec

from dragoman_allocator.objects import DeviceTaintRule, ResourceClaim
from dragoman_allocator.pool_status import LeanClaim, LeanSlice
from dragoman_hookspecs import ApiRefused, Cluster, DragomanError, JsonObject
from dragoman_pool_status.kinds import CLAIMS, RULES, SLICES
from dragoman_pool_status.objects import Objects
from dragoman_pool_status.reading import read as read_one

_PAGE: Final = 500
_NOT_FOUND: Final = 404
_EXPIRED: Final = 410

_T = TypeVar("_T")


class UnreadableList(DragomanError):
    """The API server lists something else than was asked for."""


def read(cluster: Cluster, *, holders: bool) -> Objects:
    """Read a cluster of 1.34 or later; claims are whole if it is asked for holders. Raises ``DragomanError``."""
    objects = Objects(slices=everything(cluster, SLICES, LeanSlice), rules=_rules(cluster))
    if holders:
        objects.whole_claims = everything(cluster, CLAIMS, ResourceClaim)
    else:
        objects.lean_claims = everything(cluster, CLAIMS, LeanClaim)
    return objects


def everything(cluster: Cluster, path: str, kind: type[_T]) -> list[_T]:
    """Read a collection. Raises ``DragomanError``."""
    found: list[_T] = []
    query: dict[str, Any] = {"limit": _PAGE}
    while True:
        try:
            page = cluster.get(f"{path}?{urlencode(query)}")
        except ApiRefused as refused:
            if refused.status != _EXPIRED or "continue" not in query:
                raise
            # The list became too old between two pages; in one piece it cannot.
            found, query = [], {"limit": 0}
            continue
        try:
            found += _items(page.get("items") or [], kind)
        except msgspec.MsgspecError as error:
            raise UnreadableList(f"{path} cannot be read: {error}") from error
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return found
        query = {"limit": _PAGE, "continue": following}


def _items(items: list[JsonObject], kind: type[_T]) -> list[_T]:
    try:
        return msgspec.json.decode(msgspec.json.encode(items), type=list[kind])  # type: ignore[valid-type] # it is a value
    except RecursionError:
        return [read_one(item, kind) for item in items]


def _rules(cluster: Cluster) -> list[DeviceTaintRule]:
    for path in RULES:
        try:
            return everything(cluster, path, DeviceTaintRule)
        except ApiRefused as refused:
            if refused.status != _NOT_FOUND:
                raise
    return []
