"""The contract suite finds what it is there to find."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from dragoman_hookspecs import Device, Parameters
from dragoman_kit import netns
from dragoman_testkit.bench import Blocked, Strayed, allocate, durable, within
from dragoman_testkit.sandbox.runtime_netns import enter_network


def test_a_hook_that_does_not_return_is_named() -> None:
    forever = threading.Event()
    with pytest.raises(Blocked, match="setup_device did not return within"):
        within(0.05, "setup_device", forever.wait)
    forever.set()


@pytest.mark.kernel
def test_a_hook_that_leaves_its_thread_elsewhere_is_named() -> None:
    handle = netns.fresh()
    with pytest.raises(Strayed, match="attach_device"):
        # Not the kit's own way in: left behind, it would lead whoever collects it out of its namespace.
        within(60, "attach_device", enter_network, handle)
    os.close(handle)


def test_what_a_hook_raises_reaches_the_test() -> None:
    def fail() -> None:
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        within(60, "free_device", fail)


@pytest.mark.parametrize("state", [{"a": (1, 2)}, {1: "a"}])
def test_state_that_json_would_change_is_found(state: object) -> None:
    with pytest.raises(AssertionError, match="survive JSON"):
        durable(state)


def test_a_shareable_device_is_allocated_in_shares() -> None:
    device = Device(name="d", identity="x", allow_multiple_allocations=True)
    shares: Callable[[int], str | None] = lambda number: allocate(device, Parameters(), number).share_id  # noqa: E731 - short
    assert shares(0) != shares(1)
    assert None not in (shares(0), shares(1))
