"""Descriptions and watches."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from dragoman_hookspecs import ContainerEdits, Metadata, Record, WatchDevices, WatchHealth
from dragoman_testkit.bench import Bench, host_links
from dragoman_testkit.contract.base import Ground

_TRIES, _HEAD_START = 5, 0.1


class Describing(Ground):
    """What is said of a device, and when a watch ends."""

    @pytest.mark.parametrize("hook", ["device_metadata", "container_edits"])
    def test_describing_repeats_and_changes_nothing(self, bench: Bench, prepared: Record, hook: str) -> None:
        if not bench.has(hook):
            pytest.skip(f"the manager has no {hook}")
        before = host_links()
        first = bench.describe(hook, prepared)
        assert isinstance(first, Metadata if hook == "device_metadata" else ContainerEdits)
        assert bench.describe(hook, prepared) == first
        assert host_links() == before

    @pytest.mark.parametrize("hook", ["watch_devices", "watch_health"])
    def test_a_watch_ends_within_a_second_of_being_told(self, bench: Bench, hook: str) -> None:
        if not bench.has(hook):
            pytest.skip(f"the manager has no {hook}")
        # The best of several: a machine with other things to do may let a thread wait for longer than that.
        assert any(self.ends_within_a_second(getattr(bench.manager, hook), hook) for _ in range(_TRIES))

    def ends_within_a_second(self, watch: Callable[[Any], None], hook: str) -> bool:
        """Begin a watch, let it come to where it waits, and tell it to end. Fails where it does not end at all."""
        stopped = threading.Event()
        request: Any = (
            WatchDevices(changed=stopped.set, stopped=stopped)
            if hook == "watch_devices"
            else WatchHealth(report=lambda _: None, stopped=stopped)
        )
        thread = threading.Thread(target=watch, args=(request,), daemon=True)
        thread.start()
        thread.join(_HEAD_START)
        stopped.set()
        thread.join(1)
        in_time = not thread.is_alive()
        thread.join(self.limit)
        assert not thread.is_alive(), f"{hook} does not end"
        return in_time
