"""Where the API server is and with whose identity it is asked."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from urllib3.exceptions import InsecureRequestWarning

from dragoman.model.errors import Refused
from dragoman_kit import packages

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The first that is given: a server URL (no credentials), a kubeconfig file, the pod's service account.

    Where none is, ``$KUBECONFIG`` or ``~/.kube/config`` is read. ``context`` names a context of the kubeconfig.
    """

    server: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None


def api_client(access: Access, *, connections: int) -> Any:
    """Make the official client. Raises ``Refused`` when there is no usable configuration."""
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
        said = str(error).rstrip(".")
        raise Refused(f"no access to a Kubernetes API server: {said}: set kubernetes.kubeconfig") from error
    # The edge has its own rules for retries; urllib3's would sleep in a thread for as long as a server asks.
    configuration.retries = False
    configuration.connection_pool_maxsize = connections
    configuration.keep_alive = True
    return client.ApiClient(configuration)


def _configure(configuration: Any, access: Access) -> None:
    if access.server:
        configuration.host = access.server.rstrip("/")
    elif access.kubeconfig or _IN_CLUSTER not in os.environ:
        from kubernetes.config import kube_config  # noqa: PLC0415 - costs 6 MB, and nodes have none

        path = str(access.kubeconfig) if access.kubeconfig else None
        load: Any = kube_config.load_kube_config
        load(config_file=path, context=access.context, client_configuration=configuration)
    else:
        from kubernetes.config import incluster_config  # noqa: PLC0415 - with the client

        load = incluster_config.load_incluster_config
        load(client_configuration=configuration)
