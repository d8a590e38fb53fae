"""What constraints compare of devices, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from dragoman_allocator.allocation.attributes import UNKNOWN, Value
from dragoman_allocator.allocation.prepare import Library
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.objects import ResourceClaim
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

        The kind follows a value that looks like one of another kind, for these two do not match. A request that
        derives the attribute compares what it derives, whatever devices publish (KEP-6080).
        """
        look = self._library.look(attribute, _derived(claim, request.request))
        found: set[tuple[str, str]] = set()
        for each in request.devices:
            if not each.findings:
                with suppress(AllocationFailed):  # it fits, so that only another request of that name derives this
                    found.update(_pairs(look(self._devices[each.device])))
        kinds = Counter(text for text, _ in found)
        texts = [f"{text} ({kind})" if kinds[text] > 1 else text for text, kind in sorted(found)]
        return texts if len(texts) <= _SHOWN else [*texts[:_SHOWN], "…"]

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


def _pairs(value: Value | None) -> Iterator[tuple[str, str]]:
    """Give text and kind of what is compared."""
    if value == UNKNOWN:
        yield "a list", UNKNOWN  # with lists off, the one kind of value that a server stores and nothing equals
    elif isinstance(value, tuple):
        for each in value[1] if isinstance(value[1], frozenset) else (value[1],):
            yield str(each).lower() if isinstance(each, bool) else str(each), value[0]
