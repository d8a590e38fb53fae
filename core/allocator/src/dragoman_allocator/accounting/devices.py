"""The devices that allocation results name, as the scheduler's accounting finds them in the current slices."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman_allocator.allocation.node_match import selector_matches
from dragoman_allocator.errors import AllocatorError, InvalidInput
from dragoman_allocator.objects import Device, DeviceResult, Node, NodeSelector, ResourceSlice


class DeviceGone(AllocatorError):
    """The device of a result is in no slice of the node. Names it."""


class Devices:
    """The devices in the slices that a node sees; in all slices where ``node`` is None."""

    def __init__(self, slices: Iterable[ResourceSlice], node: Node | None = None) -> None:
        self._node = node
        self._pools: dict[tuple[str, str], list[ResourceSlice]] = {}
        for each in slices:
            if node is None or _sees(node, each):
                self._pools.setdefault((each.spec.driver, each.spec.pool.name), []).append(each)

    def find(self, result: DeviceResult) -> Device:
        """Find the first device of that name. Raises ``DeviceGone``, also where it is not for this node."""
        for each in self._pools.get((result.driver, result.pool), ()):
            for device in each.spec.devices or ():
                if device.name == result.device:
                    self._check(each, device)
                    return device
        raise DeviceGone(f"device {result.device} not found in pool {result.pool} for driver {result.driver}")

    def _check(self, part: ResourceSlice, device: Device) -> None:
        if self._node is None or not part.spec.per_device_node_selection:
            return
        if (device.node_name == self._node.metadata.name and device.node_name is not None) or device.all_nodes:
            return
        if not _matches(device.node_selector, self._node):
            raise DeviceGone(f"device {device.name} does not match node")


def _sees(node: Node, part: ResourceSlice) -> bool:
    spec = part.spec
    if spec.node_name is not None and spec.node_name == node.metadata.name:
        return True
    if spec.all_nodes:
        return True
    if spec.node_selector is not None:
        return _matches(spec.node_selector, node)
    return bool(spec.per_device_node_selection)


def _matches(selector: NodeSelector | None, node: Node) -> bool:
    try:
        return selector is not None and selector_matches(selector, node)
    except InvalidInput:
        return False
