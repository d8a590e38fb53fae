"""What constraints compare of devices, in words."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_allocator.allocation.attributes import Value
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.prepare import Library
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.objects import Attribute, ResourceClaim
from dragoman_allocator.reasons.model import RequestReasons
from dragoman_allocator.reasons.survey import parts

_SHOWN = 4


class Values:
    """Values of the devices of one node."""

    def __init__(self, library: Library, view: NodeView | None) -> None:
        """``view`` is None where the node has none: then there are no devices either."""
        self._library = library
        self._devices = {device.id: device for device, _ in view.candidates} if view is not None else {}

    def of(self, claim: ResourceClaim, request: RequestReasons, attribute: str) -> list[str]:
        """Give values of devices that fit the request alone, the last one as dots if there are many.

        A request that derives the attribute compares what it derives, whatever devices publish (KEP-6080).
        """
        derived = _derived(claim, request.request)
        texts: dict[str, None] = {}
        for each in request.devices:
            if not each.findings:
                device = self._devices[each.device]
                if attribute in derived:
                    texts.update(dict.fromkeys(_compared(self._library.look(attribute, derived)(device))))
                else:
                    texts.update(dict.fromkeys(_published(device, attribute)))
        found = sorted(texts)
        return found if len(found) <= _SHOWN else [*found[:_SHOWN], "…"]

    def shareable(self, request: RequestReasons) -> bool:
        """Tell whether several requests may take one of the devices that fit the request alone."""
        return any(self._devices[each.device].shareable for each in request.devices if not each.findings)


def _derived(claim: ResourceClaim, request: str) -> dict[str, str]:
    return {
        attribute.name: attribute.expression
        for each in claim.spec.devices.requests or ()
        for name, part in parts(each)
        if name == request
        for attribute in part.derived_attributes or ()
    }


def _compared(value: Value | None) -> Iterator[str]:
    if isinstance(value, tuple):
        several = value[1] if isinstance(value[1], frozenset) else (value[1],)
        yield from map(str, several)


def _published(device: DeviceRecord, attribute: str) -> Iterator[str]:
    domain, _, bare = attribute.partition("/")
    held = device.spec.attributes or {}
    value = held.get(attribute) or (held.get(bare) if domain == device.id[0] else None) or Attribute()
    for each in (value.string, value.int_, value.bool_, value.version):
        if each is not None:
            yield str(each)
    for several in (value.strings, value.ints, value.bools, value.versions):
        yield from map(str, several or ())
