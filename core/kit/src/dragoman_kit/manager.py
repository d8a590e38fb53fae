"""``NetdevManager``: base of device managers whose devices are links that go into pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from dragoman_hookspecs import (
    Allocation,
    AttachDevice,
    Attached,
    CheckConfig,
    Context,
    DetachDevice,
    Device,
    DeviceError,
    FreeDevice,
    InvalidConfig,
    Inventory,
    JsonObject,
    Link,
    PlanDevice,
    Prepared,
    Record,
    RecoverDevices,
    Recovered,
    Recovery,
    SetupDevice,
    WatchDevices,
    hookimpl,
)
from dragoman_hookspecs.rules import MTU_MIN_IPV6
from dragoman_kit import identity, links, made, tags
from dragoman_kit.configure import step
from dragoman_kit.events import watch_links
from dragoman_kit.netlink import LinkInfo, Netlink

S = TypeVar("S")


class NetdevManager(Generic[S]):
    """Gives every hook; a subclass says which devices there are and, if it makes links, how.

    A device whose ``link`` is set is a link of the host: it is known by its ``identity``, moved, and brought back. Any
    other device has its link made by ``make_link`` when it is set up and deleted when it is freed; that link carries a
    tag in its alias, and no link without it is ever taken over or deleted.

    ``type`` is the manager's type, the same as in its descriptor: by it, too, the links of two managers are told apart.
    """

    type = ""

    def __init__(self, context: Context, settings: S) -> None:
        if not self.type:
            raise DeviceError(f"manager {type(self).__name__} has no type; give it that of its descriptor")
        self.context = context
        self.settings = settings
        self._owner = tags.owner(context.driver_name, self.type)
        self._set_up: set[str] = set()

    def inventory(self) -> Inventory:
        """Give the complete list of devices. Override this."""
        raise NotImplementedError(f"manager {self.type} has no inventory")

    def make_link(self, netlink: Netlink, name: str, allocation: Allocation) -> None:
        """Make the link of a device on the host, under exactly that name. Override this if links are made.

        It is tagged and given its own name afterwards. What the kernel raises may pass.
        """
        raise DeviceError(f"manager {self.type} has no make_link and makes no link for device {allocation.device.name}")

    def host_name(self, device: Device) -> str:
        """Give the name that a made link has on the host: the attribute ``kernelIfName``, else the device's name."""
        return str(device.attributes.get("kernelIfName") or tags.fitting_name(device.name))

    @hookimpl
    def discover_devices(self) -> Inventory:
        """Give the devices, without those whose link could not be made because a foreign link has its name."""
        inventory = self.inventory()
        with step(f"look for links that are in the way of {self.type} devices"), Netlink() as netlink:
            taken = made.by_name(netlink.links())
        usable = tuple(device for device in inventory.devices if not self._is_blocked(taken, device))
        return replace(inventory, devices=usable)

    @hookimpl
    def watch_devices(self, request: WatchDevices) -> None:
        """Hint at every change of links."""
        watch_links(request.changed, request.stopped)

    @hookimpl
    def check_config(self, request: CheckConfig) -> InvalidConfig | None:
        """Refuse what the kernel would take and then not do."""
        parameters = request.allocation.parameters
        told = (text for route in parameters.routes for text in (route.destination, route.gateway, route.source))
        wants_ipv6 = any(":" in (text or "") for text in (*parameters.addresses, *told))
        if parameters.mtu is not None and parameters.mtu < MTU_MIN_IPV6 and wants_ipv6:
            return InvalidConfig.at("mtu", f"IPv6 needs {MTU_MIN_IPV6} or more, not {parameters.mtu}")
        return None

    @hookimpl
    def plan_device(self, request: PlanDevice) -> JsonObject:
        """Intend a name and a tag for a link that will be made; there is nothing to restore of one that is found."""
        allocation = request.allocation
        if allocation.device.link is not None:
            return {}
        name = self.host_name(allocation.device)
        if allocation.share_id:
            name = tags.fitting_name(name, f"-{tags.digest(allocation.share_id, 6)}")
        return {"name": name, "tag": tags.tag(self._owner, allocation)}

    @hookimpl
    def setup_device(self, request: SetupDevice) -> Prepared:
        """Make the link, or find it."""
        prepared, _ = self._prepare(request.allocation, request.plan)
        return prepared

    @hookimpl
    def attach_device(self, request: AttachDevice) -> Attached:
        """Move the link into the pod and configure it."""
        record = request.record
        prepared = _prepared(record)
        assert isinstance(prepared.target, Link)
        former = record.snapshot or links.snapshot(prepared.target, host=self.context.host)
        attached = links.move_in(former, record.allocation.parameters, request.netns, host=self.context.host)
        return replace(attached, state=prepared.state)

    @hookimpl
    def detach_device(self, request: DetachDevice) -> JsonObject:
        """Bring the link back. ``gone`` in the state tells that it ended with the pod; it is made again when missed."""
        state = {key: value for key, value in _prepared(request.record).state.items() if key != "gone"}
        if request.record.snapshot is None:
            return state
        found = links.move_back(request.record.snapshot, request.netns, host=self.context.host)
        return state if found else {**state, "gone": True}

    @hookimpl
    def free_device(self, request: FreeDevice) -> None:
        """Delete the link if it was made for this allocation."""
        if request.record.allocation.device.link is None:
            tag = tags.tag(self._owner, request.record.allocation)
            made.remove(tag)
            self._set_up.discard(tag)

    @hookimpl
    def recover_devices(self, request: RecoverDevices) -> Sequence[Recovered]:
        """Make missing links again; at start, delete those of ours that no record names."""
        if request.complete:
            self._set_up |= {tags.tag(self._owner, record.allocation) for record in request.records}
            # The set itself, which grows before a link is made: another call may set one up now.
            for name in made.prune(self._owner, self._set_up):
                self.context.logger.warning("link %s of a claim that is no longer known was deleted", name)
        with step(f"look for the links of {self.type} devices"), Netlink() as netlink:
            present = made.by_name(netlink.links())
        return [self._recover(record, present) for record in request.records]

    def _prepare(self, allocation: Allocation, plan: JsonObject) -> tuple[Prepared, bool]:
        """Prepare a device; tell too whether a link had to be made."""
        device = allocation.device
        if device.link is not None:
            with step(f"look for link {device.link}"), Netlink() as netlink:
                found = identity.require(netlink, device.identity, device.link)
            return Prepared(target=Link(name=found.name, identity=device.identity)), False
        plan = plan or self.plan_device(PlanDevice(allocation=allocation))
        name, tag = plan["name"], plan["tag"]
        self._set_up.add(tag)
        was_made = made.ensure(name, tag, lambda netlink, staging: self.make_link(netlink, staging, allocation))
        return Prepared(state=plan, target=Link(name=name, identity=identity.of_tag(tag))), was_made

    def _recover(self, record: Record, present: Mapping[str, LinkInfo]) -> Recovered:
        # One that is or may be inside a pod cannot be seen by this thread; core verifies that by itself.
        away = record.attached is not None or record.snapshot is not None
        if away or _is_there(record, present):
            return Recovered(outcome=Recovery.INTACT)
        try:
            prepared, was_made = self._prepare(record.allocation, record.plan)
        except DeviceError as error:
            return Recovered(outcome=Recovery.LOST, message=str(error))
        if was_made or prepared != record.prepared:
            return Recovered(outcome=Recovery.RESTORED, prepared=prepared)
        return Recovered(outcome=Recovery.INTACT)

    def _is_blocked(self, taken: Mapping[str, LinkInfo], device: Device) -> bool:
        if device.link is not None or device.allow_multiple_allocations:
            return False
        link = taken.get(self.host_name(device))
        if link is None or made.is_of(self._owner, link):
            return False
        self.context.logger.warning(
            "device %s is not offered: link %s exists and is not ours; rename it", device.name, self.host_name(device)
        )
        return True


def _is_there(record: Record, present: Mapping[str, LinkInfo]) -> bool:
    """Tell whether the link is on the host under the name that was prepared."""
    prepared = record.prepared
    if prepared is None or not isinstance(prepared.target, Link) or "gone" in prepared.state:
        return False
    link = present.get(prepared.target.name)
    return link is not None and link.name == prepared.target.name and identity.is_surely(prepared.target.identity, link)


def _prepared(record: Record) -> Prepared:
    if record.prepared is None:
        raise DeviceError(f"device {record.allocation.device.name} was never set up")
    return record.prepared
