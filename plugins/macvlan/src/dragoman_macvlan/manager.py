"""The macvlan manager: devices of each parent that exists, links made when a claim is prepared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dragoman_hookspecs import (
    Allocation,
    Capacity,
    Device,
    DeviceError,
    Inventory,
    JsonObject,
    Match,
    PlanDevice,
    RequestPolicy,
    hookimpl,
)
from dragoman_kit.configure import step
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from dragoman_kit.tags import device_name, fitting_name
from dragoman_macvlan.settings import Iface, MacvlanSettings

CAPACITY = "links"


class Macvlan(NetdevManager[MacvlanSettings]):
    """Parents are looked for at each scan; one that is missing costs its own devices only."""

    type = "macvlan"

    def inventory(self) -> Inventory:
        """Give the devices of the parents that exist now."""
        found = []
        with step("look for the parents of macvlan links"), Netlink() as netlink:
            for iface in self.settings.ifaces:
                if netlink.link(iface.parent_if_name):
                    found += list(_devices(iface))
                else:
                    self.context.logger.warning(
                        "macvlan devices on %s are not offered: there is no such link", iface.parent_if_name
                    )
        return Inventory(devices=tuple(found))

    @hookimpl
    def plan_device(self, request: PlanDevice) -> JsonObject:
        """Plan as for any link that is made, if the kernel will take its MTU, which the parent's bounds."""
        allocation, mtu = request.allocation, request.allocation.parameters.mtu
        name = str(allocation.device.attributes["parentIfName"])
        if mtu is not None:
            with step(f"look for the parent of device {allocation.device.name}"), Netlink() as netlink:
                parent = netlink.link(name)
            if parent is not None and mtu > parent.mtu:
                raise DeviceError(
                    f"device {allocation.device.name} cannot have an MTU of {mtu}: that of its parent {name} is "
                    f"{parent.mtu}; lower mtu in the parameters or raise it on the parent"
                )
        return super().plan_device(request)

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        """Add a macvlan link on the device's parent."""
        attributes = allocation.device.attributes
        parent = netlink.link(str(attributes["parentIfName"]))
        if parent is None:
            raise DeviceError(
                f"device {allocation.device.name} cannot be set up: its parent {attributes['parentIfName']} is missing"
            )
        netlink.add_link(name, "macvlan", link=parent.index, macvlan_mode=attributes["mode"])


def _devices(iface: Iface) -> Iterator[Device]:
    if not iface.shared:
        for index in range(iface.count):
            suffix = f"-mv{index}"
            yield _device(iface, suffix, {"kernelIfName": fitting_name(iface.parent_if_name, suffix)})
    elif iface.count:
        capacity = Capacity(value=str(iface.count), policy=RequestPolicy(default="1", valid_values=("1",)))
        yield replace(_device(iface, "-mv", {}), capacity={CAPACITY: capacity}, allow_multiple_allocations=True)


def _device(iface: Iface, suffix: str, kernel_name: Mapping[str, str]) -> Device:
    name = device_name(iface.parent_if_name, suffix)
    parent = iface.parent_if_name
    return Device(
        name=name,
        identity=f"tag:{Macvlan.type}/{name}",
        attributes={"ifName": name, "parentIfName": parent, "mode": iface.mode, **kernel_name},
        filter_values={
            "ifNames": frozenset({name, *kernel_name.values()}),
            "pfNames": Match.ALWAYS,
            "parentIfNames": parent,
        },
    )
