"""A node: namespaces of its own, a disk, and the programs that make it a Kubernetes cluster of one."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cluster import build, cgroups, files, init, parts, runtime
from tests.cluster.api import Api, ApiError, Wire
from tests.cluster.spaces import Spaces
from tests.cluster.tools import Failed
from tests.cluster.waiting import until

UPLINKS = ("uplink0", "uplink1")
LENDERS = ("lender0", "lender1")
"""Links that the machine has: ends of veth pairs, whose other ends are ``<name>-wire``. Pods get links on the former,
and the latter themselves."""

_PREFIX = "dragoman-node-"


class Node:
    """A node. ``disk`` is all that outlives its boots, and all that it leaves on this machine while it runs.

    ``lease``: it ends with this process. ``parts``: its programs by name, each of which can be ended and started by
    itself; who starts further ones in it adds them. ``programs``: those that it boots with, if not with all.
    """

    def __init__(self, disk: Path, *, lease: bool = True, programs: Sequence[str] = parts.ORDER) -> None:
        parts.require_root()
        self._programs = programs
        self.disk = disk
        self.cgroup = disk.name
        self._lease = lease
        self._init: subprocess.Popen[str] | None = None
        self._spaces: Spaces | None = None
        self._runtime = runtime.installed()
        self.parts = parts.make(disk, self._runtime, self._is_ready)
        self._api: Api | None = None

    @property
    def spaces(self) -> Spaces:
        """Give its namespaces."""
        assert self._spaces, "the node is not booted"
        return self._spaces

    @property
    def api(self) -> Api:
        """Give the API server, as an administrator sees it."""
        if self._api is None:
            self._api = Api(Wire(self.spaces, parts.authority(self.disk)))
        return self._api

    def start(self) -> None:
        """Boot it for the first time, and wait until it takes pods."""
        parts.write_files(self.disk, self._runtime, f"/{self.cgroup}")
        self.boot()
        self._import_image()
        self.api.apply(_KUBELET_READS_CLAIMS[0])
        self.api.apply(_KUBELET_READS_CLAIMS[1])
        until(lambda: self.api.get("ServiceAccount", "default"), "the namespace has its service account")

    def boot(self) -> None:
        """Switch it on: new namespaces, an empty ``/run``, another boot id, and all programs."""
        (self.disk / "boot_id").write_text(f"{uuid.uuid4()}\n")
        folders = cgroups.make(self.cgroup)
        command = [sys.executable, "-I", init.__file__, str(self.disk), files.NODE, *["--lease"] * self._lease]
        with (self.disk / "logs" / "init.log").open("ab") as log:
            self._init = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if self._lease else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert self._init.stdout
        said = [self._init.stdout.readline().strip() for _ in ("pid", "ready")]
        if said[1] != "ready":
            raise Failed(f"the namespaces cannot be made: {(self.disk / 'logs' / 'init.log').read_text()}")
        self._spaces, self._api = Spaces(int(said[0])), None
        state = {"pid": int(said[0]), "cgroups": [str(folder) for folder in folders]}
        (self.disk / "state.json").write_text(json.dumps(state))
        self._links()
        for name in self._programs:
            self.parts[name].start(self.spaces)

    def power_off(self) -> None:
        """Switch it off: every process ends at once, with the namespaces and all that is in them."""
        assert self._init, "the node is not booted"
        os.kill(self.spaces.pid, signal.SIGKILL)
        # The first process of a PID namespace ends after all others, and these after somebody has waited for them.
        for part in self.parts.values():
            part.wait_gone()
        self._init.communicate(timeout=120)
        _remove_cgroups(self.disk)
        if self._api:
            self._api.close()
        self._spaces = self._api = None

    def reboot(self) -> None:
        """Switch it off and on again; the disk stays."""
        self.power_off()
        self.boot()

    def repair(self) -> None:
        """Start what does not run, and let go on what was stopped."""
        if self._spaces is None:
            self.boot()
        for name in parts.ORDER:
            part = self.parts[name]
            if part.pid is None:
                part.start(self.spaces)
            else:
                part.send(signal.SIGCONT)

    def stop(self) -> None:
        """End it, and leave nothing but its disk."""
        if self._spaces:
            self.power_off()

    def run(self, *command: str | Path, stdin: str = "", limit: float = 120.0, check: bool = True) -> str:
        """Run a program on the node and give its output. Raises ``Failed``."""
        return self.spaces.run(*command, stdin=stdin, limit=limit, check=check)

    def ctr(self, *words: str | Path, check: bool = True) -> str:
        """Ask containerd about what the kubelet had it make, and give its output. Raises ``Failed``."""
        return self.run(self._runtime / "bin" / "ctr", "--namespace=k8s.io", *words, check=check)

    def kubectl(self, *words: str, stdin: str = "", limit: float = 120.0) -> str:
        """Run kubectl as an administrator, and give its output. Raises ``Failed``."""
        return self.spaces.run(*self.kubectl_command(), *words, stdin=stdin, limit=limit)

    def kubectl_command(self) -> list[str | Path]:
        """Give the words that start kubectl."""
        return [build.programs() / "kubectl", f"--kubeconfig={self.disk / 'admin.kubeconfig'}"]

    def link_kind(self) -> str:
        """Give the kind of link that stands for dummy ones on this kernel."""
        for kind in ("dummy", "ifb"):
            if not self.run("ip", "link", "add", "probe", "type", kind, check=False):
                self.run("ip", "link", "delete", "probe")
                return kind
        raise Failed("this kernel has no links of kind dummy or ifb")

    def _links(self) -> None:
        self._ip("link", "set", "lo", "up")
        # The kubelet takes the address of the link with the default route.
        self._ip("link", "add", "node0", "type", "bridge")
        self._ip("address", "add", f"{files.ADDRESS}/24", "dev", "node0")
        self._ip("link", "set", "node0", "up")
        self._ip("route", "add", "default", "via", "10.77.0.254", "dev", "node0")
        for name in (*UPLINKS, *LENDERS):
            self._ip("link", "add", name, "type", "veth", "peer", "name", f"{name}-wire")
            self._ip("link", "set", name, "up")
            self._ip("link", "set", f"{name}-wire", "up")

    def _ip(self, *words: str) -> None:
        self.run("ip", *words)

    def _import_image(self) -> None:
        self.ctr("images", "import", self._runtime / "image.tar")

    def _is_ready(self, name: str) -> bool:
        if name == "containerd":
            return self._runtime_answers()
        if name == "kube-apiserver":
            return self._answers("/readyz")
        return name != "kubelet" or (self._kubelet_answers() and self._takes_pods())

    def _takes_pods(self) -> bool:
        status = (self.api.get("Node", files.NODE) or {}).get("status", {})
        # What it said before a reboot still stands there.
        booted = status.get("nodeInfo", {}).get("bootID") == (self.disk / "boot_id").read_text().strip()
        conditions = status.get("conditions", ())
        return booted and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def _runtime_answers(self) -> bool:
        """Tell whether the service for kubelets is there: containerd answers others before, also on NRI's socket."""
        import grpc  # noqa: PLC0415  # see _quietly of __main__

        socket = self.spaces.path("/run/containerd/containerd.sock")
        options = [("grpc.default_authority", "localhost")]
        with grpc.insecure_channel(f"unix:{socket}", options=options) as channel:
            try:
                return bool(channel.unary_unary("/runtime.v1.RuntimeService/Version", bytes, bytes)(b"", timeout=30))
            except grpc.RpcError:
                return False

    def _kubelet_answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", 10248, timeout=30)
        with self.spaces.network():
            connection.connect()
        with contextlib.closing(connection):
            connection.request("GET", "/healthz")
            return connection.getresponse().read() == b"ok"

    def _answers(self, path: str) -> bool:
        try:
            return self.api.raw("GET", path) == "ok"
        except ApiError:
            return False


def _remove_cgroups(disk: Path) -> None:
    state = json.loads((disk / "state.json").read_text())
    cgroups.remove([Path(folder) for folder in state["cgroups"]])


_KUBELET_READS_CLAIMS = (
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "kubelet-reads-claims"},
        "rules": [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kubelet-reads-claims"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kubelet-reads-claims"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}],
    },
)
"""The authorizer of nodes learns of a new claim by a watch. Where the kubelet's read comes first, as on a busy machine,
it is forbidden, and tried again only a minute later. That is between the two, and would make every test a lottery."""


@contextlib.contextmanager
def fresh() -> Iterator[Node]:
    """Give a node for as long as the context lasts."""
    with fresh_disk() as disk:
        node = Node(disk)
        try:
            node.start()
            yield node
        finally:
            node.stop()


@contextlib.contextmanager
def fresh_disk() -> Iterator[Path]:
    """Give a disk for a node for as long as the context lasts; remove those that others have left."""
    _sweep()
    disk = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
    with (disk / "owner").open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        try:
            yield disk
        finally:
            shutil.rmtree(disk)


def _sweep() -> None:
    """Remove what is left of nodes whose owner was killed, and which have ended with it: disks and empty cgroups."""
    for lock in Path("/tmp").glob(f"{_PREFIX}*/owner"):
        with contextlib.suppress(OSError), lock.open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (lock.parent / "state.json").exists():
                _remove_cgroups(lock.parent)
            shutil.rmtree(lock.parent)
