"""An image without a registry: one layer with a static busybox, as an OCI archive that containerd imports."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path
from typing import Any

PAUSE = "dragoman.invalid/pause:1"
BUSYBOX = "dragoman.invalid/busybox:1"

_MEDIA = "application/vnd.oci.image."
_FOLDERS = ("bin", "dev", "etc", "proc", "root", "run", "sys", "tmp", "var")
_COMMANDS = (
    "cat date echo env false find grep id ip ls mkdir mount nc ping ps sh sleep stat test touch true umount wget"
)


def write(path: Path, busybox: Path) -> None:
    """Write the archive; both names stand for the same image."""
    plain = _layer(busybox)
    blobs: dict[str, bytes] = {}

    def put(kind: str, content: bytes) -> dict[str, Any]:
        name = hashlib.sha256(content).hexdigest()
        blobs[name] = content
        return {"mediaType": _MEDIA + kind, "digest": f"sha256:{name}", "size": len(content)}

    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    layer = put("layer.v1.tar+gzip", gzip.compress(plain, mtime=0))
    config = put("config.v1+json", _json(_config(architecture, hashlib.sha256(plain).hexdigest())))
    manifest = put("manifest.v1+json", _json({"schemaVersion": 2, "config": config, "layers": [layer]}))
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    named = [manifest | {"annotations": {"io.containerd.image.name": name}} for name in (PAUSE, BUSYBOX)]
    with tarfile.open(path, "w") as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": named}))
        for name, content in blobs.items():
            _add(archive, f"blobs/sha256/{name}", content)


def _config(architecture: str, layer: str) -> dict[str, Any]:
    return {
        "architecture": architecture,
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer}"]},
        "config": {"Entrypoint": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin"], "WorkingDir": "/"},
    }


def _layer(busybox: Path) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name in _FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            layer.addfile(folder)
        _add(layer, "bin/busybox", busybox.read_bytes())
        _add(layer, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        for name in _COMMANDS.split():
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            layer.addfile(link)
    return content.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.mode, member.size = 0o755, len(content)
    archive.addfile(member, io.BytesIO(content))


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
