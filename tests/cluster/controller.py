"""``dragoman controller`` on the node: a process of its own with the account that ``deploy/`` ships for it."""

from __future__ import annotations

import contextlib
import http.client
import signal
import sys
from pathlib import Path

import yaml

from tests.cluster import files
from tests.cluster.node import Node
from tests.cluster.part import Part
from tests.cluster.parts import authority
from tests.cluster.waiting import PATIENCE

GRACE = 30
"""Seconds for the cluster's own controller, which needs less than one unless the machine is very busy."""

_DEPLOY = Path(__file__).parents[2] / "deploy"
_MANIFESTS = ("crds/resourcepoolstatusrequests.yaml", "manifests/controller-access.yaml")
_ACCOUNT = ("dragoman", "dragoman-controller")
_PORT = 8080


class Controller:
    """The controller, not started. Its kubeconfig has a token of its account and nothing else."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._file = node.disk / "controller.yaml"
        self._kubeconfig = node.disk / "controller.kubeconfig"
        command: list[str | Path] = [sys.executable, "-m", "dragoman", "--config", self._file]
        command += ["controller", "--listen", f"127.0.0.1:{_PORT}"]
        log = node.disk / "logs" / "controller.log"
        self.part = node.parts["controller"] = Part("controller", command, log=log, ready=self._is_ready)

    def start(self, limit: float = PATIENCE) -> None:
        """Start it, and wait until it is ready."""
        settings = {
            "kubernetes": {"kubeconfig": str(self._kubeconfig)},
            "pluginConfigs": {"poolStatus": {"graceSeconds": GRACE}},
            "logging": {"level": "debug"},
        }
        self._file.write_text(yaml.safe_dump(settings, sort_keys=False))
        self._kubeconfig.write_text(files.kubeconfig(request_token(self._node), authority(self._node.disk)))
        self.part.start(self._node.spaces, limit)

    def terminate(self, limit: float = 30.0) -> int:
        """Ask it to end, and give its exit code."""
        return self.part.end(signal.SIGTERM, limit)

    def metrics(self) -> dict[str, float]:
        """Give what it tells Prometheus: values by name and labels as they stand."""
        status, text = self._get("/metrics")
        assert status == http.HTTPStatus.OK, text
        samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    def _is_ready(self) -> bool:
        return self._get("/readyz")[0] == http.HTTPStatus.OK

    def _get(self, path: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", _PORT, timeout=60)
        with contextlib.closing(connection):
            with self._node.spaces.network():
                connection.connect()
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()


def install(node: Node) -> None:
    """Apply what ``deploy/`` ships for it, and wait until the API server serves our kind."""
    for name in _MANIFESTS:
        for manifest in yaml.safe_load_all((_DEPLOY / name).read_text()):
            node.api.apply(manifest)
    node.kubectl(
        "wait", "--for=condition=Established", "--timeout=180s", f"--filename={_DEPLOY / _MANIFESTS[0]}", limit=PATIENCE
    )


def request_token(node: Node) -> str:
    """Ask for a token of its account."""
    namespace, account = _ACCOUNT
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"{node.api.within(namespace).path('ServiceAccount', account)}/token"
    token: str = node.api.request("POST", path, body)["status"]["token"]
    return token
