"""What the library raises; every error is one sentence for a person."""

from __future__ import annotations


class AllocatorError(Exception):
    """Base of all errors of this library."""


class InvalidInput(AllocatorError, ValueError):
    """An object, quantity or expression is not what the API takes."""


class AllocationFailed(AllocatorError):
    """The whole scheduling attempt ends, on every node: bad selector, unsupported request, too many devices."""


class FailedOnNode(AllocationFailed):
    """The attempt fails on this node only, for instance because a pool of it is invalid."""
