"""All Kubernetes commands as one program, built from the published Go modules of a release.

The first build takes a quarter of an hour of two cores and leaves 4 GB in Go's own build cache; a further one half a
minute. ``DRAGOMAN_KUBE_VERSION`` names the release; ``DRAGOMAN_KUBE_BIN`` a folder of ready programs, and then nothing
is built.
"""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path

from tests.cluster import cache, toolchain
from tests.cluster.tools import Failed, again, run

PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
_SOURCE = Path(__file__).parent / "kube" / "main.go"
_DEFAULT = "1.37.2"


def version() -> str:
    """Give the release, without ``v``: the one that is named, or that of the ready programs. Raises ``Failed``."""
    release = os.environ.get("DRAGOMAN_KUBE_VERSION")
    if release is None and (given := os.environ.get("DRAGOMAN_KUBE_BIN")):
        release = _told_by(given)
    if not re.fullmatch(r"1\.\d+\.\d+\S*", release or _DEFAULT):
        raise Failed(f"{release!r} is no release of Kubernetes: name one such as {_DEFAULT}")
    return release or _DEFAULT


@functools.cache
def _told_by(folder: str) -> str:
    return run([Path(folder) / PROGRAMS[0], "--version"]).strip().removeprefix("Kubernetes v")


def minor() -> int:
    """Give the 37 of 1.37.2."""
    return int(version().split(".")[1])


def programs() -> Path:
    """Give the folder with the programs, built if need be."""
    if given := os.environ.get("DRAGOMAN_KUBE_BIN"):
        return Path(given)
    release = version()
    name = f"kube-{release}-{cache.digest(_SOURCE.read_bytes(), Path(__file__).read_bytes())}"
    return cache.kept(name, lambda folder, _: _build(folder, release))


def _build(folder: Path, release: str) -> None:
    source = folder / "source"
    source.mkdir()
    (source / "main.go").write_bytes(_SOURCE.read_bytes())
    (source / "go.mod").write_text(_module(release))
    go, env = toolchain.go(), toolchain.environment()
    again(lambda: run([go, "mod", "tidy"], cwd=source, env=env))
    stamp = "k8s.io/component-base/version.git"
    flags = f"-s -w -X {stamp}Version=v{release} -X {stamp}Major=1 -X {stamp}Minor={release.split('.')[1]}"
    run([go, "build", "-o", folder / "kube", "-ldflags", flags, "."], cwd=source, env=env)
    for name in PROGRAMS:
        (folder / name).symlink_to("kube")


def _module(release: str) -> str:
    """Write the module file: the staging modules that the release replaces by folders, by their published versions."""
    download = [toolchain.go(), "mod", "download", "-json", f"k8s.io/kubernetes@v{release}"]
    found = json.loads(again(lambda: run(download, env=toolchain.environment())))
    text = Path(found["GoMod"]).read_text()
    language = re.findall(r"^(?:go|godebug) .*$", text, re.MULTILINE)
    staged = re.findall(r"^\s*(k8s\.io/[a-z-]+) => \./staging/", text, re.MULTILINE)
    published = f"v0.{release.split('.', 1)[1]}"
    lines = [
        "module dragoman.invalid/kube",
        *language,
        f"require k8s.io/kubernetes v{release}",
        *(f"replace {name} => {name} {published}" for name in staged),
    ]
    return "\n".join(lines) + "\n"
