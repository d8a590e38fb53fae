"""Kubernetes events (core/v1): best effort, aggregated, in a queue of bounded length."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from loguru import logger

from dragoman.clock import Clock
from dragoman.kube.client import MERGE_PATCH, KubeClient, decode
from dragoman.kube.errors import ApiError
from dragoman.kube.times import timestamp
from dragoman.model.errors import Unavailable
from dragoman.model.status import Event
from dragoman_hookspecs import JsonObject

_QUEUE = 256
"""Distinct events that may wait; further ones are dropped and counted."""
_SERIES = 512
"""Written events that are remembered, so that an equal one raises their count."""
_MESSAGE = 1024
_PAUSE = 1.0
"""Seconds before the next write after a failure."""
_TRIES = 5
_API_VERSIONS = {"Pod": "v1", "ResourceClaim": "resource.k8s.io/v1"}


@dataclass(slots=True)
class _Written:
    name: str
    count: int


@dataclass(slots=True)
class _Waiting:
    first: str
    last: str
    count: int = 1


class EventWriter:
    """Satisfies the engine's ``EventSink``. ``dropped`` counts events that found the queue full or were given up."""

    def __init__(self, client: KubeClient, clock: Clock, *, driver: str, node: str) -> None:
        self._client = client
        self._clock = clock
        self._driver = driver
        self._node = node
        self._waiting: OrderedDict[Event, _Waiting] = OrderedDict()
        self._written: OrderedDict[Event, _Written] = OrderedDict()
        self._task: asyncio.Task[None] | None = None
        self._names = 0
        self.dropped = 0

    async def emit(self, event: Event) -> None:
        """Write the event in the background, or count it with an equal one. Never raises, never waits."""
        now = timestamp(self._clock)
        if known := self._waiting.get(event):
            known.count, known.last = known.count + 1, now
        elif len(self._waiting) >= _QUEUE:
            self.dropped += 1
        else:
            self._waiting[event] = _Waiting(now, now)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())

    async def flush(self) -> None:
        """Wait until the queue is empty."""
        if self._task is not None:
            await self._task

    async def aclose(self) -> None:
        """Give up what waits."""
        if self._task is not None:
            self._task.cancel()

    async def _drain(self) -> None:
        while self._waiting:
            event, waiting = self._waiting.popitem(last=False)
            await self._write_patiently(event, waiting)

    async def _write_patiently(self, event: Event, waiting: _Waiting) -> None:
        for _ in range(_TRIES):
            try:
                await self._write(event, waiting)
            except Unavailable:
                await self._clock.sleep(_PAUSE)
            except ApiError as error:
                logger.debug("event {} was refused: {}", event.reason, error)
                break
            else:
                return
        self.dropped += 1

    async def _write(self, event: Event, waiting: _Waiting) -> None:
        written = self._written.get(event)
        if written is not None:
            try:
                await self._count_up(event, waiting, written)
            except ApiError as error:
                # Events live for an hour; an equal one after that is a new one.
                if error.status != 404:
                    raise
                del self._written[event]
            else:
                return
        await self._create(event, waiting)

    async def _count_up(self, event: Event, waiting: _Waiting, written: _Written) -> None:
        count = written.count + waiting.count
        body = {"count": count, "lastTimestamp": waiting.last}
        path = f"{_collection(event)}/{written.name}"
        await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH)
        written.count = count
        self._written.move_to_end(event)

    async def _create(self, event: Event, waiting: _Waiting) -> None:
        self._names += 1
        # The name of the Go recorder: object, dot, nanoseconds in hexadecimal.
        name = f"{event.subject.name[:200]}.{int(self._clock.now() * 1_000_000_000):x}{self._names:x}"
        raw = await self._client.request("POST", _collection(event), body=self._body(event, waiting, name))
        stored = decode("event", raw, dict[str, Any])
        self._written[event] = _Written(stored["metadata"]["name"], waiting.count)
        if len(self._written) > _SERIES:
            self._written.popitem(last=False)

    def _body(self, event: Event, waiting: _Waiting, name: str) -> JsonObject:
        subject = event.subject
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": subject.namespace or "default"},
            "involvedObject": {
                "apiVersion": _API_VERSIONS.get(subject.kind, "v1"),
                "kind": subject.kind,
                "namespace": subject.namespace,
                "name": subject.name,
                "uid": subject.uid,
            },
            "reason": event.reason,
            "message": event.message.encode()[:_MESSAGE].decode(errors="ignore"),
            "type": "Warning" if event.warning else "Normal",
            "count": waiting.count,
            "firstTimestamp": waiting.first,
            "lastTimestamp": waiting.last,
            "source": {"component": self._driver, "host": self._node},
            "reportingComponent": self._driver,
            "reportingInstance": self._node,
        }


def _collection(event: Event) -> str:
    return f"/api/v1/namespaces/{event.subject.namespace or 'default'}/events"
