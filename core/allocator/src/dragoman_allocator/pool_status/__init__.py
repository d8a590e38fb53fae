"""What is free in the pools of a driver: the calculation behind ResourcePoolStatusRequest (KEP-5677), 1.36 and 1.37."""

from dragoman_allocator.pool_status.holders import Holder, holders
from dragoman_allocator.pool_status.lean import LeanClaim, LeanSlice
from dragoman_allocator.pool_status.status import PoolIncomplete, Selection, describe, failed, pool_status

__all__ = [
    "Holder",
    "LeanClaim",
    "LeanSlice",
    "PoolIncomplete",
    "Selection",
    "describe",
    "failed",
    "holders",
    "pool_status",
]
