"""Makes JSON that the API server's decoder takes into JSON that ours takes."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""Any escape of JSON, so that none begins inside another: a surrogate pair, half of one (the group), or the rest."""


def well_formed(text: bytes) -> bytes:
    """Put U+FFFD in the place of what is no text: bytes that are not UTF-8, and halves of surrogate pairs.

    Go's decoder, and with it the API server, does so too. An escape keeps its length, on which limits of size depend.
    """
    try:
        text.decode()
    except UnicodeDecodeError:
        text = text.decode(errors="replace").encode()
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], text) if rb"\u" in text else text
