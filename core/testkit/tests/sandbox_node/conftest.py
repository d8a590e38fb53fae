"""A network namespace of its own to be the host, with ``lo`` up and two uplinks, for tests that run a node."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from dragoman_testkit.sandbox import demo_objects, kernel
from dragoman_testkit.sandbox.runtime_netns import enter_network, unshare_network
from dragoman_testkit.sandbox.runtime_rtnetlink import Rtnetlink


@pytest.fixture
def host() -> Iterator[str]:
    """Make it, and give the kind of link that stands for ``dummy``."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    unshare_network()
    try:
        with Rtnetlink() as netlink:
            netlink.set_up("lo")
        yield kernel.furnish(demo_objects.UPLINKS)
    finally:
        enter_network(before)
        os.close(before)
