"""Device status that a server dropped is told to the next one."""

from __future__ import annotations

import asyncio
import contextlib

from dragoman.engine.reporting import Reporting
from dragoman.kube.client import KubeClient
from dragoman.kube.conditions import TransitionTimes
from dragoman.kube.status import StatusWriter
from dragoman.kube.versions import Versions
from dragoman.model.status import ClaimStatus
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

from .statusclaims import DRIVER, device, make_claim, mine, result


async def test_what_was_dropped_while_the_gate_was_off_is_written_to_the_next_server_by_itself(
    server: ApiServer, client: KubeClient, versions: Versions, clock: VirtualClock
) -> None:
    ref = make_claim(server, result("a"))
    claim = server.get("resourceclaims", "c", "ns")
    server.update_status({**claim, "status": {"allocation": claim["status"]["allocation"]}})
    server.faults.off.add("DRAResourceClaimDeviceStatus")
    writer = StatusWriter(client, versions, clock, TransitionTimes(), driver=DRIVER)
    reporting = Reporting(writer, clock)
    versions.on_other(lambda _api: reporting.hurry())
    running = asyncio.create_task(reporting.run())

    async def make() -> ClaimStatus:
        return ClaimStatus(claim=ref, devices=(device("a"),))

    reporting.report(ref.uid, make)
    async with asyncio.timeout(60):
        while not writer.warning:
            await clock.advance(0.2)
        while reporting.pending:
            await clock.settle()
        asked = len(server.requests)
        await versions.renew()  # the same one
        await clock.advance(600)
        assert len(server.requests) == asked + 2
        server.faults.clear()
        server.server_version = (1, 38)
        await versions.renew()
        await server.until(lambda: mine(server) == ["a"])
        while writer.warning:
            await clock.settle()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert reporting.pending == 0
