"""What the parts of the contract suite share: the host, a life of the manager on it, records, and pods."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dragoman_hookspecs import DeviceManager, Link, Parameters, Record
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns as namespaces
from dragoman_testkit.bench import Bench, allocate
from dragoman_testkit.netns import Pod

FOREIGN_MAC = "02:00:00:00:f0:01"


class Ground:
    """What a manager's tests stand on. ``limit`` is the time that each hook may take, in seconds."""

    descriptor: ClassVar[DeviceManager]
    limit: ClassVar[float] = 30.0

    def settings(self) -> object:
        """Give settings with which there is at least one device. Override where the defaults have none."""
        return self.descriptor.settings()

    def prepare_host(self, netlink: Netlink) -> None:
        """Make what the manager needs on the host, such as a parent link. Override where it needs something."""

    def parameters(self) -> Parameters:
        """Give parameters that the devices take: those of their own as they are by default. Override for others."""
        own = self.descriptor.parameters() if self.descriptor.parameters else None
        return Parameters(pod_if_name="net1" if "podIfName" in self.descriptor.applies else None, own=own)

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        """A life of the manager on a private host."""
        with namespaces.private_host(), Netlink() as netlink:
            self.prepare_host(netlink)
            yield self.life(tmp_path)

    @pytest.fixture
    def pod(self, bench: Bench) -> Iterator[Pod]:
        """A namespace that is a pod's."""
        del bench
        with namespaces.pod() as made:
            yield made

    @pytest.fixture
    def prepared(self, bench: Bench) -> Record:
        """The first device, prepared."""
        return bench.prepare(allocate(bench.scan().devices[0], self.parameters()))

    @pytest.fixture
    def movable(self, prepared: Record) -> Record:
        """The first device, prepared, if it is a link that is moved."""
        if not isinstance(target(prepared), Link):
            pytest.skip("no link of this manager is moved into a pod")
        return prepared

    def life(self, folder: Path) -> Bench:
        """Begin a new life of the manager, as after a restart of the agent: made anew and started."""
        return Bench.of(self.descriptor, self.settings(), folder, self.limit)

    def two(self, bench: Bench) -> tuple[Record, Record]:
        """Prepare two devices, or two shares of one."""
        devices = bench.scan().devices
        if len(devices) < 2 and not devices[0].allow_multiple_allocations:
            pytest.skip("there is one device only")
        allocations = (
            allocate(device, self.parameters(), number) for number, device in zip((0, 1), devices * 2, strict=False)
        )
        first, second = (bench.prepare(allocation) for allocation in allocations)
        return first, second


def target(record: Record) -> object:
    """Give what attach would act on."""
    assert record.prepared is not None
    return record.prepared.target


def target_link(record: Record) -> Link:
    """Give the link that attach would move."""
    link = target(record)
    assert isinstance(link, Link)
    return link


def without_index(links: Any) -> dict[str, tuple[object, ...]]:
    """Leave out the indexes: the kernel may number a link anew when it comes back."""
    return {name: values[1:] for name, values in links.items()}
