"""The contract suite for device managers. Subclass it, name the descriptor, say what the host needs:

    class TestMine(ManagerContract):
        descriptor = plugin

        def settings(self) -> MySettings:
            return MySettings(count=2)

Each test runs in a private network namespace that stands for the host, so links may be made and broken there at will.
"""

from __future__ import annotations

import pytest

from dragoman_testkit.contract.attaching import Attaching
from dragoman_testkit.contract.describing import Describing
from dragoman_testkit.contract.dying import Dying
from dragoman_testkit.contract.inventory import Inventories
from dragoman_testkit.contract.preparing import Preparing
from dragoman_testkit.contract.restarting import Restarting

__all__ = ["ManagerContract"]


@pytest.mark.kernel
class ManagerContract(Inventories, Preparing, Attaching, Restarting, Dying, Describing):
    """What core relies on, whatever the device is. ``limit`` is the time that each hook may take, in seconds."""
