"""Runs the protocol against a cluster: one thread for each collection that is watched, all else in the caller's."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from dragoman_hookspecs import ApiRefused, Cluster, DragomanError, JsonObject
from dragoman_pool_status import gauges
from dragoman_pool_status.answering import Answering, WriteStatus
from dragoman_pool_status.kinds import BUILT_IN, CLAIMS, OWN, RULES, SLICES, RequestKind
from dragoman_pool_status.world import World

_NOT_SERVED: Final = 404
_LOOK_AGAIN: Final = 60.0
"""Seconds until a kind that is not served is looked for again: its CRD may be installed, its gate turned on."""
_LONGEST_WAIT: Final = 0.25
_REQUESTS: Final = {kind.path: kind for kind in (BUILT_IN, OWN)}


@dataclass(frozen=True, slots=True)
class _Event:
    """What a watch saw. ``collection`` is that of the newest version of a kind; type ABSENT: it is not served."""

    collection: str
    type: str
    body: JsonObject


class Controlling:
    """The controller. ``clock`` gives seconds since the epoch."""

    def __init__(
        self, cluster: Cluster, logger: logging.Logger, *, grace: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._cluster = cluster
        self._logger = logger
        self._clock = clock
        self._world = World()
        self._answering = Answering(self._world.answer, grace)
        self._inbox: queue.SimpleQueue[_Event | Exception] = queue.SimpleQueue()
        # Requests too: the first sweep is for those that are there at the start, the next one is ten minutes later.
        self._unlisted = {SLICES, CLAIMS, RULES[0], *_REQUESTS}
        self._absent: set[str] = set()

    def run(self, stopped: threading.Event) -> None:
        """Answer requests until stopped. Raises what the watch of slices, claims or rules raised."""
        ended = threading.Event()
        watches = [
            threading.Thread(target=self._watch, args=(paths, ended), daemon=True, name=f"watch {paths[0]}")
            for paths in ((SLICES,), (CLAIMS,), RULES, (BUILT_IN.path,), (OWN.path,))
        ]
        for watch in watches:
            watch.start()
        try:
            while not stopped.is_set():
                self._turn()
        finally:
            ended.set()

    def metrics(self) -> str:
        """Give the gauges of all pools and the counters of requests, as Prometheus reads them; from any thread."""
        processed, errors = dict(self._answering.processed), dict(self._answering.errors)
        return gauges.exposition(self._world.pools()) + gauges.counters(processed, errors)

    def unready(self) -> str:
        """Say what was not read yet, "" once all was: until then nothing is answered; from any thread."""
        unread = sorted(self._unlisted.copy())
        return f"it still reads {', '.join(unread)}" if unread else ""

    def _turn(self) -> None:
        now = self._clock()
        wait = min(_LONGEST_WAIT, max(0.0, self._answering.wakes(now) - now)) if not self._unlisted else _LONGEST_WAIT
        try:
            self._take(self._inbox.get(timeout=wait))
            while True:
                self._take(self._inbox.get_nowait())
        except queue.Empty:
            pass
        if not self._unlisted:
            self._step()

    def _take(self, event: _Event | Exception) -> None:
        if isinstance(event, Exception):
            raise event
        kind, now = _REQUESTS.get(event.collection), self._clock()
        try:
            if event.type in ("SYNCED", "ABSENT"):
                self._listed(event)
            elif kind is not None:
                self._request(kind, event, now)
            elif (driver := self._world.event(event.collection, event.type, event.body)) is not None:
                self._answering.pools_changed(driver, now)
        except msgspec.ValidationError as error:
            name = event.body["metadata"].get("name")
            self._logger.warning("%s %s is left out, it cannot be read: %s", event.collection, name, error)

    def _listed(self, event: _Event) -> None:
        if event.type == "ABSENT" and event.collection == RULES[0]:
            self._world.forget_rules()
        self._unlisted.discard(event.collection)
        if event.collection in _REQUESTS:
            self._listed_requests(event)

    def _listed_requests(self, event: _Event) -> None:
        """Forget what is served no longer; say once of a cluster that serves neither kind that nobody can ask it."""
        known = event.collection in self._absent
        if event.type == "ABSENT":
            self._answering.absent(_REQUESTS[event.collection])
        (self._absent.add if event.type == "ABSENT" else self._absent.discard)(event.collection)
        if not known and len(self._absent) == len(_REQUESTS):
            self._logger.warning(
                "the cluster serves no ResourcePoolStatusRequest, so there are only metrics: "
                "apply the CRD of resource.dragoman.dev (deploy/crds), it is looked for every minute"
            )

    def _request(self, kind: RequestKind, event: _Event, now: float) -> None:
        if event.type == "DELETED":
            self._answering.gone(kind, event.body["metadata"]["name"])
        else:
            self._answering.seen(kind, event.body, now)

    def _step(self) -> None:
        for write in self._answering.step(self._clock()):
            try:
                if isinstance(write, WriteStatus):
                    self._cluster.update(f"{write.kind.of(write.name)}/status", write.body)
                    self._answering.written(write, self._clock())
                else:
                    self._cluster.delete(write.kind.of(write.name), uid=write.uid)
            except DragomanError as error:
                self._logger.warning("request %s: %s", write.name, error)
                if isinstance(write, WriteStatus):
                    take = self._answering.refused if isinstance(error, ApiRefused) else self._answering.unanswered
                    take(write, self._clock())

    def _watch(self, paths: Sequence[str], ended: threading.Event) -> None:
        """Follow the first of the paths that is served; only slices and claims must be."""
        while not ended.is_set():
            try:
                self._follow(paths, ended)
            except ApiRefused as refused:
                if refused.status != _NOT_SERVED or paths[0] in (SLICES, CLAIMS):
                    self._inbox.put(refused)
                    return
                self._inbox.put(_Event(paths[0], "ABSENT", {}))
                ended.wait(_LOOK_AGAIN)
            except Exception as error:  # noqa: BLE001 - it ends the run, in the caller's thread
                self._inbox.put(error)
                return

    def _follow(self, paths: Sequence[str], ended: threading.Event) -> None:
        *others, last = paths
        for path in others:
            try:
                self._cluster.watch(path, lambda type_, body: self._inbox.put(_Event(paths[0], type_, body)), ended)
            except ApiRefused as refused:
                if refused.status != _NOT_SERVED:
                    raise
            else:
                return
        self._cluster.watch(last, lambda type_, body: self._inbox.put(_Event(paths[0], type_, body)), ended)
