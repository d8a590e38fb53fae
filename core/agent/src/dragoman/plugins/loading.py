"""Loads the installed plugins one by one, so that a bad one is named with its reason and costs nobody else anything.

Each plugin has a pluggy manager of its own: a hook is addressed to one plugin, a second plugin can neither answer nor
abort it, and a plugin whose hooks are refused leaves nothing registered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from typing import Any

import pluggy
from loguru import logger
from packaging.utils import canonicalize_name

from dragoman.plugins.entrypoints import PluginState, PluginStatus, in_name_order, inspect, installed
from dragoman.plugins.hookcheck import KINDS, hook_faults, implemented
from dragoman.plugins.importing import Rejected, bounded, check_descriptor, import_descriptors
from dragoman.plugins.sections import Sections, section_path
from dragoman_hookspecs import PROJECT, Context, Descriptor, DeviceManager, DragomanError, Fault, InvalidConfig
from dragoman_hookspecs import hooks as specs

ContextFactory = Callable[[str], Context]
"""Gives the context of the plugin of that name; makes its folder."""


class StartupRefused(DragomanError):
    """The agent must not start: a required plugin is missing, or settings that are never guessed at are wrong.

    ``statuses`` tells of all plugins.
    """

    def __init__(self, message: str, statuses: Sequence[PluginStatus]) -> None:
        super().__init__(message)
        self.statuses = tuple(statuses)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPlugin:
    """A plugin whose hooks can be called. Its name is that of its entry point."""

    status: PluginStatus
    descriptor: Descriptor
    settings: Any
    enabled: bool
    relay: pluggy.HookRelay = field(repr=False)

    def has(self, hook: str) -> bool:
        """Tell whether the plugin implements a hook."""
        return hook in self.status.hooks

    def call(self, hook: str, request: object = None) -> Any:
        """Call a hook in this thread; None where it gives nothing or is absent. Raises whatever the plugin raises."""
        arguments = {} if request is None else {"request": request}
        results = getattr(self.relay, hook)(**arguments)
        return results[0] if results else None


@dataclass(slots=True, kw_only=True)
class PluginSet:
    """All plugins of this process: those whose hooks are called, and what became of the others."""

    loaded: tuple[LoadedPlugin, ...]
    statuses: tuple[PluginStatus, ...]
    descriptors: tuple[Descriptor, ...]
    """Every descriptor that could be read, also of plugins whose settings were refused."""
    refused: tuple[tuple[PluginStatus, Descriptor], ...]
    """The plugins whose settings were refused."""
    context: ContextFactory
    limit: float = 20.0

    def __iter__(self) -> Iterator[LoadedPlugin]:
        return iter(self.loaded)

    def check(self, sections: Sections) -> None:
        """Check the sections of all plugins that are known here. Raises ``InvalidConfig`` with every fault."""
        faults: list[Fault] = []
        for descriptor in self.descriptors:
            try:
                sections.open(descriptor)
            except InvalidConfig as error:
                faults.extend(error.faults)
        if faults:
            raise InvalidConfig(faults)

    def resettle(self, plugin: LoadedPlugin, *, enabled: bool, settings: Any) -> LoadedPlugin:
        """Record other settings of a plugin whose object stays, and put it in place."""
        changed = replace(
            plugin,
            enabled=enabled,
            settings=settings,
            status=_serving(plugin.status, plugin.descriptor, enabled=enabled),
        )
        self.replace(plugin, changed)
        return changed

    def recreate(self, plugin: LoadedPlugin, sections: Sections) -> LoadedPlugin:
        """Make a plugin's object anew for other settings, without putting it in place. Raises ``DragomanError``."""
        try:
            return _create(plugin.status, plugin.descriptor, sections, self.context, self.limit)
        except Rejected as error:
            raise DragomanError(f"{plugin.status} keeps its settings: {error}") from error

    def revive(self, sections: Sections) -> list[LoadedPlugin]:
        """Load the plugins whose settings were refused before and are good now; gives those."""
        revived: list[LoadedPlugin] = []
        waiting, self.refused = self.refused, ()
        for status, descriptor in waiting:
            try:
                revived.append(_create(status, descriptor, sections, self.context, self.limit))
            except Rejected as error:
                now = status.became(error.state, str(error))
                self._record(status, now)
                if error.state is PluginState.INVALID_SETTINGS:
                    self.refused = (*self.refused, (now, descriptor))
            else:
                self._record(status, revived[-1].status)
        self.loaded = tuple(sorted((*self.loaded, *revived), key=lambda plugin: plugin.status.name))
        return revived

    def _record(self, old: PluginStatus, new: PluginStatus) -> None:
        """Change one status: those of plugins that share an entry point and a section may be equal."""
        position = self.statuses.index(old)
        self.statuses = (*self.statuses[:position], new, *self.statuses[position + 1 :])

    def replace(self, old: LoadedPlugin, new: LoadedPlugin) -> None:
        """Put the new form of a plugin in the place of the old one."""
        self.loaded = tuple(new if plugin is old else plugin for plugin in self.loaded)
        self._record(old.status, new.status)


def contexts(base: Context) -> ContextFactory:
    """Derive the plugins' contexts: ``base.state_dir`` is the agent's state folder."""

    def context(name: str) -> Context:
        folder = base.state_dir / "plugins" / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return replace(base, state_dir=folder, logger=logging.getLogger(f"dragoman.plugin.{name}"))

    return context


def load(
    entry_points: Iterable[EntryPoint] | None = None,
    sections: Sections | None = None,
    *,
    context: ContextFactory,
    required: Collection[str] = (),
    blocked: Collection[str] = (),
    only: type[Descriptor] = Descriptor,
    limit: float = 20.0,
    log_level: str = "WARNING",
) -> PluginSet:
    """Load plugins in the order of their names; by default all that are installed.

    ``required`` and ``blocked`` name entry points or distributions. ``only``: descriptors of other kinds are left
    alone. ``limit`` in seconds holds for each import and each creation. ``log_level``: of what is left out; DEBUG is
    for those who show the statuses themselves. Raises ``StartupRefused``; whatever else goes wrong stands in
    ``PluginSet.statuses``.
    """
    loading = _Loading(sections or Sections(), context, limit, only, log_level)
    for entry in in_name_order(installed() if entry_points is None else entry_points):
        status = inspect(entry)
        if _is_named(status, blocked):
            loading.statuses.append(status.became(PluginState.BLOCKED, "the settings say that it must not be loaded"))
        else:
            loading.add_entry_point(entry, status)
    return loading.finish(required)


def load_descriptors(
    descriptors: Iterable[tuple[str, Descriptor]],
    sections: Sections | None = None,
    *,
    context: ContextFactory,
    log_level: str = "WARNING",
) -> PluginSet:
    """Load plugins that no distribution names, for tests and tools: pairs of name and descriptor."""
    loading = _Loading(sections or Sections(), context, limit=20.0, log_level=log_level)
    for name, descriptor in descriptors:
        status = PluginStatus(name=name, state=PluginState.FOUND, distribution=f"dragoman-{name}", version="0")
        loading.add_descriptor(descriptor, status, descriptor)
    return loading.finish(())


class _Loading:
    """What is known while the plugins are loaded one after the other."""

    def __init__(
        self,
        sections: Sections,
        context: ContextFactory,
        limit: float,
        only: type[Descriptor] = Descriptor,
        log_level: str = "WARNING",
    ) -> None:
        self.statuses: list[PluginStatus] = []
        self._sections = sections
        self._context = context
        self._limit = limit
        self._only = only
        self._log_level = log_level
        self._loaded: list[LoadedPlugin] = []
        self._descriptors: list[Descriptor] = []
        self._refused: list[tuple[PluginStatus, Descriptor]] = []
        self._refusals: list[str] = []
        self._owners: dict[str, tuple[object, PluginStatus]] = {}

    def add_entry_point(self, entry: EntryPoint, status: PluginStatus) -> None:
        try:
            if status.state is not PluginState.FOUND:
                raise Rejected(status.reason, status.state)
            self._claim(entry, status, f"the name {entry.name}", f"the object {entry.value}")
            descriptors = import_descriptors(entry, self._limit)
        except Rejected as error:
            self._refuse(status, error)
            return
        for found in descriptors:
            self.add_descriptor(entry, status, found)

    def add_descriptor(self, owner: object, status: PluginStatus, found: object) -> None:
        try:
            descriptor = check_descriptor(found)
            if not isinstance(descriptor, self._only):
                return
            status = _with_descriptor(status, descriptor)
            self._claim(owner, status, f"the settings section {section_path(descriptor)}")
            if status.type:
                # Settings may be shared by the descriptors of one entry point, a type not even by these.
                self._claim(descriptor, status, f"the device manager type {status.type}")
            self._descriptors.append(descriptor)
            plugin = _create(status, descriptor, self._sections, self._context, self._limit)
        except Rejected as error:
            self._refuse(status, error)
            if error.state is PluginState.INVALID_SETTINGS:
                self._refused.append((self.statuses[-1], descriptor))
                if descriptor.strict_settings:
                    self._refusals.append(f"{status}: {error}")
        else:
            self._loaded.append(plugin)
            self.statuses.append(plugin.status)

    def finish(self, required: Collection[str]) -> PluginSet:
        self._report_unclaimed()
        refusals = [*self._refusals, *_missing(required, self.statuses)]
        if refusals:
            raise StartupRefused("start refused: " + "; ".join(refusals), self.statuses)
        return PluginSet(
            loaded=tuple(self._loaded),
            statuses=tuple(self.statuses),
            descriptors=tuple(self._descriptors),
            refused=tuple(self._refused),
            context=self._context,
            limit=self._limit,
        )

    def _claim(self, owner: object, status: PluginStatus, *names: str) -> None:
        """Take names for one plugin, all or none; what another one holds is refused, and both are named."""
        for name in names:
            holder, held = self._owners.get(name, (owner, status))
            # Entry points of two distributions are equal where their text is.
            if holder is not owner:
                reason = f"{name} belongs to {held} already: {status} is left out, uninstall or block one of them"
                raise Rejected(reason, PluginState.DUPLICATE)
        self._owners.update(dict.fromkeys(names, (owner, status)))

    def _refuse(self, status: PluginStatus, error: Rejected) -> None:
        self.statuses.append(status.became(error.state, str(error)))
        bound = logger.bind(plugin=status.name)
        bound.log(self._log_level, f"{status} is left out: {error}")
        bound.opt(exception=error).debug(f"where {status} failed")

    def _report_unclaimed(self) -> None:
        """Report the sections that belong to no plugin: on a mixed cluster that is no error of this node."""
        known = set(map(section_path, self._descriptors))
        for path, key in self._sections.paths():
            if path not in known:
                reason = f"{path} is set, and no plugin with this settings key is loaded on this node"
                status = PluginStatus(name=key, settings_key=key, state=PluginState.NOT_AVAILABLE, reason=reason)
                self.statuses.append(status)


def _create(
    status: PluginStatus, descriptor: Descriptor, sections: Sections, context: ContextFactory, limit: float
) -> LoadedPlugin:
    """Decode the settings, make the object and check its hooks. Raises ``Rejected``."""
    try:
        enabled, settings = sections.open(descriptor)
    except InvalidConfig as error:
        raise Rejected(str(error), PluginState.INVALID_SETTINGS) from error
    plugin = bounded("create", lambda: descriptor.create(context(status.name), settings), limit)
    faults = bounded("reading its hooks", lambda: hook_faults(plugin, status.kind), limit)
    if faults:
        raise Rejected("; ".join(faults))
    return LoadedPlugin(
        status=_serving(replace(status, hooks=implemented(plugin)), descriptor, enabled=enabled),
        descriptor=descriptor,
        settings=settings,
        enabled=enabled,
        relay=_register(plugin, status.name),
    )


def _serving(status: PluginStatus, descriptor: Descriptor, *, enabled: bool) -> PluginStatus:
    if enabled:
        return status.became(PluginState.LOADED, "")
    reason = f"{section_path(descriptor)}.enabled is false: only what is prepared is served"
    return status.became(PluginState.DISABLED, reason)


def _register(plugin: object, name: str) -> pluggy.HookRelay:
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(specs)
    try:
        manager.register(plugin, name)
        manager.check_pending()
    except Exception as error:  # a last word of pluggy on what the checks before let through
        raise Rejected(f"pluggy refuses its hooks: {error}") from error
    seen = {caller.name for caller in manager.get_hookcallers(plugin) or ()}
    if unseen := set(implemented(plugin)) - seen:
        raise Rejected(f"{', '.join(sorted(unseen))} is marked @hookimpl and is no method")
    return manager.hook


def _with_descriptor(status: PluginStatus, descriptor: Descriptor) -> PluginStatus:
    type_ = descriptor.type if isinstance(descriptor, DeviceManager) else ""
    return replace(status, kind=KINDS[type(descriptor)], type=type_, settings_key=descriptor.settings_key)


def _is_named(status: PluginStatus, names: Iterable[str]) -> bool:
    own = {status.name, canonicalize_name(status.distribution)}
    return any(name in own or canonicalize_name(name) in own for name in names)


def _missing(required: Iterable[str], statuses: Sequence[PluginStatus]) -> Iterator[str]:
    """Say for each required plugin that is not loaded why it is not."""
    for name in required:
        found = [
            status for status in statuses if status.state is not PluginState.NOT_AVAILABLE and _is_named(status, [name])
        ]
        reasons = [f"{status}: {status.reason}" for status in found if status.state is not PluginState.LOADED]
        if not found:
            yield f"plugin {name} is required and not installed"
        elif reasons:
            yield f"plugin {name} is required and not loaded ({'; '.join(reasons)})"
