"""How long a watch may be silent, and what it is told after a long absence. Last, as one waits and one restarts.

A bookmark comes once a minute, and the watch for it runs beside the tests before.
"""

from __future__ import annotations

from tests.cluster.shared.marks import Marks
from tests.cluster.shared.wire import SLICES, Wire, slice_of

SILENCE = 90.0
"""Seconds without a word after which the agent takes a watch for dead, see ``dragoman.kube.slices``."""


def test_a_bookmark_comes_more_often_than_silence_ends_a_watch(marks: Marks) -> None:
    first = marks.first()
    assert first.after < SILENCE
    assert first.kind == "ResourceSlice"
    assert first.version >= marks.begun


def test_a_watch_from_a_forgotten_version_is_told_so_in_its_first_event(server: Wire, driver: str) -> None:
    version = server.make(SLICES, slice_of(driver, name=driver))["metadata"]["resourceVersion"]
    server.ask("DELETE", f"{SLICES}/{driver}")
    server.forget()
    with server.watch(SLICES, resourceVersion=version) as events:
        seen = list(events)
    assert [(kind, status["code"], status["reason"]) for kind, status in seen] == [("ERROR", 410, "Expired")]
