"""What the kernel refuses for a reason of its own is an error of the device, not one of the program."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dragoman.links import HostLinks
from dragoman_hookspecs import DeviceError, Netns

OWN = "/proc/self/ns/net"


@pytest.fixture
def links() -> Iterator[HostLinks]:
    made = HostLinks()
    yield made
    made.close()


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Within the block the process can open no file."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


async def test_a_namespace_that_cannot_be_opened_is_neither_there_nor_gone(links: HostLinks) -> None:
    with no_descriptors():
        with pytest.raises(DeviceError, match=f"{OWN}: Too many open files"):
            await links.netns(OWN)
        with pytest.raises(DeviceError, match=f"{OWN}: Too many open files"):
            await links.same_netns(Netns(path=OWN, cookie="4:1"))


async def test_a_namespace_that_is_not_there_is_missed(links: HostLinks) -> None:
    with pytest.raises(FileNotFoundError):
        await links.netns("/run/netns/none")
