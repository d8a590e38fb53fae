"""The settings that are in force, and how others take their place while the agent runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from dragoman.settings import Settings
from dragoman_hookspecs import json_key

LIVE = frozenset({"device_manager_configs", "plugin_configs", "pools", "logging"})
"""Settings that a reload applies; the others need a restart, and keep their value until then."""


@dataclass(slots=True, kw_only=True)
class LiveSettings:
    """``now`` is in force. ``error``: why the newest file is not, wholly; ``need_restart``: keys that wait for one."""

    now: Settings
    error: str = ""
    need_restart: tuple[str, ...] = ()

    def with_live_part(self, new: Settings) -> Settings:
        """Give the settings in force with everything of the new ones that can be applied without a restart."""
        return replace(self.now, **{name: getattr(new, name) for name in LIVE})

    def take(self, new: Settings, failures: Mapping[str, str]) -> None:
        """Put the live part of other settings in force; ``failures`` are of plugins that keep their section."""
        changed = [
            f.name for f in fields(new) if f.name not in LIVE and getattr(new, f.name) != getattr(self.now, f.name)
        ]
        self.now = self.with_live_part(new)
        self.error = "; ".join(f"plugin {name} keeps its settings: {reason}" for name, reason in failures.items())
        self.need_restart = tuple(map(json_key, changed))
