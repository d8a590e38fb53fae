"""The last device list of each manager, kept in the ledger's facts.

After a restart a manager whose first scan fails still has the devices that it had: nothing is withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from loguru import logger

from dragoman.store import codec
from dragoman_hookspecs import CounterSet, Device, Inventory

_KEY = "devices of "


class _Document(msgspec.Struct):
    devices: list[msgspec.Raw]
    counter_sets: list[msgspec.Raw] = []
    partition_type_attribute: str | None = None


class KeptLists:
    """Satisfies the inventory's ``LastLists`` over ``Ledger.meta`` and ``Ledger.set_meta``."""

    def __init__(self, meta: Callable[[str], str | None], set_meta: Callable[[str, str], None]) -> None:
        self._meta = meta
        self._set_meta = set_meta

    def load(self, manager: str) -> Inventory | None:
        """Give the list that was saved last; None where there is none, or where it cannot be read any more."""
        text = self._meta(_KEY + manager)
        if text is None:
            return None
        try:
            document = msgspec.json.decode(text, type=_Document)
            return Inventory(
                devices=tuple(codec.load(Device, bytes(item)) for item in document.devices),
                counter_sets=tuple(codec.load(CounterSet, bytes(item)) for item in document.counter_sets),
                partition_type_attribute=document.partition_type_attribute,
            )
        except (msgspec.MsgspecError, codec.Malformed) as error:
            logger.bind(plugin=manager).warning("the last list of manager {} cannot be read: {}", manager, error)
            return None

    def save(self, manager: str, listing: Inventory) -> None:
        """Keep a list. Raises ``NotStorable``."""
        document = _Document(
            devices=[msgspec.Raw(codec.dump(device)) for device in listing.devices],
            counter_sets=[msgspec.Raw(codec.dump(item)) for item in listing.counter_sets],
            partition_type_attribute=listing.partition_type_attribute,
        )
        self._set_meta(_KEY + manager, msgspec.json.encode(document).decode())
