"""The watch on links: it hints, merges bursts and ends when told."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator

import pytest

from dragoman_kit.events import watch_links
from dragoman_kit.netlink import Netlink

pytestmark = pytest.mark.kernel


class Watch:
    def __init__(self) -> None:
        self.hints = threading.Semaphore(0)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        # On a slow machine the changes of a burst are further apart than those of a driver.
        watch_links(self.hints.release, self.stopped, quiet=0.5, longest=30)


@pytest.fixture
def watch(host: Netlink) -> Iterator[Watch]:
    made = Watch()
    made.thread.start()
    # The socket may not be open yet: the first change is made again until it is seen.
    for number in itertools.count():
        assert made.thread.is_alive()
        host.add_link(f"first{number}", "ifb")
        if made.hints.acquire(timeout=1):
            break
    yield made
    made.stopped.set()
    made.thread.join()


def rename(host: Netlink) -> None:
    link = host.link("seen0")
    assert link is not None
    host.set_link(link.index, ifname="seen1")


@pytest.mark.parametrize("change", [lambda host: host.add_link("new0", "ifb"), rename])
def test_a_change_of_a_link_is_hinted(host: Netlink, watch: Watch, change: Callable[[Netlink], None]) -> None:
    host.add_link("seen0", "ifb")
    assert watch.hints.acquire(timeout=60)
    change(host)
    assert watch.hints.acquire(timeout=60)


def test_a_burst_becomes_fewer_hints_than_changes(host: Netlink, watch: Watch) -> None:
    for number in range(50):
        host.add_link(f"burst{number}", "ifb")
    assert watch.hints.acquire(timeout=60)
    hints = 1
    while watch.hints.acquire(timeout=1):
        hints += 1
    assert hints < 10


def test_the_watch_ends_when_it_is_told(watch: Watch) -> None:
    watch.stopped.set()
    watch.thread.join(60)
    assert not watch.thread.is_alive()
