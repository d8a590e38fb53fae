"""Why claims do not fit: failed checks of every device, faults of pools, conflicts of requests, what would help."""

from dragoman_allocator.reasons.data import to_json
from dragoman_allocator.reasons.explainer import Explainer
from dragoman_allocator.reasons.model import (
    Conflict,
    ConstraintName,
    DeviceReasons,
    Fault,
    Finding,
    NodeReasons,
    PoolFault,
    Remedy,
    RequestName,
    RequestReasons,
)
from dragoman_allocator.reasons.words import gist, summary

__all__ = [
    "Conflict",
    "ConstraintName",
    "DeviceReasons",
    "Explainer",
    "Fault",
    "Finding",
    "NodeReasons",
    "PoolFault",
    "Remedy",
    "RequestName",
    "RequestReasons",
    "gist",
    "summary",
    "to_json",
]
