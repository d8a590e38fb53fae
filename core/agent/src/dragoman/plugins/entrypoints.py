"""Finds the plugins that are installed: entry points, what their distributions say, and the API that they ask for.

Nothing of a plugin is imported before its requirement on dragoman-hookspecs was found to fit.
"""

from __future__ import annotations

import enum
import importlib.metadata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

GROUP = "dragoman.plugins"
API = "dragoman-hookspecs"


class PluginState(enum.StrEnum):
    """What became of a plugin."""

    FOUND = "found"
    """Installed and not yet loaded."""
    LOADED = "loaded"
    DISABLED = "disabled"
    """Its section says ``enabled: false``: nothing new, but what is prepared is served until it is free."""
    DEGRADED = "degraded"
    """Loaded, but its ``start`` failed and is tried again, a call of it hangs, or it cannot be scanned."""
    BLOCKED = "blocked"
    """Settings name it as one that must not be loaded."""
    INCOMPATIBLE = "incompatible"
    """It asks for another plugin API, or does not say which."""
    FAILED = "failed"
    """Its import, descriptor, creation or hooks are at fault."""
    INVALID_SETTINGS = "invalid-settings"
    DUPLICATE = "duplicate"
    """Its name, type or settings key belongs to another plugin already."""
    NOT_AVAILABLE = "not-available"
    """A section of the settings whose plugin is not installed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginStatus:
    """One plugin as ``dragoman plugins`` shows it; an entry point with several descriptors gives several.

    ``name`` is that of the entry point, ``api`` the version range of dragoman-hookspecs that the distribution requires.
    ``kind`` is ``manager``, ``writer``, ``controller`` or ``commands``; ``type`` that of a manager. What is not known
    because the plugin did not get so far is empty. ``reason`` is a sentence for every state but ``loaded``.
    """

    name: str
    state: PluginState
    distribution: str = ""
    version: str = ""
    api: str = ""
    kind: str = ""
    type: str = ""
    settings_key: str = ""
    hooks: tuple[str, ...] = ()
    reason: str = ""

    def __str__(self) -> str:
        of = f" of {self.distribution} {self.version}".rstrip() if self.distribution else ""
        return f"plugin {self.name}{of}"

    def became(self, state: PluginState, reason: str) -> PluginStatus:
        """Give the same plugin in another state."""
        return replace(self, state=state, reason=reason)


def installed() -> Sequence[EntryPoint]:
    """List the entry points of all plugins in this Python environment."""
    return tuple(importlib.metadata.entry_points(group=GROUP))


def in_name_order(entry_points: Iterable[EntryPoint]) -> list[EntryPoint]:
    """Sort by name, then by distribution, so that every start finds the plugins in the same order."""
    return sorted(entry_points, key=lambda entry: (entry.name, *_distribution(entry)))


def discover(entry_points: Iterable[EntryPoint] | None = None) -> Sequence[PluginStatus]:
    """Tell what is installed, from metadata alone: ``found`` or ``incompatible``."""
    entries = installed() if entry_points is None else entry_points
    return [inspect(entry) for entry in in_name_order(entries)]


def inspect(entry: EntryPoint) -> PluginStatus:
    """Read the distribution of one entry point and compare the API that it requires with ours."""
    name, version = _distribution(entry)
    status = PluginStatus(name=entry.name, state=PluginState.FOUND, distribution=name, version=version)
    try:
        required = _api_range(entry)
    except InvalidRequirement as error:
        return status.became(PluginState.INCOMPATIBLE, f"a requirement of {name} cannot be read: {error}")
    if required is None:
        return status.became(
            PluginState.INCOMPATIBLE, f"{name} does not say which {API} it requires: add it to its dependencies"
        )
    status = replace(status, api=str(required.specifier) or "any")
    ours = importlib.metadata.version(API)
    if not required.specifier.contains(ours, prereleases=True):
        reason = (
            f"{name} requires {API}{required.specifier}, and {ours} is installed: install a version of it for this API"
        )
        return status.became(PluginState.INCOMPATIBLE, reason)
    return status


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    if entry.dist is None:
        return "", ""
    metadata = entry.dist.metadata
    return metadata["Name"] or "", metadata["Version"] or ""


def _api_range(entry: EntryPoint) -> Requirement | None:
    """Find the requirement on the API that holds here, extras aside. Raises ``InvalidRequirement``."""
    requires = (entry.dist.requires if entry.dist is not None else None) or []
    for requirement in map(Requirement, requires):
        applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if applies and canonicalize_name(requirement.name) == API:
            return requirement
    return None
