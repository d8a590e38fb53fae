"""When each condition last changed: ``lastTransitionTime`` must not move while the status stays the same.

Server-side apply sends conditions whole and reads nothing, so the times are kept here. They come from the read at
prepare, from own writes, and after a restart from one read before the first write of a claim.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

_CLAIMS = 1024
"""Claims that are remembered; the least recently used is forgotten and costs one read when it is written again."""

EntryKey = tuple[str, str, str, str]
"""Driver, pool, device and share id ("" for none)."""


def entry_key(entry: Mapping[str, Any]) -> EntryKey:
    """Give the map key of an entry of ``status.devices``."""
    driver, pool, device, share = (str(entry.get(name) or "") for name in ("driver", "pool", "device", "shareID"))
    return driver, pool, device, share


class TransitionTimes:
    """Per claim UID: (entry, condition type) to (status, time)."""

    def __init__(self) -> None:
        self._claims: OrderedDict[str, dict[tuple[EntryKey, str], tuple[str, str]]] = OrderedDict()

    def knows(self, uid: str) -> bool:
        """Whether anything was learnt of the claim, be it that it has no entries."""
        return uid in self._claims

    def learn(self, uid: str, entries: Iterable[Mapping[str, Any]]) -> None:
        """Remember the conditions of a claim's entries, as the API has them."""
        self._claims[uid] = {
            (entry_key(entry), str(condition.get("type"))): (
                str(condition.get("status")),
                str(condition.get("lastTransitionTime") or ""),
            )
            for entry in entries
            for condition in entry.get("conditions") or ()
        }
        self._claims.move_to_end(uid)
        if len(self._claims) > _CLAIMS:
            self._claims.popitem(last=False)

    def time_of(self, uid: str, entry: EntryKey, kind: str, status: str, now: str) -> str:
        """Give the time since which the condition has this status."""
        known = self._claims.get(uid, {}).get((entry, kind))
        return known[1] if known is not None and known[0] == status and known[1] else now

    def forget(self, uid: str) -> None:
        """Forget a claim."""
        self._claims.pop(uid, None)
