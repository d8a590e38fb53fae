"""The programs of a node, with the words that start them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cluster import build, files
from tests.cluster.part import Part
from tests.cluster.tools import Failed, run

ORDER = ("containerd", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
"""How they are started."""

_CLIENT, _PEER = "http://127.0.0.1:2379", "http://127.0.0.1:2380"


def authority(disk: Path) -> Path:
    """Give the certificate with which the API server proves itself; it makes it at its first start."""
    return disk / "certs" / "apiserver.crt"


def write_files(disk: Path, runtime: Path, cgroup: str) -> None:
    """Write what the programs read, once for a disk."""
    for name in ("cni", "cni-gate", "nri/plugins", "nri/conf.d", "certs", "logs"):
        (disk / name).mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("containerd.toml", files.containerd(runtime, disk)),
        ("cni/10-cluster.conflist", files.cni()),
        ("cni-gate/gate", files.gate(runtime)),
        ("kubelet.yaml", files.kubelet(cgroup)),
        ("tokens.csv", files.tokens()),
        *((f"{name}.kubeconfig", files.kubeconfig(name, authority(disk))) for name in files.TOKENS),
    ):
        (disk / name).write_text(content)
    (disk / "cni-gate" / "gate").chmod(0o755)
    key, public = disk / "accounts.key", disk / "accounts.pub"
    run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key])
    run(["openssl", "pkey", "-in", key, "-pubout", "-out", public])


def make(disk: Path, runtime: Path, ready: Callable[[str], bool]) -> dict[str, Part]:
    """Give the parts; ``ready`` is asked with the name of one."""
    programs = build.programs()
    commands: dict[str, list[str | Path]] = {
        "containerd": [runtime / "bin" / "containerd", "--config", disk / "containerd.toml"],
        "etcd": _etcd(runtime, disk),
        "kube-apiserver": [programs / "kube-apiserver", *_apiserver(disk)],
        "kube-controller-manager": [programs / "kube-controller-manager", *_controllers(disk)],
        "kube-scheduler": [programs / "kube-scheduler", *_client(disk, "scheduler")],
        "kubelet": [programs / "kubelet", *_kubelet(disk)],
    }
    # containerd looks for its shim there.
    env = {"PATH": f"{runtime / 'bin'}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    return {
        name: Part(
            name,
            commands[name],
            log=disk / "logs" / f"{name}.log",
            ready=lambda name=name: ready(name),  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            env=env,
        )
        for name in ORDER
    }


def _etcd(runtime: Path, disk: Path) -> list[str | Path]:
    urls = [f"--listen-client-urls={_CLIENT}", f"--advertise-client-urls={_CLIENT}", f"--listen-peer-urls={_PEER}"]
    # Nothing outlives the machine here, so there is no need to wait for its disk.
    return [runtime / "bin" / "etcd", f"--data-dir={disk / 'etcd'}", *urls, "--unsafe-no-fsync", "--log-level=warn"]


def _apiserver(disk: Path) -> list[str]:
    versions = ",".join(f"resource.k8s.io/{name}=true" for name in ("v1alpha3", "v1beta1", "v1beta2"))
    return [
        f"--etcd-servers={_CLIENT}",
        f"--cert-dir={disk / 'certs'}",
        "--bind-address=127.0.0.1",
        "--secure-port=6443",
        f"--advertise-address={files.ADDRESS}",
        "--service-account-issuer=https://dragoman.invalid",
        f"--service-account-key-file={disk / 'accounts.pub'}",
        f"--service-account-signing-key-file={disk / 'accounts.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=Node,RBAC",
        f"--token-auth-file={disk / 'tokens.csv'}",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        f"--runtime-config={versions}",
        *files.gate_words(),
    ]


def _client(disk: Path, name: str) -> list[str]:
    config = disk / f"{name}.kubeconfig"
    options = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return [*(f"--{option}={config}" for option in options), "--leader-elect=false", *files.gate_words()]


def _controllers(disk: Path) -> list[str]:
    return [
        *_client(disk, "controller-manager"),
        f"--service-account-private-key-file={disk / 'accounts.key'}",
        "--use-service-account-credentials",
        f"--cert-dir={disk / 'certs'}",
    ]


def _kubelet(disk: Path) -> list[str]:
    return [
        f"--config={disk / 'kubelet.yaml'}",
        f"--kubeconfig={disk / 'kubelet.kubeconfig'}",
        f"--hostname-override={files.NODE}",
        f"--node-ip={files.ADDRESS}",
        f"--cert-dir={disk / 'certs' / 'kubelet'}",
        "--v=2",
    ]


def require_root() -> None:
    """Raises ``Failed`` for whom cannot make namespaces and mounts."""
    if run(["id", "-u"]).strip() != "0":
        raise Failed("a node needs root: namespaces, mounts and cgroups")
