"""Where the API server is and with whose identity it is asked."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from urllib3.connection import HTTPConnection
from urllib3.exceptions import InsecureRequestWarning

from dragoman.model.errors import Refused
from dragoman.patience import USUAL, Patience
from dragoman_kit import packages

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_FILES = "KUBECONFIG"

_TCP = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
"""A peer that is gone without a word is noticed within 60 s (tcp(7)): a silent one is asked, what was sent is given up.

Without it a watch would wait for bytes as long as it may, and the kernel repeat its request for a quarter of an hour.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The first that is given: a server URL (no credentials), a kubeconfig file, the pod's service account.

    Where none is, ``$KUBECONFIG`` or ``~/.kube/config`` is read. ``context`` names a context of the kubeconfig.
    ``patience`` bounds how long the kubeconfig's exec plugin may take to give credentials.
    """

    server: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    patience: Patience = USUAL


async def api_client(access: Access, *, connections: int) -> Any:
    """Make the official client. Raises ``Refused`` when there is no usable configuration."""
    if not _needs_kubeconfig(access):
        return _api_client(access, connections)
    what, patience = "the kubeconfig's exec plugin to give credentials", access.patience
    try:
        return await patience.bounded(what, lambda: _api_client(access, connections))
    except TimeoutError as error:
        why = f"the kubeconfig's exec plugin gave no credentials within {patience.limit:g} s"
        raise _no_access(access, why) from error


def _api_client(access: Access, connections: int) -> Any:
    # Imported here: commands that stay offline must not pay for it. And only as much of it as is used.
    packages.spare("kubernetes")
    packages.spare("kubernetes.config")
    from kubernetes import client  # noqa: PLC0415 - see above
    from kubernetes.config import config_exception  # noqa: PLC0415 - see above

    # Otherwise said for every request to a server whose kubeconfig says not to verify it.
    warnings.filterwarnings("once", category=InsecureRequestWarning)
    configuration = client.Configuration()
    try:
        _configure(configuration, access)
    except (config_exception.ConfigException, OSError) as error:
        raise _no_access(access, str(error).rstrip(".")) from error
    except Exception as error:
        # The client checks no types: what is wrong in a kubeconfig ends in any exception.
        raise _no_access(access, f"the kubeconfig cannot be read: {type(error).__name__}: {error}") from error
    if not configuration.host.startswith(("http://", "https://")):
        raise _no_access(access, f"its address {configuration.host!r} is no URL of http or https")
    # The edge has its own rules for retries; urllib3's would sleep in a thread for as long as a server asks.
    configuration.retries = False
    configuration.connection_pool_maxsize = connections
    configuration.socket_options = [
        *HTTPConnection.default_socket_options,
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _TCP.items() if hasattr(socket, name)),
    ]
    return client.ApiClient(configuration)


def _needs_kubeconfig(access: Access) -> bool:
    return not access.server and (access.kubeconfig is not None or _IN_CLUSTER not in os.environ)


def _configure(configuration: Any, access: Access) -> None:
    if access.server:
        configuration.host = access.server.rstrip("/")
    elif _needs_kubeconfig(access):
        from kubernetes.config import kube_config  # noqa: PLC0415 - costs 6 MB, and nodes have none

        _check_there(access)
        path = str(access.kubeconfig) if access.kubeconfig else None
        load: Any = kube_config.load_kube_config
        with _Complaints() as complaints:
            load(config_file=path, context=access.context, client_configuration=configuration)
        if complaints.said:
            raise OSError(f"no credentials: {'; '.join(complaints.said)}")
    else:
        from kubernetes.config import incluster_config  # noqa: PLC0415 - with the client

        load = incluster_config.load_incluster_config
        load(client_configuration=configuration)


class _Complaints(logging.Filter):
    """What the client only logs within ``with``: after a failed exec plugin it would go on as an anonymous user."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def __enter__(self) -> Self:
        logging.getLogger().addFilter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger().removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep an error of the client, and the log without it."""
        is_theirs = record.module == "kube_config" and record.levelno >= logging.ERROR
        if is_theirs:
            self.said.append(record.getMessage())
        return not is_theirs


def _check_there(access: Access) -> None:
    """Raise ``OSError`` where kubeconfigs are named and none is there, which the client does not say."""
    told = ""
    for file in [access.kubeconfig] if access.kubeconfig else os.environ.get(_FILES, "").split(os.pathsep):
        if not file:
            continue
        try:
            Path(file).expanduser().stat()
        except OSError as error:
            told = told or f"{file} cannot be read: {error.strerror}"
        else:
            return
    if told:
        raise OSError(told)


def _no_access(access: Access, why: str) -> Refused:
    named = access.kubeconfig or (os.environ.get(_FILES) and _FILES)
    hint = f"check {named}" if named else f"set {_FILES} or kubernetes.kubeconfig"
    return Refused(f"no access to a Kubernetes API server: {why}: {hint}")
