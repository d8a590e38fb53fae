"""An API server over HTTP with nothing in between: status and body of each answer, and the lines of a watch."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from dragoman_hookspecs import JsonObject

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"

GROUP = "/apis/resource.k8s.io/v1"
SLICES = f"{GROUP}/resourceslices"

_numbers = itertools.count(1)
_KEPT = 30.0
"""Seconds that a connection may be idle; servers close it after some minutes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``body`` is empty where the answer was no JSON; ``text`` is as it came."""

    status: int
    body: JsonObject
    text: str = field(repr=False)

    @property
    def metadata(self) -> JsonObject:
        """The object's metadata."""
        found: JsonObject = self.body["metadata"]
        return found

    @property
    def reason(self) -> str:
        """The word for machines in a refusal."""
        return str(self.body.get("reason", ""))

    @property
    def causes(self) -> list[JsonObject]:
        """What is wrong, one by one: field, reason, message."""
        found: list[JsonObject] = (self.body.get("details") or {}).get("causes") or []
        return found

    @property
    def wrong(self) -> list[str]:
        """The fields that are wrong."""
        return [cause["field"] for cause in self.causes]


class Wire:
    """For one thread. ``connect`` gives a new connection; ``forget``: see the method."""

    def __init__(
        self,
        connect: Callable[[], http.client.HTTPConnection],
        *,
        forget: Callable[[], None],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._connect = connect
        self._forget = forget
        self._headers = dict(headers or {})
        self._kept: http.client.HTTPConnection | None = None
        self._used = 0.0

    def forget(self) -> None:
        """Make the server forget its changes up to now."""
        self.close()
        self._forget()

    def ask(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json", **query: str
    ) -> Answer:
        """Send a request."""
        if time.monotonic() - self._used > _KEPT:
            self.close()
        connection = self._kept = self._kept or self._connect()
        self._used = time.monotonic()
        target = f"{path}?{urlencode(query)}" if query else path
        sent = None if body is None else json.dumps(body)
        connection.request(method, target, sent, self._headers | {"Content-Type": content})
        answer = connection.getresponse()
        text = answer.read().decode()
        return Answer(answer.status, json.loads(text) if text.startswith("{") else {}, text)

    def make(self, path: str, obj: JsonObject) -> JsonObject:
        """Create what has to be accepted."""
        answer = self.ask("POST", path, obj)
        assert answer.status == 201, answer.text
        return answer.body

    def apply(self, path: str, body: JsonObject, manager: str = "m", **query: str) -> Answer:
        """Apply server-side, with force."""
        return self.ask("PATCH", path, body, content=APPLY, fieldManager=manager, force="true", **query)

    @contextlib.contextmanager
    def watch(self, path: str, limit: float = 60.0, **query: str) -> Iterator[Iterator[tuple[str, JsonObject]]]:
        """Follow a collection for as long as the context lasts; ``limit`` is how long it may be silent, in seconds.

        Gives type and object of each event. It begins before the context's body does.
        """
        connection = self._connect()
        connection.timeout = limit
        try:
            connection.request("GET", f"{path}?{urlencode({'watch': 'true', **query})}", headers=self._headers)
            if connection.sock is not None:
                connection.sock.settimeout(limit)
            with connection.getresponse() as answer:
                assert answer.status == 200, answer.read().decode()
                yield _events(answer)
        finally:
            connection.close()

    def close(self) -> None:
        """Close the kept connection; the next request makes another."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, JsonObject]]:
    while line := answer.readline():
        event = json.loads(line)
        yield event["type"], event["object"]


def unique(word: str) -> str:
    """Give a name that nothing has yet."""
    return f"{word}-{next(_numbers)}"


def slice_of(driver: str, *devices: JsonObject, name: str = "", **spec: object) -> JsonObject:
    """Give a slice of one pool; spec entries that are None are left out."""
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    body = {"driver": driver, "nodeName": "nowhere", "pool": pool, "devices": list(devices), **spec}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name} if name else {"generateName": "s-"},
        "spec": {key: value for key, value in body.items() if value is not None},
    }
