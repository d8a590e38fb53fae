"""Messages of the control socket, without I/O: one JSON object a line, one answer for each request, in order.

Request: ``{"version": 1, "method": "devices", "params": {}}``. Answer: ``{"version": 1, "result": …}`` or
``{"version": 1, "error": {"kind": "UnknownMethod", "message": "…"}}``. ``kind`` is the class name of the error where a
handler raised one for people (``DragomanError``). The number changes with this envelope only; methods and
parameters grow by addition, as two agents of different releases meet here during an update.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman_hookspecs import DragomanError, JsonObject

VERSION = 1
REQUEST_LIMIT = 1 << 20
"""Bytes of one request at most: a batch of a thousand claims has a tenth of it."""
ANSWER_LIMIT = 64 << 20
"""Bytes of one answer at most."""


class RemoteError(DragomanError):
    """The agent answered with an error: ``kind`` and its sentence."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class BadRequest(DragomanError):
    """What came is no request."""


class UnsupportedVersion(DragomanError):
    """The request has another version of the envelope."""


class UnknownMethod(DragomanError):
    """The agent has no such method."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request."""

    method: str
    version: int = VERSION
    params: JsonObject = {}


class _Failure(msgspec.Struct, frozen=True):
    kind: str
    message: str


class _Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    version: int
    result: Any = msgspec.UNSET
    error: _Failure | msgspec.UnsetType = msgspec.UNSET


def request(method: str, params: JsonObject) -> bytes:
    """Encode a request as one line. Raises ``BadRequest`` where the agent would not read it for its length."""
    line = msgspec.json.encode(Request(method=method, params=params)) + b"\n"
    if len(line) > REQUEST_LIMIT:
        raise BadRequest(f"a request {method!r} of {len(line)} bytes is too long, {REQUEST_LIMIT} is the limit")
    return line


def parse_request(line: bytes) -> Request:
    """Decode a line. Raises ``BadRequest`` or ``UnsupportedVersion``."""
    try:
        raw = msgspec.json.decode(line, type=dict[str, Any])
        version = raw.get("version")
        if isinstance(version, int) and version != VERSION:
            raise UnsupportedVersion(
                f"control messages of version {version} are not understood, this agent speaks version {VERSION}: use "
                "the command of the same release as the agent"
            )
        if version is None:
            raise BadRequest("not a control request: it has no version")
        return msgspec.convert(raw, Request)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadRequest(f"not a control request: {error}") from error


def result(value: object) -> bytes:
    """Encode an answer as one line; dataclasses are objects. Raises ``TypeError`` for what is no JSON."""
    return msgspec.json.encode(_Answer(version=VERSION, result=value)) + b"\n"


def failure(kind: str, message: str) -> bytes:
    """Encode an error as one line."""
    return msgspec.json.encode(_Answer(version=VERSION, error=_Failure(kind, message))) + b"\n"


def parse_answer(line: bytes) -> Any:
    """Give the result of an answer. Raises ``RemoteError``, also where the line is no answer."""
    try:
        answer = msgspec.json.decode(line, type=_Answer)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RemoteError("BadAnswer", f"the agent's answer cannot be read: {error}") from error
    if isinstance(answer.error, _Failure):
        raise RemoteError(answer.error.kind, answer.error.message)
    return None if answer.result is msgspec.UNSET else answer.result
