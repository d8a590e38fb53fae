"""The health services v1 and v1alpha1: equal payloads, one watch of the source for each stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any, Final

from loguru import logger

from dragoman.clock import Clock
from dragoman.kubelet._proto import health_v1_pb2, health_v1alpha1_pb2
from dragoman.kubelet.observed import within
from dragoman.kubelet.ports import HealthSource
from dragoman.kubelet.rpc import Handler, clean, service
from dragoman_hookspecs import Health, HealthReport

HEALTH_VERSIONS: Final = ("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")
MESSAGE_BYTES: Final = 1024
"""The API's limit of a message."""
TIMEOUT_LIMIT: Final = 2**31 - 1
RETRY_SECONDS: Final = 5.0

_STATES: Final = {
    Health.HEALTHY: health_v1_pb2.HEALTHY,
    Health.UNHEALTHY: health_v1_pb2.UNHEALTHY,
    Health.UNKNOWN: health_v1_pb2.UNKNOWN,
}


def health_services(source: HealthSource, pool: str, clock: Clock, ending: asyncio.Event) -> list[Handler]:
    """Make both services. All devices are of the node's one pool. Streams end by themselves when ``ending`` is set."""
    return [
        _HealthStreams(messages, source, pool, clock, ending).handler()
        for messages in (health_v1_pb2, health_v1alpha1_pb2)
    ]


class _HealthStreams:
    """One version."""

    def __init__(self, messages: Any, source: HealthSource, pool: str, clock: Clock, ending: asyncio.Event) -> None:
        self._messages = messages
        self._source = source
        self._pool = pool
        self._clock = clock
        self._ending = ending

    def handler(self) -> Handler:
        return service(self._messages.DESCRIPTOR, "DRAResourceHealth", {"NodeWatchResources": self._watch})

    async def _watch(self, _request: Any, _context: Any) -> AsyncIterator[Any]:
        """Stream until the kubelet cancels. A stream that ends makes every device of the driver unknown.

        So a source that ends or fails is asked again; meanwhile the devices age to unknown, each in its own time.
        """
        while not self._ending.is_set():
            try:
                async with aclosing(self._source.watch()) as lists:  # type: ignore[type-var]  # sources are generators
                    while (reports := await self._next(lists)) is not None:
                        yield self._response(reports)
            except Exception:  # noqa: BLE001 - whatever the source raises, the stream must stay open
                logger.exception("the health source failed; it is asked again")
            await within(self._clock, RETRY_SECONDS, self._ending.wait())

    async def _next(self, lists: AsyncIterator[Sequence[HealthReport]]) -> Sequence[HealthReport] | None:
        """Give the next list; None where there is none, or the agent ends."""
        following = asyncio.ensure_future(anext(lists, None))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait({following, ending}, return_when=asyncio.FIRST_COMPLETED)
            return following.result() if following.done() else None
        finally:
            for task in (following, ending):
                task.cancel()
            await asyncio.gather(following, ending, return_exceptions=True)

    def _response(self, reports: Sequence[HealthReport]) -> Any:
        now = int(self._clock.now())
        return self._messages.NodeWatchResourcesResponse(devices=[self._device(report, now) for report in reports])

    def _device(self, report: HealthReport, now: int) -> Any:
        return self._messages.DeviceHealth(
            device=self._messages.DeviceIdentifier(pool_name=self._pool, device_name=report.device),
            health=_STATES[report.health],
            last_updated_time=now,
            health_check_timeout_seconds=timeout_seconds(report.timeout),
            message=short_message(report.message),
        )


def timeout_seconds(timeout: float) -> int:
    """Give whole seconds of at least 1: 0 would mean the kubelet's default of 30."""
    return int(min(TIMEOUT_LIMIT, max(1, timeout)))


def short_message(message: str) -> str:
    """Cut a message to the API's limit, at a character: the kubelet would cut inside one."""
    text = clean(message)
    if len(text.encode()) <= MESSAGE_BYTES:
        return text
    return text.encode()[: MESSAGE_BYTES - 3].decode(errors="ignore") + "..."
