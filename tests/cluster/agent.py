"""The agent on the node: a process of its own, with its own account, as a pod of it would have."""

from __future__ import annotations

import copy
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from dragoman.control import client
from dragoman_hookspecs import DragomanError, JsonObject
from tests.cluster import borrowed, files
from tests.cluster.node import LENDERS, UPLINKS, Node
from tests.cluster.part import Part
from tests.cluster.parts import authority
from tests.cluster.waiting import PATIENCE

DRIVER = "net.dragoman.dev"
POOLS = ("lab", "uplink", "shared", "borrowed")
"""Pools of the default settings: dummy links; macvlan links of ``uplink0``; the shares of ``uplink1``; the node's own
``lender0`` and ``lender1``."""

_MANIFEST = Path(__file__).parents[2] / "deploy" / "manifests" / "agent-access.yaml"
_ACCOUNT = ("dragoman", "dragoman-agent")
_SECRETS = "/run/secrets/kubernetes.io/serviceaccount"


def default_settings(link_kind: str, complaints: Path) -> JsonObject:
    """Give what the node offers: 8 dummy links, 8 macvlan links of ``uplink0``, 16 shares of ``uplink1``, 2 links."""
    exclusive, shared = UPLINKS
    return {
        "nodeName": files.NODE,
        "driverName": DRIVER,
        "deviceManagerConfigs": {
            "dummy": {"count": 8} | ({"linkKind": link_kind} if link_kind != "dummy" else {}),
            "macvlan": {
                "ifaces": [
                    {"parentIfName": exclusive, "count": 8},
                    {"parentIfName": shared, "count": 16, "shared": True},
                ]
            },
            "borrowed": {"links": list(LENDERS), "complaints": str(complaints)},
        },
        "pools": [
            {"name": "lab", "filter": {"deviceManagers": ["dummy"]}},
            {"name": "uplink", "filter": {"parentIfNames": [exclusive]}},
            {"name": "shared", "filter": {"parentIfNames": [shared]}},
            {"name": "borrowed", "filter": {"deviceManagers": ["borrowed"]}},
        ],
        "health": {"interval": 2},
        "logging": {"level": "debug"},
    }


class Agent:
    """One agent of the node; a second one has another ``name`` and, as a setting, a ``podUid``.

    ``settings`` are written at each start. The state folder is on the node's disk, the run folder in its ``/run``.
    ``complaints`` is the file that tells which borrowed links are unhealthy.
    """

    def __init__(self, node: Node, name: str = "agent", settings: Mapping[str, Any] | None = None) -> None:
        self.node = node
        self.complaints = node.disk / "complaints.json"
        self._given = dict(settings or {})
        self._link_kind = node.link_kind()
        self.settings: JsonObject = self._default()
        self._running: JsonObject = {}
        self._file = node.disk / f"{name}.yaml"
        command: list[str | Path] = [sys.executable, "-m", "dragoman", "--config", self._file, "agent"]
        # As in a pod: the account's token is in a file, the server in variables.
        env = borrowed.install(node.disk)
        env |= {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": files.SERVER.rpartition(":")[2]}
        log = node.disk / "logs" / f"{name}.log"
        self.part = node.parts[name] = Part(name, command, log=log, ready=self._is_ready, env=env)

    def start(self, limit: float = PATIENCE) -> JsonObject:
        """Start it, wait until it is ready, and give its status."""
        self.launch()
        self.part.wait_ready(limit)
        return self.status()

    def launch(self) -> None:
        """Start it, ready or not."""
        self._running = copy.deepcopy(self.settings)
        self._file.write_text(yaml.safe_dump(self._running, sort_keys=False))
        give_access(self.node)
        self.part.launch(self.node.spaces)

    def kill(self) -> None:
        """End it as the node's death would."""
        self.part.end(signal.SIGKILL)

    def terminate(self, limit: float = 30.0) -> int:
        """Ask it to end, and give its exit code."""
        return self.part.end(signal.SIGTERM, limit)

    def freeze(self) -> None:
        """Stop it without its knowing."""
        self.part.send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.part.send(signal.SIGCONT)

    def restart(self) -> JsonObject:
        """Ask it to end and start it again; with changed settings, these hold from now on."""
        self.terminate()
        return self.start()

    def repair(self) -> None:
        """Have it run with the default settings, and be ready."""
        settings = self._default()
        if self.pid is not None:
            self.thaw()
            if settings == self._running:
                self.part.wait_ready()
                return
            self.kill()
        self.settings = settings
        self.start()

    @property
    def pid(self) -> int | None:
        """Give its process id while it runs."""
        return self.part.pid

    def status(self) -> JsonObject:
        """Give how it says that it is."""
        answer: JsonObject = self.ask("status")
        return answer

    def allocations(self) -> list[JsonObject]:
        """List the rows of its ledger."""
        answer: list[JsonObject] = self.ask("allocations")
        return answer

    def devices(self) -> list[JsonObject]:
        """List its devices."""
        answer: list[JsonObject] = self.ask("devices")
        return answer

    def ask(self, method: str, params: JsonObject | None = None) -> Any:
        """Ask it over its control socket. Raises ``DragomanError``."""
        paths: JsonObject = self.settings.get("paths", {})
        socket = self.node.spaces.path(Path(paths.get("runDir", "/run/dragoman")) / "control.sock")
        return client.call_now(socket, method, params, seconds=60.0)

    def cli(self, *words: str, check: bool = True) -> str:
        """Run the ``dragoman`` command beside it, and give its output."""
        command: list[str | Path] = [sys.executable, "-m", "dragoman", "--config", self._file, *words]
        return self.node.spaces.run(*command, env=self.part.env, check=check)

    def _default(self) -> JsonObject:
        return default_settings(self._link_kind, self.complaints) | copy.deepcopy(self._given)

    def _is_ready(self) -> bool:
        try:
            status = self.status()
        except DragomanError:
            return False
        return bool(status["ready"] and status["published"]["devices"])


def install(node: Node) -> None:
    """Apply what ``deploy/`` ships for the agent's account."""
    for manifest in yaml.safe_load_all(_MANIFEST.read_text()):
        node.api.apply(manifest)


def give_access(node: Node) -> None:
    """Put the account's token and the authority where a pod has them.

    The token is bound to the Node object, which gives its bearer the same association with the node as a token that
    the kubelet asks for a pod. Asked for once: an agent starts while the API server is away, too.
    """
    folder = node.spaces.path(_SECRETS)
    folder.mkdir(parents=True, exist_ok=True)
    kept = node.disk / "agent.token"
    if not kept.exists():
        kept.write_text(request_token(node))
    (folder / "token").write_text(kept.read_text())
    (folder / "ca.crt").write_text(authority(node.disk).read_text())
    (folder / "namespace").write_text(_ACCOUNT[0])


def request_token(node: Node, *, bound: bool = True) -> str:
    """Ask for a token of the agent's account, bound to the node or to nothing."""
    namespace, account = _ACCOUNT
    found = node.api.get("Node", files.NODE)
    assert found, "the node is registered"
    spec: JsonObject = {"expirationSeconds": 24 * 3600}
    if bound:
        reference = {"apiVersion": "v1", "kind": "Node", "name": files.NODE, "uid": found["metadata"]["uid"]}
        spec["boundObjectRef"] = reference
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = f"{node.api.within(namespace).path('ServiceAccount', account)}/token"
    token: str = node.api.request("POST", path, body)["status"]["token"]
    return token
