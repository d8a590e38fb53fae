"""Device manager for dummy links: ``dummy0``, ``dummy1``, … made when a claim is prepared, deleted when it is freed."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import Allocation, Device, DeviceManager, InvalidConfig, Inventory, Match
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink


@dataclass(frozen=True, slots=True, kw_only=True)
class DummySettings:
    """``count``: how many devices. ``linkKind``: the kind of link, for kernels that have no dummy links."""

    count: int = 0
    link_kind: str = "dummy"

    def __post_init__(self) -> None:
        if self.count < 0:
            raise InvalidConfig.at("count", f"must be 0 or more, not {self.count}")


class Dummy(NetdevManager[DummySettings]):
    """The devices are fixed by the settings; only their links come and go."""

    type = "dummy"

    def inventory(self) -> Inventory:
        """Give ``count`` devices."""
        return Inventory(devices=tuple(_device(f"dummy{index}") for index in range(self.settings.count)))

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        """Add a link of the configured kind."""
        netlink.add_link(name, self.settings.link_kind)


def _device(name: str) -> Device:
    return Device(
        name=name,
        identity=f"tag:{Dummy.type}/{name}",
        attributes={"ifName": name, "kernelIfName": name},
        filter_values={"ifNames": name, "pfNames": Match.ALWAYS},
    )


plugin = DeviceManager(type=Dummy.type, settings_key="dummy", settings=DummySettings, create=Dummy)
