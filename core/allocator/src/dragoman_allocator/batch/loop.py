"""Answers each line, in order; no line ends the loop."""

from __future__ import annotations

from typing import BinaryIO

import msgspec

from dragoman_allocator.batch.kinds import KINDS
from dragoman_allocator.batch.line import Line
from dragoman_allocator.batch.lines import LONGEST_LINE, lines
from dragoman_allocator.decode import encode
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.objects.meta import JsonObject


def serve(source: int, sink: BinaryIO) -> None:
    """Answer every line of the file descriptor, and flush whenever no input waits. Ends with the input."""
    for line in lines(source, sink.flush):
        sink.write(answer(line))
    sink.flush()


def answer(text: bytes | None) -> bytes:
    """Give the line that answers a line (None: one too long): its ``id``, then what its kind says, or ``error``."""
    identity: msgspec.Raw | None = None
    try:
        if text is None:
            raise InvalidInput(f"the line is longer than {LONGEST_LINE} bytes")
        line = Line(text)
        identity = _identity(line)
        return encode({"id": identity, **_answered(line)}) + b"\n"
    except InvalidInput as error:
        return _refusal(identity, f"input: {error}")
    except Exception as error:  # noqa: BLE001  # a fault of ours in one line must not cost the answers to the others
        return _refusal(identity, f"fault of dragoman-allocator: {type(error).__name__}: {error}")


def _identity(line: Line) -> msgspec.Raw | None:
    raw = line.raw("id") if line.get("id") is not None else None
    return None if raw is None else msgspec.Raw(bytes(raw))


def _answered(line: Line) -> JsonObject:
    kind = line.text("kind")
    if kind not in KINDS:
        raise InvalidInput(f"kind {kind[:100]!r} is not one of {', '.join(KINDS)}")
    return KINDS[kind](line)


def _refusal(identity: msgspec.Raw | None, error: str) -> bytes:
    return encode({"id": identity, "error": error}) + b"\n"
