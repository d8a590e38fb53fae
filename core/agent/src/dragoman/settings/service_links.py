"""Variables that Kubernetes sets for a Service whose name begins with ours, and that are no settings.

For each Service of the namespace a container gets ``<NAME>_SERVICE_HOST``, ``<NAME>_SERVICE_PORT`` and, for each port,
``<NAME>_SERVICE_PORT_<PORT NAME>``, ``<NAME>_PORT``, ``<NAME>_PORT_<number>_<PROTOCOL>`` and that with ``_PROTO``,
``_PORT`` and ``_ADDR``. Source: "Discovering services" of the Kubernetes documentation, ``enableServiceLinks``.
Both name and value must have that form, so that a misspelt key such as ``DRAGOMAN_HEALTH_PORT=8080`` is refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from urllib.parse import urlsplit


def is_service_link(name: str, value: str) -> bool:
    """Tell whether a variable is one of those that Kubernetes sets for a Service."""
    return any(pattern.search(name) and fits(value) for pattern, fits in _FORMS)


def _address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _port(value: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", value) is not None


def _url(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return _protocol(parts.scheme) and _address(parts.hostname or "") and parts.port is not None
    except ValueError:
        return False


def _protocol(value: str) -> bool:
    return value in {"tcp", "udp", "sctp"}


_EACH = "_PORT_[0-9]+_(TCP|UDP|SCTP)"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (re.compile("_SERVICE_HOST$"), _address),
    (re.compile("_SERVICE_PORT(_[A-Z0-9_]+)?$"), _port),
    (re.compile(f"(_PORT|{_EACH})$"), _url),
    (re.compile(f"{_EACH}_PROTO$"), _protocol),
    (re.compile(f"{_EACH}_PORT$"), _port),
    (re.compile(f"{_EACH}_ADDR$"), _address),
)
