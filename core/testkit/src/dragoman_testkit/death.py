"""The death of the agent at a chosen change of the kernel, in this process: what a ``kill -9`` would leave."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

_MESSAGE_KINDS, _GET = 4, 2
"""rtnetlink(7): each object has four messages, new, delete, get and set; all but one change something."""


class Died(BaseException):
    """The agent is dead: whatever is still tried on the way out fails too."""


@dataclass(slots=True)
class _Life:
    """``left``: how many changes may still be made; None while nobody is to die."""

    left: int | None = None

    def audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.left is None or not _changes(event, arguments):
            return
        if self.left == 0:
            raise Died
        self.left -= 1


def dies(changes: int, function: Callable[..., object], *arguments: object) -> bool:
    """Run a function that may make so many changes and no more; False if that was enough for it.

    Changes are the requests of ``dragoman_kit.netlink`` and sysctls that are opened for writing. Raises what the
    function raises.
    """
    life = _life()
    life.left = changes
    try:
        function(*arguments)
    except Died:
        return True
    finally:
        life.left = None
    return False


@functools.cache
def _life() -> _Life:
    life = _Life()
    sys.addaudithook(life.audit)  # it stays as long as the process
    return life


def _changes(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "dragoman_kit.request":
        return isinstance(arguments[0], int) and arguments[0] % _MESSAGE_KINDS != _GET
    if event != "open" or not isinstance(arguments[2], int):
        return False
    return bool(arguments[2] & os.O_ACCMODE) and str(arguments[0]).startswith("/proc/sys/")
