"""Watches: the change log as a stream of events, with bookmarks, 410, and the faults of real networks."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import ApiFault, expired
from dragoman_testkit.sandbox.apiserver.faults import Faults
from dragoman_testkit.sandbox.apiserver.resources import Resource
from dragoman_testkit.sandbox.apiserver.selectors import Matcher
from dragoman_testkit.sandbox.apiserver.store import Change, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What is watched. ``version`` None starts with the present objects; ``bookmarks`` is their interval in seconds."""

    resource: Resource
    matches: Matcher
    version: int | None
    bookmarks: float | None
    timeout: float | None


async def events(store: Store, faults: Faults, watch: Watch) -> AsyncIterator[JsonObject]:
    """Give events until the time-out or a cut; objects are in stored shape."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _or_never(watch.timeout)
    due = loop.time() + _or_never(watch.bookmarks)
    position, cuts, sent = watch.version, faults.cuts, 0
    if position is None:
        position = store.version
        for event in _present(store, watch):
            yield event
    while faults.cuts == cuts:
        if faults.expire_after is not None and sent >= faults.expire_after:
            faults.expire_after = None
            yield _error(expired(position, store.version))
            return
        await _pause(store, store.version if faults.frozen else position, min(deadline, due))
        if loop.time() >= deadline:
            return
        if faults.frozen:
            due = loop.time() + _or_never(watch.bookmarks)
            continue
        if loop.time() >= due:
            due = loop.time() + _or_never(watch.bookmarks)
            yield _bookmark(watch.resource, position)
        news, position = _news(store, watch, position), store.version
        for event in news:
            yield event
            if event["type"] == "ERROR":
                return
        sent += len(news)


def _present(store: Store, watch: Watch) -> list[JsonObject]:
    return [{"type": "ADDED", "object": obj} for obj in store.all(watch.resource) if watch.matches(obj)]


def _news(store: Store, watch: Watch, position: int) -> list[JsonObject]:
    try:
        changes = store.since(position)
    except ApiFault as fault:
        return [_error(fault)]
    return [event for change in changes if (event := _event(change, watch))]


def _error(fault: ApiFault) -> JsonObject:
    return {"type": "ERROR", "object": fault.status()}


def _or_never(seconds: float | None) -> float:
    return math.inf if seconds is None else seconds


async def _pause(store: Store, position: int, until: float) -> None:
    """Wait for a change after that position, at most until that moment."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await store.wait(position)


def _event(change: Change, watch: Watch) -> JsonObject | None:
    if change.resource != watch.resource:
        return None
    before = change.old is not None and watch.matches(change.old)
    after = not change.gone and watch.matches(change.new)
    if not before and not after:
        return None
    kind = "MODIFIED" if before and after else "ADDED" if after else "DELETED"
    return {"type": kind, "object": change.new}


def _bookmark(resource: Resource, version: int) -> JsonObject:
    obj = {
        "kind": resource.kind,
        "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": str(version)},
    }
    return {"type": "BOOKMARK", "object": obj}
