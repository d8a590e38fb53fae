"""Reads from the API server over one kept connection; the standard library is enough for that."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from dragoman_hookspecs import ApiRefused, DragomanError
from dragoman_pool_status.access import Access

_SECONDS: Final = 60.0
_OK: Final = 200


class Unanswered(DragomanError):
    """The API server does not answer, or not as one."""


class Api:
    """A connection, made with the first read."""

    def __init__(self, access: Access) -> None:
        self.server = access.server
        self._headers = {"Accept": "application/json", "User-Agent": "dragoman-pools", **access.headers}
        url = urlsplit(access.server)
        self._prefix = url.path.rstrip("/")
        host = url.hostname or ""
        self._connection = (
            HTTPSConnection(host, url.port, timeout=_SECONDS, context=access.tls)
            if url.scheme == "https"
            else HTTPConnection(host, url.port, timeout=_SECONDS)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def get(self, path: str) -> bytes:
        """Read a path. Raises ``ApiRefused`` and ``Unanswered``."""
        try:
            self._connection.request("GET", f"{self._prefix}{path}", headers=self._headers)
            response = self._connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            raise Unanswered(f"the API server {self.server} does not answer: {what}") from error
        if response.status != _OK:
            where = path.partition("?")[0]
            raise ApiRefused(f"{self.server} refuses to list {where}: {_reason(body)}", status=response.status)
        return body


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, TypeError, LookupError):
        return body[:200].decode(errors="replace").strip() or "no reason is given"
