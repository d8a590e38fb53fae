"""Kernel tests say why they do not run, and do not pass a machine that is there to check."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import os
import socket
import pytest

@pytest.mark.kernel
def test_of_the_kernel():
    assert os.geteuid() == 0

def test_of_nothing_special():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 30).close()
"""

# A root without capabilities may not make namespaces, whatever the machine allows.
POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def run(folder: Path, *options: str, prefix: tuple[str, ...] = (), ci: str = "") -> subprocess.CompletedProcess[str]:
    """Run the tests above in a session of their own, which reads no settings of this one."""
    file = folder / "test_something.py"
    file.write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = (*prefix, sys.executable, "-m", "pytest", "-ra", "--strict-markers", "-p", "no:cacheprovider", *options)
    environment = {"PATH": os.environ["PATH"], "CI": ci}
    return subprocess.run(
        (*command, str(file)), capture_output=True, text=True, env=environment, cwd=folder, check=False
    )


@pytest.fixture
def powerless() -> tuple[str, ...]:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can give up the capabilities of root")
    return POWERLESS


def test_a_kernel_test_is_skipped_with_the_reason_where_namespaces_cannot_be_made(
    tmp_path: Path, powerless: tuple[str, ...]
) -> None:
    done = run(tmp_path, prefix=powerless)

    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 skipped" in done.stdout
    assert "network namespaces cannot be made here: Operation not permitted" in done.stdout


def test_a_kernel_test_fails_in_ci_where_namespaces_cannot_be_made(tmp_path: Path, powerless: tuple[str, ...]) -> None:
    done = run(tmp_path, prefix=powerless, ci="true")

    assert done.returncode == 1, done.stdout
    assert "1 passed, 1 error" in done.stdout
    assert "network namespaces cannot be made here: Operation not permitted" in done.stdout


@pytest.mark.kernel
def test_a_kernel_test_runs_where_namespaces_can_be_made(tmp_path: Path) -> None:
    done = run(tmp_path, ci="true")

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_an_ordinary_user_runs_kernel_tests_in_a_user_namespace(tmp_path: Path) -> None:
    prefix = NOBODY if os.geteuid() == 0 else ()
    probe = (*prefix, "unshare", "--map-root-user", "--net", "--mount", "--", sys.executable, "-c", "pass")
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("this interpreter does not run in a user namespace of an ordinary user")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)

    done = run(tmp_path, "--user-namespace", prefix=prefix, ci="true")

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
