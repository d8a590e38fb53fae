"""What the library raises; every error is one sentence for a person."""

from __future__ import annotations


class AllocatorError(Exception):
    """Base of all errors of this library."""


class InvalidInput(AllocatorError, ValueError):
    """An object, quantity or expression is not what the API takes."""


class InvalidMember(InvalidInput):
    """A member of an object is not what the API takes; ``at`` is its path, empty for the whole."""

    def __init__(self, what: str, at: str = "") -> None:
        """Say what is wrong, and where."""
        super().__init__(f"{at}: {what}" if at else what)
        self.what = what
        self.at = at

    def below(self, parent: str) -> InvalidMember:
        """Give the same error, seen from the parent of the object."""
        dot = "." if self.at and not self.at.startswith("[") else ""
        return InvalidMember(self.what, f"{parent}{dot}{self.at}")


class AllocationFailed(AllocatorError):
    """The whole scheduling attempt ends, on every node: bad selector, unsupported request, too many devices."""


class TooManySteps(AllocatorError):
    """A search was given up at its limit of steps or by its caller, so nobody knows whether the claims fit."""

    def __init__(self, steps: int) -> None:
        """``steps`` is how far it came."""
        super().__init__(f"the search was given up after {steps} steps")
        self.steps = steps


class FailedOnNode(AllocationFailed):
    """The attempt fails on this node only, for instance because a pool of it is invalid."""
