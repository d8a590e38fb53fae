"""Errors that plugins raise and core understands. Any other exception is a fault of the plugin and shown as such."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class DragomanError(Exception):
    """Base of the errors that carry a sentence for a person: what, which device, what to do."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in configuration: ``path`` such as ``routes[0].gateway`` (empty for the whole), and what is wrong."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidConfig(DragomanError, ValueError):
    """Configuration that cannot be used, with every fault and its path. Permanent: a retry does not help.

    A dataclass for settings or parameters raises it from ``__post_init__``; paths are relative to that object.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(map(str, self.faults)))

    @classmethod
    def at(cls, path: str, message: str) -> InvalidConfig:
        """Make one with a single fault."""
        return cls([Fault(path, message)])


class ApiRefused(DragomanError):
    """The API server refused a request; ``status`` is the HTTP status."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class DeviceError(DragomanError):
    """The device cannot do what was asked now; the operation may be tried again."""


class LinkMissing(DeviceError):
    """The link to attach does not exist on the host; core asks the manager to recover it once, then tries again."""


class ForeignLink(DeviceError):
    """A link of that name exists but is not ours, or another device took the identity: it is reported and left."""
