"""The unhealthy devices, kept in the ledger's facts: a restart does not take their taints away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from loguru import logger

from dragoman_hookspecs import Health, HealthReport

_KEY = "unhealthy devices"


class _Entry(msgspec.Struct):
    manager: str
    device: str
    message: str
    timeout: float


class KeptReports:
    """Satisfies the health board's ``LastReports`` over ``Ledger.meta`` and ``Ledger.set_meta``."""

    def __init__(self, meta: Callable[[str], str | None], set_meta: Callable[[str, str], None]) -> None:
        self._meta = meta
        self._set_meta = set_meta

    def load(self) -> Sequence[tuple[str, HealthReport]]:
        """Give what was saved last, by manager; nothing where it cannot be read any more."""
        try:
            entries = msgspec.json.decode(self._meta(_KEY) or "[]", type=list[_Entry])
        except msgspec.MsgspecError as error:
            logger.warning("the last unhealthy devices cannot be read: {}", error)
            return []
        return [
            (
                entry.manager,
                HealthReport(
                    device=entry.device, health=Health.UNHEALTHY, message=entry.message, timeout=entry.timeout
                ),
            )
            for entry in entries
        ]

    def save(self, reports: Sequence[tuple[str, HealthReport]]) -> None:
        """Keep the reports of unhealthy devices, by manager."""
        entries = [_Entry(manager, report.device, report.message, report.timeout) for manager, report in reports]
        self._set_meta(_KEY, msgspec.json.encode(entries).decode())
