"""containerd, runc, CNI plugins, etcd and busybox: packages of a newer Debian suite, unpacked and not installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.cluster import cache, debian, image
from tests.cluster.tools import again, run

_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "etcd-server", "busybox-static")
_FOR_RUNC = ("libc6", "libseccomp2")


def installed() -> Path:
    """Give the folder with ``bin/`` (the programs), ``cni/`` (the plugins) and ``image.tar``, fetched if need be."""
    recipe = cache.digest(*(Path(file).read_bytes() for file in (__file__, debian.__file__, image.__file__)))
    return cache.kept(f"runtime-{debian.SUITE}-{recipe}", _fetch)


def _fetch(folder: Path, final: Path) -> None:
    root = folder / "root"
    debian.unpack(root, *_PACKAGES, *_FOR_RUNC)
    programs = folder / "bin"
    programs.mkdir()
    for name in ("containerd", "containerd-shim-runc-v2", "ctr", "etcd", "busybox"):
        (programs / name).symlink_to(f"../root/usr/bin/{name}")
    (folder / "cni").symlink_to("root/usr/lib/cni")
    _place_runc(folder, final)
    image.write(folder / "image.tar", root / "usr" / "bin" / "busybox")


def _place_runc(folder: Path, final: Path) -> None:
    """Make runc run with the C library that it was built for, where this machine's is older.

    A wrapper that calls the loader does not do: runc starts ``/proc/self/exe`` again.
    """
    runc = folder / "root" / "usr" / "sbin" / "runc"
    if subprocess.run([runc, "--version"], capture_output=True, check=False).returncode == 0:
        (folder / "bin" / "runc").symlink_to("../root/usr/sbin/runc")
        return
    libraries = next((folder / "root").glob("usr/lib/*/libc.so.6")).parent.relative_to(folder)
    loader = next((folder / "root").glob("usr/lib*/**/ld-linux-*.so.*")).relative_to(folder)
    settings: list[str | Path] = ["--set-interpreter", final / loader, "--set-rpath", final / libraries]
    run([_patchelf(folder), *settings, "--output", folder / "bin" / "runc", runc])


def _patchelf(folder: Path) -> str:
    if found := shutil.which("patchelf"):
        return found
    again(lambda: run(["apt-get", "--quiet", "download", "patchelf"], cwd=folder))
    run(["dpkg", "--extract", next(folder.glob("patchelf_*.deb")), folder / "patchelf"])
    return str(folder / "patchelf" / "usr" / "bin" / "patchelf")
