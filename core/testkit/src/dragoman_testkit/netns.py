"""Private network namespaces for tests: one to be the host, others to be pods. The machine's own is never touched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from dragoman_hookspecs import Netns
from dragoman_kit import netns


class Pod:
    """A namespace that lives as long as this object holds it, with a path that ends with it."""

    def __init__(self) -> None:
        self._handle = netns.fresh()
        self.netns: Netns = netns.identify(f"/proc/{os.getpid()}/fd/{self._handle}")

    def end(self) -> None:
        """Let the namespace go, as a runtime does when a sandbox stops; again is nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Run the body inside, in the calling thread."""
        with netns.entered(self._handle):
            yield


@contextlib.contextmanager
def pod() -> Iterator[Pod]:
    """Give a namespace to be a pod's."""
    made = Pod()
    try:
        yield made
    finally:
        made.end()


@contextlib.contextmanager
def private_host() -> Iterator[None]:
    """Run the body with the calling thread, and every thread that it starts, in a new namespace that is the host's."""
    with pod() as host, host.entered():
        yield
