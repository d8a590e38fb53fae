"""Namespaces for the tests of the kit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_testkit import netns as namespaces


@pytest.fixture
def host() -> Iterator[Netlink]:
    """A handle on a private namespace that is the host's for this thread."""
    with namespaces.private_host(), Netlink() as netlink:
        netlink.set_link(1, up=True)
        yield netlink


@pytest.fixture
def pod(host: Netlink) -> Iterator[namespaces.Pod]:
    """A namespace that is a pod's."""
    del host
    with namespaces.pod() as made:
        yield made


@pytest.fixture
def nic(host: Netlink) -> LinkInfo:
    """A link that stands for hardware: known by its MAC, up, with carrier (its other end stays on the host)."""
    host.add_link("eth1", "veth", peer="switch", address="02:00:00:00:00:01")
    for name in ("eth1", "switch"):
        link = host.link(name)
        assert link is not None
        host.set_link(link.index, up=True)
    nic = host.link("eth1")
    assert nic is not None
    return nic
