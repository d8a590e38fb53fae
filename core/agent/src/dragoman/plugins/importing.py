"""Imports what an entry point names, within a time limit, and checks the descriptors before they are used."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint
from typing import Any

from dragoman.plugins.entrypoints import PluginState
from dragoman.plugins.hookcheck import KINDS
from dragoman.schema import UnusableSchema, check_schema, keys
from dragoman.schema.faults import described
from dragoman_hookspecs import COMMON_PARAMETERS, Descriptor, DeviceManager, DragomanError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PARAMETERS = COMMON_PARAMETERS | {"vlan"}
RESERVED_KEY = "enabled"
"""The key of every section that turns the plugin on and off; no settings class may use it."""


class Rejected(DragomanError):
    """A plugin, or what it made, cannot be used; carries the reason and the state that the plugin gets."""

    def __init__(self, reason: str, state: PluginState = PluginState.FAILED) -> None:
        super().__init__(reason)
        self.state = state


def bounded(what: str, function: Callable[[], Any], seconds: float) -> Any:
    """Run code of a plugin that may raise anything or never return. Raises ``Rejected``.

    Code that does not return is left behind in a daemon thread: it costs that thread and nothing else.
    """
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # noqa: BLE001  # a plugin may even raise SystemExit
            failure.append(error)

    thread = threading.Thread(target=run, name=f"dragoman {what}", daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        if isinstance(failure[0], KeyboardInterrupt):
            raise failure[0]
        raise Rejected(f"{what} raised {described(failure[0])}") from failure[0]
    if not outcome:
        raise Rejected(f"{what} did not return within {seconds:g} s")
    return outcome[0]


def import_descriptors(entry: EntryPoint, seconds: float) -> Sequence[object]:
    """Import what the entry point names: one descriptor or several. Raises ``Rejected``."""
    if not _NAME.fullmatch(entry.name):
        raise Rejected(f"the name of entry point {entry.name!r} must be letters, digits, '.', '_' and '-'")
    found = bounded(f"import of {entry.value}", entry.load, seconds)
    descriptors = found if isinstance(found, tuple) else (found,)
    if not descriptors:
        raise Rejected(f"{entry.value} is an empty tuple where a descriptor is wanted")
    return descriptors


def check_descriptor(found: object) -> Descriptor:
    """Give the descriptor if it can be used, or raise ``Rejected`` with all its faults."""
    if type(found) not in KINDS:
        kinds = ", ".join(kind.__name__ for kind in KINDS)
        name = type(found).__name__
        article = "an" if name[0] in "AEIOUaeiou" else "a"
        raise Rejected(f"the entry point names {article} {name}, which is no descriptor ({kinds})")
    assert isinstance(found, Descriptor)
    try:
        faults = list(_faults(found))
    except Exception as error:  # a field that holds anything must not cost the other plugins
        raise Rejected(f"its descriptor cannot be used: {described(error)}") from error
    if faults:
        raise Rejected("; ".join(faults))
    return found


def _faults(descriptor: Descriptor) -> Iterator[str]:
    if not isinstance(descriptor.settings_key, str) or not _NAME.fullmatch(descriptor.settings_key):
        yield f"settings_key is {descriptor.settings_key!r}: it must be letters, digits, '.', '_' and '-'"
    if not callable(descriptor.create):
        yield f"create is {descriptor.create!r}, which cannot be called"
    yield from _schema_faults("settings", descriptor.settings, frozenset({RESERVED_KEY}))
    if isinstance(descriptor, DeviceManager):
        yield from _manager_faults(descriptor)


def _manager_faults(manager: DeviceManager) -> Iterator[str]:
    if not isinstance(manager.type, str) or not _NAME.fullmatch(manager.type):
        yield f"type is {manager.type!r}: it must be letters, digits, '.', '_' and '-'"
    if type(manager.concurrent) is not int or manager.concurrent < 1:
        yield f"concurrent is {manager.concurrent!r}: it must be a whole number from 1"
    if unknown := sorted(set(manager.applies) - _PARAMETERS):
        yield f"applies names {', '.join(unknown)}: known are {', '.join(sorted(_PARAMETERS))}"
    if manager.parameters is not None:
        yield from _schema_faults("parameters", manager.parameters, _PARAMETERS)


def _schema_faults(what: str, cls: Any, taken: frozenset[str]) -> Iterator[str]:
    try:
        check_schema(cls)
    except UnusableSchema as error:
        yield f"{what}: {error}"
        return
    if common := sorted(taken.intersection(keys(cls))):
        yield f"{what} has {', '.join(common)}, which core keeps for itself"
