"""Where the API server is and with whose identity it is asked: a kubeconfig, or the service account of a pod."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

import yaml

from dragoman_hookspecs import DragomanError
from dragoman_pool_status import credentials

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class NoAccess(DragomanError):
    """There is no usable way to an API server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``server`` is a URL; ``tls`` None for plain HTTP; ``headers`` authorise."""

    server: str
    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def find(kubeconfig: Path | None, context: str | None) -> Access:
    """Take the given kubeconfig, ``$KUBECONFIG``, the pod's account, or ``~/.kube/config``. Raises ``NoAccess``."""
    named = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    try:
        if kubeconfig is not None or named or "KUBERNETES_SERVICE_HOST" not in os.environ:
            files = [kubeconfig] if kubeconfig is not None else named or [Path.home() / ".kube" / "config"]
            return _configured([path for path in files if path.exists()], files, context)
        return _in_cluster()
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        raise NoAccess(f"no access to an API server: {what}: give --kubeconfig, or manifests with -f") from error


def _in_cluster() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    token = (_ACCOUNT / "token").read_text().strip()
    tls = ssl.create_default_context(cafile=str(_ACCOUNT / "ca.crt"))
    return Access(server=server, tls=tls, headers={"Authorization": f"Bearer {token}"})


def _configured(files: list[Path], wanted: list[Path], context: str | None) -> Access:
    if not files:
        raise NoAccess(f"there is no kubeconfig {wanted[0]}: give --kubeconfig, or manifests with -f")
    loaded = [(path.parent, yaml.safe_load(path.read_text()) or {}) for path in files]
    current = context or next((each["current-context"] for _, each in loaded if each.get("current-context")), None)
    if current is None:
        raise NoAccess(f"{files[0]} has no current context: give --context")
    _, chosen = _named(loaded, "contexts", "context", current)
    base, cluster = _named(loaded, "clusters", "cluster", chosen["cluster"])
    home, user = _named(loaded, "users", "user", chosen["user"]) if chosen.get("user") else (base, {})
    user = credentials.resolve(user)
    tls = _tls(cluster, base, user, home) if str(cluster["server"]).startswith("https:") else None
    return Access(server=str(cluster["server"]), tls=tls, headers=credentials.headers(user, home))


def _named(loaded: list[tuple[Path, Any]], part: str, member: str, name: str) -> tuple[Path, Any]:
    for folder, document in loaded:
        for each in document.get(part) or ():
            if each["name"] == name:
                return folder, each[member]
    raise NoAccess(f"the kubeconfig has no {member} {name!r}: give --context with one of kubectl config get-contexts")


def _tls(cluster: Mapping[str, Any], base: Path, user: Mapping[str, Any], home: Path) -> ssl.SSLContext:
    authority = cluster.get("certificate-authority-data")
    tls = ssl.create_default_context(
        cafile=str(base / cluster["certificate-authority"]) if cluster.get("certificate-authority") else None,
        cadata=base64.b64decode(authority).decode() if authority else None,
    )
    if cluster.get("insecure-skip-tls-verify"):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if user.get("client-certificate-data") and user.get("client-key-data"):
        with NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + b"\n")
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            tls.load_cert_chain(pair.name)
    elif user.get("client-certificate"):
        tls.load_cert_chain(str(home / user["client-certificate"]), str(home / user["client-key"]))
    return tls
