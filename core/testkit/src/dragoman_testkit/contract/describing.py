"""Descriptions and watches."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import threading
from typing import Any

import pytest

from dragoman_hookspecs import ContainerEdits, Metadata, Record, WatchDevices, WatchHealth
from dragoman_testkit.bench import Bench, host_links
from dragoman_testkit.contract.base import Ground


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
        stopped = threading.Event()
        request: Any = (
            WatchDevices(changed=stopped.set, stopped=stopped)
            if hook == "watch_devices"
            else WatchHealth(report=lambda _: None, stopped=stopped)
        )
        thread = threading.Thread(target=getattr(bench.manager, hook), args=(request,), daemon=True)
        thread.start()
        stopped.set()
        thread.join(1)
        assert not thread.is_alive()
