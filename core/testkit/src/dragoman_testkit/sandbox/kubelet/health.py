"""Health of devices as the kubelet remembers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from dragoman.clock import Clock

STATES: Final = ("Unknown", "Healthy", "Unhealthy")
UNKNOWN: Final = ("Unknown", "")
MESSAGE_LIMIT: Final = 1024

Device = tuple[str, str, str]
"""Driver, pool and device: shares of a device have one health."""


@dataclass(frozen=True, slots=True)
class _Report:
    state: str
    message: str
    deadline: float


class HealthCache:
    """The last report of each device. Age counts from its receipt; one that is too old reads as unknown.

    Unlike the kubelet's it is not kept over a restart, when every stream sends all devices anew.
    """

    def __init__(self, clock: Clock, default_timeout: float) -> None:
        self._clock = clock
        self._default = default_timeout
        self._reports: dict[Device, _Report] = {}

    def update(self, driver: str, response: Any) -> None:
        """Take a message of the stream; devices that it leaves out keep what they have."""
        for item in response.devices:
            timeout = item.health_check_timeout_seconds
            timeout = timeout if timeout > 0 else self._default
            state = STATES[item.health] if item.health < len(STATES) else "Unknown"
            report = _Report(state, item.message[:MESSAGE_LIMIT], self._clock.monotonic() + timeout)
            self._reports[driver, item.device.pool_name, item.device.device_name] = report

    def clear(self, driver: str) -> None:
        """Forget a driver's devices."""
        self._reports = {device: report for device, report in self._reports.items() if device[0] != driver}

    def read(self, device: Device) -> tuple[str, str]:
        """Give state and message of a device now."""
        report = self._reports.get(device)
        if report is None or self._clock.monotonic() > report.deadline:
            return UNKNOWN
        return report.state, report.message

    def __iter__(self) -> Iterator[Device]:
        return iter(self._reports)
