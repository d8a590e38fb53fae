"""Where nodes are made: a network namespace of its own, with an uplink."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager

from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns
from dragoman_testkit.sandbox import kernel
from tests.e2e.trial import UPLINK, MakeTrial, trials


@asynccontextmanager
async def workplace() -> AsyncIterator[MakeTrial]:
    """Make nodes in a network namespace that is the host's as long as this lasts."""
    loop = asyncio.get_running_loop()
    with netns.private_host():
        with Netlink() as host:
            host.set_link(1, up=True)  # lo: the API server listens there
        # Threads stay in the namespace in which they were started.
        loop.set_default_executor(executor := ThreadPoolExecutor())
        async with AsyncExitStack() as stack:
            yield trials(stack, kernel.furnish((UPLINK,)))
        loop.set_default_executor(ThreadPoolExecutor())
        executor.shutdown()
