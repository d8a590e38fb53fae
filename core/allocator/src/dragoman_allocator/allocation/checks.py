"""The checks a device goes through before it is allocated, in their order, and who may watch them fail."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

DeviceId = tuple[str, str, str]
"""Driver, pool and device name: what identifies a device everywhere."""


class Check(Enum):
    """Why a device was not taken for a request."""

    IN_USE = "in use"
    BINDING_CONDITIONS = "has binding conditions, which are off"
    CLASS_SELECTOR = "class selector"
    REQUEST_SELECTOR = "request selector"
    NODE = "not for this node"
    CAPACITY_UNFIT = "cannot serve the capacity request"
    CAPACITY_USED = "capacity used"
    NODE_OPERATIONS = "skips node operations, which the node does not support"
    COUNTERS_OFF = "consumes counters, which are off"
    GROUPS = "compatibility groups"
    COUNTERS = "counters used"
    TAINT = "taint"
    CONSTRAINT = "constraint"


class Observer(Protocol):
    """Is told of every device that a search turned down, as often as that happens."""

    def __call__(self, claim: int, request: str, device: DeviceId, check: Check) -> None:
        """Take note: index of the claim in the attempt, ``request`` or ``request/subrequest``, first failed check."""
