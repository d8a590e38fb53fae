"""Device manager for ports of a host bridge: each claim gets a veth link whose other end is plugged into the bridge."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import Allocation, Device, DeviceError, DeviceManager, InvalidConfig, Inventory
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from dragoman_kit.tags import device_name


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSettings:
    """``bridge``: name of the bridge on the host. ``ports``: how many ports it has for claims."""

    bridge: str
    ports: int = 4

    def __post_init__(self) -> None:
        if self.ports < 0:
            raise InvalidConfig.at("ports", f"must be 0 or more, not {self.ports}")


class Ports(NetdevManager[PortSettings]):
    """The devices are fixed by the settings; a link lives from the prepare of a claim until it is freed."""

    type = "bridge-port"

    def inventory(self) -> Inventory:
        """Give all ports, if the bridge exists."""
        with Netlink() as netlink:
            ports = range(self.settings.ports if netlink.link(self.settings.bridge) else 0)
        names = (device_name(self.settings.bridge, f"-port{number}") for number in ports)
        return Inventory(devices=tuple(map(self.port, names)))

    def port(self, name: str) -> Device:
        """Describe one port: what selectors of a DeviceClass see, and the filter fields of a pool."""
        bridge = self.settings.bridge
        return Device(
            name=name,
            identity=f"tag:{self.type}/{name}",
            attributes={"ifName": name, "bridge": bridge},
            filter_values={"ifNames": name, "parentIfNames": bridge},
        )

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        """Add a veth link called ``name``; its other end, which the kernel names, goes into the bridge."""
        bridge = netlink.link(self.settings.bridge)
        if bridge is None:
            raise DeviceError(f"device {allocation.device.name} needs bridge {self.settings.bridge}: add it")
        netlink.add_link(name, "veth")
        link = netlink.link(name)
        if link and link.lower:
            netlink.set_link(link.lower, master=bridge.index, up=True)


plugin = DeviceManager(type=Ports.type, settings_key="bridgePort", settings=PortSettings, create=Ports)
