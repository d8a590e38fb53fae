"""Errors that cross an edge: raised by what talks to the outside, understood by the engine."""

from __future__ import annotations

from dragoman_hookspecs import DragomanError


class ClaimNotFound(DragomanError):
    """The API server has no claim of that name."""


class ClaimReplaced(DragomanError):
    """The claim of that name has another UID than the kubelet asked for."""


class Unavailable(DragomanError):
    """The counterpart did not answer, or answered that it cannot now. A retry may help."""


class Refused(DragomanError):
    """The counterpart refused what was sent. A retry does not help until something changes."""


class OtherSurroundings(DragomanError):
    """Two agents of a node do not see the same of it. No retry helps: the later one has to be started otherwise."""


class NotKept(DragomanError):
    """The counterpart took what was sent and kept nothing of it; the next one that is met may keep it."""
