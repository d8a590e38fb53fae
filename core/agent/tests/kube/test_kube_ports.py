from __future__ import annotations

import inspect

import pytest

from dragoman.engine.ports import ClaimSource, ClaimStatusSink, EventSink, SliceSink
from dragoman.kube.claims import ClaimReader
from dragoman.kube.events import EventWriter
from dragoman.kube.slices import SlicePublisher
from dragoman.kube.status import StatusWriter

# Checked by mypy: each class satisfies its port.
_READER: type[ClaimSource] = ClaimReader
_STATUS: type[ClaimStatusSink] = StatusWriter
_SLICES: type[SliceSink] = SlicePublisher
_EVENTS: type[EventSink] = EventWriter


@pytest.mark.parametrize(
    ("edge", "port", "method"),
    [
        (_READER, ClaimSource, "read"),
        (_STATUS, ClaimStatusSink, "write"),
        (_SLICES, SliceSink, "publish"),
        (_EVENTS, EventSink, "emit"),
    ],
)
def test_an_edge_takes_what_the_engine_gives(edge: type, port: type, method: str) -> None:
    wanted, given = (inspect.signature(getattr(side, method)) for side in (port, edge))
    assert (list(given.parameters), given.return_annotation) == (list(wanted.parameters), wanted.return_annotation)
