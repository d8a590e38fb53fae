"""A checksum in each document, over the document and the columns beside it.

SQLite checks its log by checksums, and its main file only for its structure: a bit that flips inside a value reads as
another value. The checksum is the last key of the document. Releases that do not know it ignore it, and drop it when
they write the row: a document without one is not checked.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from dragoman.store.codec import Malformed

_SEALED = re.compile(rb'(\{.+),"check":"([0-9a-f]{8})"\}', re.DOTALL)


def sealed(columns: Iterable[str], document: bytes) -> bytes:
    """Add the checksum to a document, which is a JSON object with keys."""
    return b'%b,"check":"%b"}' % (document[:-1], _checksum(columns, document))


def opened(columns: Iterable[str], document: bytes) -> bytes:
    """Give the document without its checksum. Raises ``Malformed`` where the two do not fit."""
    found = _SEALED.fullmatch(document)
    if found is None:
        return document
    bare = found[1] + b"}"
    if found[2] != _checksum(columns, bare):
        raise Malformed("it is not as it was written: its checksum does not fit")
    return bare


def _checksum(columns: Iterable[str], document: bytes) -> bytes:
    return b"%08x" % zlib.crc32("\0".join(columns).encode() + b"\0" + document)
