"""Hooks that take too long: what is told, who waits, and who does not notice."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest
from loguru import logger

from dragoman.hooks import PluginTimeout
from dragoman.plugins import PluginState
from dragoman_hookspecs import Netns, Prepared

NETNS = Netns(path="/run/netns/x", cookie="1:2")


async def left_behind(node: Any, gate: Any, allocation: Any, plugin: str = "dummy") -> None:
    """Have a setup of the device hang past its limit."""
    node.script(plugin, "setup_device", gate)
    with pytest.raises(PluginTimeout):
        await node.hooks.setup_device(plugin, allocation, {})
    await gate.entered()


async def test_a_call_past_its_limit_names_plugin_hook_device_and_claim(make: Any, gate: Any, alloc: Any) -> None:
    node = make(dummy="plain", setup_device=0.05)
    node.script("dummy", "setup_device", gate)
    with pytest.raises(PluginTimeout) as caught:
        await node.hooks.setup_device("dummy", alloc("dev0"), {})
    for part in ("setup_device", "plugin dummy of dragoman-dummy 0", "device dev0", "ns/claim (uid-1)", "0.05 s"):
        assert part in str(caught.value)


async def test_the_device_of_a_call_that_hangs_takes_no_other_call(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="full", concurrent=2, setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    calls = node.objects["dummy"].calls
    before = len(calls)
    for call in (
        node.hooks.setup_device("dummy", alloc("dev0"), {}),
        node.hooks.plan_device("dummy", alloc("dev0", claim="other")),
        node.hooks.attach_device("dummy", record("dev0"), NETNS),
        node.hooks.recover_devices("dummy", [record("dev0")]),
    ):
        with pytest.raises(PluginTimeout, match=r"setup_device for device dev0 .* has not returned yet"):
            await call
    assert len(calls) == before


async def test_other_devices_of_a_concurrent_plugin_are_served_beside_a_call_that_hangs(
    make: Any, gate: Any, alloc: Any
) -> None:
    node = make(dummy="full", concurrent=2, setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    assert await node.hooks.plan_device("dummy", alloc("dev1")) == {"planned": True}
    assert await node.hooks.plan_device("dummy", alloc("dev0", share_id="s1")) == {"planned": True}


async def test_other_devices_of_a_plugin_with_one_thread_are_told_what_it_is_busy_with(
    make: Any, gate: Any, alloc: Any
) -> None:
    node = make(dummy="full", setup_device=0.05, queue=0.05)
    await left_behind(node, gate, alloc("dev0"))
    with pytest.raises(
        PluginTimeout, match=r"did not begin within 0\.05 s: the plugin is busy with setup_device for device dev0"
    ):
        await node.hooks.plan_device("dummy", alloc("dev1"))
    gate.open()
    assert await node.hooks.plan_device("dummy", alloc("dev1")) == {"planned": True}
    planned = [request.allocation.device.name for hook, request in node.objects["dummy"].calls if hook == "plan_device"]
    assert planned == ["dev1"], "the call that was given up in the queue must never run"


async def test_another_plugin_does_not_notice_one_that_hangs(make: Any, gate: Any, alloc: Any) -> None:
    node = make(bad="plain", good="full", setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"), "bad")
    assert await node.hooks.plan_device("good", alloc("dev0")) == {"planned": True}


async def test_a_scan_does_not_wait_for_a_call_that_hangs_nor_a_call_for_a_scan(
    make: Any, gate: Any, alloc: Any
) -> None:
    node = make(dummy="plain", discover_devices=0.05)
    node.script("dummy", "discover_devices", gate)
    with pytest.raises(PluginTimeout):
        await node.hooks.discover_devices("dummy")
    assert await node.hooks.setup_device("dummy", alloc(), {}) == Prepared()
    with pytest.raises(PluginTimeout, match="discover_devices has not returned yet"):
        await node.hooks.discover_devices("dummy")


@pytest.mark.parametrize("concurrent", [1, 4])
async def test_free_and_detach_wait_until_the_call_that_hangs_has_returned(
    concurrent: int, make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="plain", concurrent=concurrent, setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    waiting = [
        asyncio.create_task(node.hooks.detach_device("dummy", record("dev0"), None)),
        asyncio.create_task(node.hooks.free_device("dummy", record("dev0"))),
    ]
    await asyncio.sleep(0)
    calls = node.objects["dummy"].calls
    assert [hook for hook, _ in calls] == ["setup_device"]
    gate.open()
    assert await asyncio.gather(*waiting) == [{}, None]
    assert [hook for hook, _ in calls] == ["setup_device", "detach_device", "free_device"]


async def test_free_gives_up_when_the_call_that_hangs_does_not_return(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="plain", setup_device=0.05, free_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    with pytest.raises(PluginTimeout, match=r"free_device .* must wait: setup_device"):
        await node.hooks.free_device("dummy", record("dev0"))


async def test_a_call_that_returned_late_sets_its_device_free_and_is_logged(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    lines: list[str] = []
    sink = logger.add(lambda message: lines.append(message.record["message"]), level="WARNING")
    node = make(dummy="full", setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    gate.open()
    await node.hooks.free_device("dummy", record("dev0"))
    assert await node.hooks.plan_device("dummy", alloc("dev0")) == {"planned": True}
    logger.remove(sink)
    assert any("setup_device for device dev0" in line and "its result is dropped" in line for line in lines)


async def test_a_plugin_shows_as_degraded_with_the_call_that_hangs_until_it_returns(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="plain", setup_device=0.05)
    await left_behind(node, gate, alloc("dev0"))
    (status,) = node.hooks.statuses()
    assert status.state is PluginState.DEGRADED
    assert status.reason == "setup_device for device dev0 of claim ns/claim (uid-1) has not returned yet"
    gate.open()
    await node.hooks.free_device("dummy", record("dev0"))
    assert [status.state for status in node.hooks.statuses()] == [PluginState.LOADED]


async def test_many_calls_leave_no_thread_no_key_and_no_memory_behind(make: Any, alloc: Any, record: Any) -> None:
    node = make(dummy="plain", concurrent=2)

    async def churn(rounds: int) -> None:
        node.objects["dummy"].calls.clear()
        for number in range(rounds):
            await node.hooks.setup_device("dummy", alloc(f"dev{number}", claim=f"uid-{number}"), {})
            await node.hooks.free_device("dummy", record(f"dev{number}", claim=f"uid-{number}"))
        node.objects["dummy"].calls.clear()

    await churn(50)
    threads = set(threading.enumerate())
    gc.collect()
    objects = len(gc.get_objects())
    await churn(1000)
    gc.collect()
    assert set(threading.enumerate()) <= threads
    assert len(gc.get_objects()) - objects < 500


async def test_two_calls_for_one_device_never_overlap(make: Any, gate: Any, alloc: Any) -> None:
    node = make(dummy="full", concurrent=4)
    node.script("dummy", "setup_device", gate)
    first = asyncio.create_task(node.hooks.setup_device("dummy", alloc("dev0"), {}))
    await gate.entered()
    second = asyncio.create_task(node.hooks.plan_device("dummy", alloc("dev0")))
    assert await node.hooks.plan_device("dummy", alloc("dev1")) == {"planned": True}
    assert not second.done()
    gate.open()
    await first
    assert await second == {"planned": True}


async def test_a_call_that_waits_for_its_device_hears_at_once_that_the_earlier_one_hangs(
    make: Any, gate: Any, alloc: Any
) -> None:
    node = make(dummy="full", concurrent=2, setup_device=0.1, queue=60.0)
    node.script("dummy", "setup_device", gate)
    first = asyncio.create_task(node.hooks.setup_device("dummy", alloc("dev0"), {}))
    await gate.entered()
    with pytest.raises(PluginTimeout, match="must wait: setup_device"):
        await node.hooks.plan_device("dummy", alloc("dev0"))
    with pytest.raises(PluginTimeout):
        await first


async def test_a_cancelled_waiter_leaves_the_call_behind(make: Any, gate: Any, alloc: Any, record: Any) -> None:
    node = make(dummy="plain")
    node.script("dummy", "setup_device", gate)
    task = asyncio.create_task(node.hooks.setup_device("dummy", alloc("dev0"), {}))
    await gate.entered()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(PluginTimeout, match="has not returned yet"):
        await node.hooks.setup_device("dummy", alloc("dev0"), {})
    freeing = asyncio.create_task(node.hooks.free_device("dummy", record("dev0")))
    gate.open()
    await freeing
    assert [hook for hook, _ in node.objects["dummy"].calls] == ["setup_device", "free_device"]


async def test_a_waiter_cancelled_in_the_queue_takes_its_call_along(
    make: Any, gate: Any, alloc: Any, record: Any
) -> None:
    node = make(dummy="full")
    node.script("dummy", "setup_device", gate)
    running = asyncio.create_task(node.hooks.setup_device("dummy", alloc("dev0"), {}))
    await gate.entered()
    queued = asyncio.create_task(node.hooks.plan_device("dummy", alloc("dev1")))
    await asyncio.sleep(0)
    queued.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await queued
    gate.open()
    await running
    await node.hooks.free_device("dummy", record("dev1"))
    assert [hook for hook, _ in node.objects["dummy"].calls] == ["setup_device", "free_device"]


async def test_the_time_in_the_queue_does_not_count_toward_the_limit_of_a_call(
    make: Any, gate: Any, alloc: Any
) -> None:
    node = make(dummy="full", plan_device=0.5)
    node.script("dummy", "setup_device", gate)
    running = asyncio.create_task(node.hooks.setup_device("dummy", alloc("dev0"), {}))
    await gate.entered()
    planning = asyncio.create_task(node.hooks.plan_device("dummy", alloc("dev1")))
    done, _ = await asyncio.wait([planning], timeout=0.7)
    assert not done
    gate.open()
    await running
    assert await planning == {"planned": True}


async def test_calls_that_were_given_up_leave_no_thread_behind(make: Any, gate: Any, alloc: Any) -> None:
    node = make(dummy="full", setup_device=0.05, queue=0.01)
    await left_behind(node, gate, alloc("dev0"))
    before = set(threading.enumerate())
    for number in range(20):
        with pytest.raises(PluginTimeout):
            await node.hooks.plan_device("dummy", alloc(f"other{number}"))
    assert set(threading.enumerate()) <= before


def test_a_hook_that_hangs_does_not_keep_the_process_alive_nor_make_noise() -> None:
    program = textwrap.dedent("""
        import asyncio, threading
        from pathlib import Path
        from dragoman.hooks import Hooks, Limits, PluginTimeout
        from dragoman.plugins import load_descriptors
        from dragoman_hookspecs import *

        class Hanging:
            def __init__(self, context, settings): pass
            def hang(self):
                threading.Event().wait()
            @hookimpl
            def discover_devices(self): self.hang()
            @hookimpl
            def setup_device(self, request): self.hang()
            @hookimpl
            def free_device(self, request): self.hang()
            @hookimpl
            def recover_devices(self, request): self.hang()
            @hookimpl
            def watch_devices(self, request): self.hang()

        async def main():
            context = Context(node_name="n", driver_name="d", state_dir=Path("/x"), cdi_dir=Path("/x"))
            manager = DeviceManager(type="h", settings_key="h", create=Hanging)
            plugins = load_descriptors([("h", manager)], context=lambda name: context)
            hooks = Hooks(plugins, Limits(discover_devices=0.05, recover_devices=0.05))
            await hooks.start()
            for call in (hooks.discover_devices("h"), hooks.recover_devices("h", [])):
                try:
                    await call
                except PluginTimeout:
                    print("timeout")
            await hooks.stop()

        asyncio.run(main(), debug=False)  # debugging tells of slow steps, which a busy machine has
    """)
    command = [
        sys.executable,
        "-W",
        "error",
        "-X",
        "dev",
        "-c",
        f"from loguru import logger; logger.remove()\n{program}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "timeout\ntimeout\n", "")
