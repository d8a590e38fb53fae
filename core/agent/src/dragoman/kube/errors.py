"""Failures of API requests, typed by what the caller can do about them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from dragoman.kube.reading import read
from dragoman.model.claims import ClaimRef
from dragoman.model.errors import Unavailable
from dragoman_hookspecs import ApiRefused

REPLACED = "Replaced"
"""Reason of an ``ApiError`` that no server gave: the name belongs to another claim now."""

_GATEWAY = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})
"""What a load balancer answers that finds no API server behind it; the server's own such answer is a ``Status``."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of ``details.causes``: field path, ``FieldValue…`` reason, and what is wrong."""

    field: str = ""
    reason: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class _Details(msgspec.Struct):
    kind: str | None = None
    causes: list[Cause] | None = None


class _Status(msgspec.Struct):
    kind: str = ""
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


class ApiError(ApiRefused):
    """The API server answered with a refusal; a retry of the same request does not help by itself.

    ``reason`` is the machine-readable word of the answer ("" where the answer was no ``Status`` object), ``kind`` what
    kind of object it is about, if any.
    """

    def __init__(
        self, status: int, reason: str, message: str, causes: tuple[Cause, ...] = (), *, kind: str = "", what: str = ""
    ) -> None:
        """``what`` names the request, where the message of the server does not say what was asked for."""
        answered = " ".join(["the API server answered", str(status), *filter(None, [reason])])
        super().__init__(": ".join(filter(None, [what, answered, message])), status=status)
        self.reason = reason
        self.message = message
        self.causes = causes
        self.kind = kind

    @property
    def not_served(self) -> bool:
        """Whether the path itself is unknown, which a missing object is not.

        An unknown group is answered in plain text; an unknown version of a known group with ``NotFound`` about no kind.
        """
        return self.status == 404 and not (self.reason == "NotFound" and self.kind)


def replacement(claim: ClaimRef) -> ApiError:
    """Give the error for a claim whose name another one has now."""
    return ApiError(HTTPStatus.CONFLICT, REPLACED, f"{claim} was deleted and made again")


class ServerUnavailable(Unavailable):
    """No answer, or one that says "not now". ``retry_after`` is in seconds.

    ``status`` is None where the API server did not answer: nobody did, or a load balancer that did not reach it.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


def failure(what: str, status: int, headers: Mapping[str, Any], body: bytes) -> ApiError | ServerUnavailable:
    """Turn an answer that is not a success into an error. ``what`` names the request."""
    parsed = _parse(body)
    message = parsed.message or body[:200].decode(errors="replace").strip()
    if status == 429 or status >= 500:
        is_away = status in _GATEWAY and parsed.kind != "Status"
        who = "what stands before the API server" if is_away else "the API server"
        sentence = ": ".join(filter(None, [what, f"{who} answered {status}", message]))
        return ServerUnavailable(sentence, status=None if is_away else status, retry_after=_retry_after(headers))
    details = parsed.details or _Details()
    kind = details.kind or ""
    # Only what is about an object or a kind names it itself.
    asked = "" if kind else what
    return ApiError(status, parsed.reason or "", message, tuple(details.causes or ()), kind=kind, what=asked)


def event_failure(what: str, body: bytes) -> ApiError | ServerUnavailable:
    """Turn the object of an ERROR event of a watch into an error."""
    return failure(what, _parse(body).code or 500, {}, body)


def _parse(body: bytes) -> _Status:
    try:
        return read(body, _Status)
    except msgspec.DecodeError:
        return _Status()


def _retry_after(headers: Mapping[str, Any]) -> float | None:
    text = str(headers.get("Retry-After") or "")
    return float(text) if text.isdigit() else None
