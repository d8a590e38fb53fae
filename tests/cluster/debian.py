"""Packages of a newer Debian suite, unpacked and not installed.

They come from the archive that this machine's own apt uses, with package lists of their own, so that apt and dpkg here
know nothing of it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.tools import Failed, again, run

SUITE = "forky"


def unpack(root: Path, *packages: str) -> None:
    """Unpack packages into a folder."""
    with tempfile.TemporaryDirectory(prefix="apt-") as apt:
        _unpack(Path(apt), root, packages)


def _unpack(apt: Path, root: Path, packages: Sequence[str]) -> None:
    for part in ("lists/partial", "cache/archives/partial", "empty", "packages"):
        (apt / part).mkdir(parents=True)
    (apt / "status").touch()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "sources.list").write_text(f"deb [signed-by={keys}] {_archive()} {SUITE} main\n")
    config = apt / "apt.conf"
    config.write_text(_CONFIG.format(apt=apt))
    env = dict(os.environ, APT_CONFIG=str(config))
    again(lambda: _download(apt / "packages", packages, env))
    for package in sorted((apt / "packages").iterdir()):
        run(["dpkg", "--extract", package, root])


def _download(folder: Path, packages: Sequence[str], env: Mapping[str, str]) -> None:
    """Load both lists and packages: a suite that moves may have others now than its lists of a moment ago say."""
    run(["apt-get", "--quiet", "update"], env=env)
    run(["apt-get", "--quiet", "download", *packages], env=env, cwd=folder)


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
# Otherwise lists that could not be loaded are a warning.
APT::Update::Error-Mode "any";
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
