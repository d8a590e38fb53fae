"""What the scheduler would allocate: pools, search, constraints, counters, capacity, and the result (KEP-4381)."""

from dragoman_allocator.allocation.allocator import Allocator, Outcome
from dragoman_allocator.allocation.checks import Check, DeviceId, Observer

__all__ = ["Allocator", "Check", "DeviceId", "Observer", "Outcome"]
