"""containerd, runc, CNI plugins, etcd and busybox: packages of a newer Debian suite, unpacked and not installed.

They come from the archive that this machine's own apt uses, with package lists of their own, so that apt and dpkg here
know nothing of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.cluster import cache, image
from tests.cluster.tools import Failed, run

SUITE = "forky"
_PACKAGES = ("containerd", "runc", "containernetworking-plugins", "etcd-server", "busybox-static")
_FOR_RUNC = ("libc6", "libseccomp2")


def installed() -> Path:
    """Give the folder with ``bin/`` (the programs), ``cni/`` (the plugins) and ``image.tar``, fetched if need be."""
    recipe = Path(__file__).read_bytes() + Path(image.__file__).read_bytes()
    return cache.kept(f"runtime-{SUITE}-{cache.digest(recipe)}", _fetch)


def _fetch(folder: Path, final: Path) -> None:
    root = folder / "root"
    _download(folder / "apt", root, [*_PACKAGES, *_FOR_RUNC])
    programs = folder / "bin"
    programs.mkdir()
    for name in ("containerd", "containerd-shim-runc-v2", "ctr", "etcd", "busybox"):
        (programs / name).symlink_to(f"../root/usr/bin/{name}")
    (folder / "cni").symlink_to("root/usr/lib/cni")
    _place_runc(folder, final)
    image.write(folder / "image.tar", root / "usr" / "bin" / "busybox")


def _download(apt: Path, root: Path, packages: list[str]) -> None:
    for part in ("lists/partial", "cache/archives/partial", "empty", "packages"):
        (apt / part).mkdir(parents=True)
    (apt / "status").touch()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text(f"deb [signed-by={keys}] {_archive()} {SUITE} main\n")
    config = apt / "apt.conf"
    config.write_text(_CONFIG.format(apt=apt))
    env = dict(os.environ, APT_CONFIG=str(config))
    run(["apt-get", "--quiet", "update"], env=env)
    run(["apt-get", "--quiet", "download", *packages], env=env, cwd=apt / "packages")
    for package in sorted((apt / "packages").iterdir()):
        run(["dpkg", "--extract", package, root])
    shutil.rmtree(apt)


_CONFIG = """
Dir::Etc::sourcelist "{apt}/sources.list";
Dir::Etc::sourceparts "{apt}/empty";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "{apt}/empty";
Dir::State "{apt}";
Dir::State::lists "{apt}/lists";
Dir::State::status "{apt}/status";
Dir::Cache "{apt}/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
# A mirror that lags behind the clock serves an expired list of a suite that moves; signatures are checked all the same.
Acquire::Check-Valid-Until "false";
"""


def _archive() -> str:
    """Give the address of the Debian archive that apt uses here."""
    wanted = ["apt-get", "indextargets", "--format", "$(LABEL)|$(CODENAME)|$(REPO_URI)", "Created-By: Packages"]
    for line in run(wanted).splitlines():
        label, codename, address = line.split("|")
        # Security and updates suites are in archives that may not have the other suites.
        if label == "Debian" and "-" not in codename:
            return address
    raise Failed("apt on this machine has no Debian archive with package lists: run apt-get update")


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
    run(["apt-get", "--quiet", "download", "patchelf"], cwd=folder)
    run(["dpkg", "--extract", next(folder.glob("patchelf_*.deb")), folder / "patchelf"])
    return str(folder / "patchelf" / "usr" / "bin" / "patchelf")
