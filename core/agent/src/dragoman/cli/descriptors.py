"""What the command line needs of the installed plugins without running them: schemas, kinds of devices, commands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path

import click

from dragoman.model.parameters import Kind
from dragoman.plugins import entrypoints, loading
from dragoman.plugins.importing import Rejected, bounded, check_descriptor, import_descriptors
from dragoman_hookspecs import Commands, Connect, Context, Descriptor, DeviceManager, RegisterCommands
from dragoman_hookspecs.descriptors import Schema

LIMIT = 20.0
"""Seconds that the import of one plugin, or the registration of its commands, may take."""

_MANAGERS, _OTHERS = "deviceManagerConfigs", "pluginConfigs"


def installed(entries: Iterable[EntryPoint] | None = None) -> list[Descriptor]:
    """Give the descriptors that can be read. What is wrong with the others is told by ``dragoman plugins``."""
    return [descriptor for entry in _entries(entries) for descriptor in _readable(entry)]


def sections(descriptors: Iterable[Descriptor]) -> dict[str, dict[str, Schema]]:
    """Give the schemas of the plugins' sections, by part of the settings and settings key."""
    schemas: dict[str, dict[str, Schema]] = {_MANAGERS: {}, _OTHERS: {}}
    for each in descriptors:
        part = _MANAGERS if isinstance(each, DeviceManager) else _OTHERS
        schemas[part].setdefault(each.settings_key, each.settings)
    return schemas


def kinds(descriptors: Iterable[Descriptor]) -> list[Kind]:
    """Give the kinds of devices that the managers make, for checks of parameters where no device is."""
    managers = [each for each in descriptors if isinstance(each, DeviceManager)]
    return [Kind(type=each.type, applies=each.applies, own=each.parameters) for each in managers]


def commands(
    taken: Collection[str], entries: Iterable[EntryPoint] | None = None, *, connect: Connect
) -> tuple[Mapping[str, click.Command], list[str]]:
    """Have the plugins register their commands; gives them by name, and sentences about those left out.

    ``connect`` opens an API server for them.

    Only plugins that name a ``Commands`` descriptor are made: the command line must not start a device manager.
    """
    registry = _Registry(taken, connect)
    for entry in _entries(entries):
        with_commands = [(entry.name, each) for each in _readable(entry) if isinstance(each, Commands)]
        loaded = loading.load_descriptors(with_commands, context=_context, log_level="DEBUG")
        owner = str(entrypoints.inspect(entry))
        registry.problems += [f"{owner}: {status.reason}" for status in loaded.statuses if status.reason]
        for plugin in loaded:
            registry.register(owner, plugin)
    return registry.commands, registry.problems


class _Registry:
    """Commands of plugins by name, with the plugin that each came from."""

    def __init__(self, taken: Collection[str], connect: Connect) -> None:
        self._connect = connect
        self.commands: dict[str, click.Command] = {}
        self.problems: list[str] = []
        self._owners = dict.fromkeys(taken, "dragoman itself")

    def register(self, owner: str, plugin: loading.LoadedPlugin) -> None:
        """Ask one plugin; whatever it raises costs its own commands only, and all of them."""
        offered: list[object] = []
        request = RegisterCommands(add=offered.append, connect=self._connect)
        try:
            bounded("register_commands", lambda: plugin.call("register_commands", request) or True, LIMIT)
        except Rejected as error:
            self.problems.append(f"{owner}: {error}")
            return
        for command in offered:
            self._add(owner, command)

    def _add(self, owner: str, command: object) -> None:
        if not isinstance(command, click.Command) or not command.name:
            self.problems.append(f"{owner} registered {command!r}, which is no click command with a name")
        elif (other := self._owners.setdefault(command.name, owner)) != owner:
            self.problems.append(f"command {command.name} of {owner} is left out: {other} has one of that name")
        else:
            self.commands[command.name] = command


def _context(name: str) -> Context:
    # Registration does no work, so nothing is made on the host for it.
    return Context(node_name="", driver_name="", state_dir=Path("/var/lib/dragoman/plugins") / name, cdi_dir=Path("/"))


def _entries(entries: Iterable[EntryPoint] | None) -> list[EntryPoint]:
    return entrypoints.in_name_order(entrypoints.installed() if entries is None else entries)


def _readable(entry: EntryPoint) -> Iterator[Descriptor]:
    if entrypoints.inspect(entry).state is not entrypoints.PluginState.FOUND:
        return
    try:
        found = import_descriptors(entry, LIMIT)
    except Rejected:
        return
    for each in found:
        try:
            yield check_descriptor(each)
        except Rejected:
            continue
