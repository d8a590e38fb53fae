"""A pytest plugin: tests marked ``kernel`` run where the kernel lets them, and say why where it does not.

Such tests make network namespaces. Where that is not allowed they are skipped with the reason, and where ``CI`` is
``true`` they fail with it: a machine that is there to check must not pass by not looking. With ``--user-namespace``
an ordinary user runs the whole session as root of a user namespace (user_namespaces(7)), where it is allowed.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys

import pytest

pytest.register_assert_rewrite("dragoman_testkit.bench", "dragoman_testkit.contract")

# A network namespace of its own too: back into that of the machine no thread could go. Servers of tests listen on lo.
_ENTER = ("unshare", "--map-root-user", "--net", "--mount", "sh", "-c", 'ip link set lo up && exec "$@"', "pytest")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--user-namespace``."""
    text = "not root: run as root of a user namespace, where kernel tests can make network namespaces"
    parser.getgroup("dragoman").addoption("--user-namespace", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "kernel: needs network namespaces and real links of the kernel")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Start again inside a user namespace if that was asked for, is needed and works."""
    if config.getoption("--user-namespace") and os.geteuid() != 0 and _may_enter():
        sys.stdout.flush()
        again = (sys.executable, "-m", "pytest", *config.invocation_params.args)
        os.execvp(_ENTER[0], (*_ENTER, *again))  # noqa: S606 - a command of the system, found as a shell would


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a kernel test with the reason, or fail it in CI."""
    if item.get_closest_marker("kernel") is None or not (reason := _obstacle()):
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (with CI=true this is a failure, not a skip)", pytrace=False)
    pytest.skip(reason)


def _may_enter() -> bool:
    if shutil.which(_ENTER[0]) is None:
        return False
    # Not any program: to the root of a user namespace other users' folders are closed, and ours may lie in one.
    probe = (*_ENTER, sys.executable, "-c", "pass")
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0  # noqa: S603 - fixed words


@functools.cache
def _obstacle() -> str | None:
    from dragoman_kit import netns  # noqa: PLC0415 - not for sessions without kernel tests

    try:
        os.close(netns.fresh())
    except OSError as error:
        return f"network namespaces cannot be made here: {error.strerror}; run as root, or allow user namespaces"
    return None
