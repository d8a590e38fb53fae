"""The plugins' sections of the settings: ``deviceManagerConfigs.<key>`` and ``pluginConfigs.<key>``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.plugins.importing import RESERVED_KEY
from dragoman.schema import UnusableSchema, decode
from dragoman_hookspecs import Descriptor, DeviceManager, Fault, InvalidConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections as the settings hold them, by settings key: those of device managers, and those of the others.

    A section that is empty (None) means the same as none: the plugin is on, with its defaults.
    """

    managers: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Any] = field(default_factory=dict)

    def open(self, descriptor: Descriptor) -> tuple[bool, Any]:
        """Decode a plugin's section: whether it is enabled, and its settings. Raises ``InvalidConfig`` with paths."""
        path = section_path(descriptor)
        section = (self.managers if isinstance(descriptor, DeviceManager) else self.others).get(descriptor.settings_key)
        section = {} if section is None else section
        enabled: object = True
        faults: list[Fault] = []
        if isinstance(section, Mapping):
            section = dict(section)
            enabled = section.pop(RESERVED_KEY, True)
        if not isinstance(enabled, bool):
            faults.append(Fault(f"{path}.{RESERVED_KEY}", "must be true or false"))
        try:
            settings = decode(descriptor.settings, section, path)
        except InvalidConfig as error:
            faults.extend(error.faults)
        except UnusableSchema as error:
            faults.append(Fault(path, str(error)))
        if faults:
            raise InvalidConfig(faults)
        return bool(enabled), settings

    def paths(self) -> Iterator[tuple[str, str]]:
        """List path and key of every section."""
        for part, sections in (("deviceManagerConfigs", self.managers), ("pluginConfigs", self.others)):
            for key in sections:
                yield f"{part}.{key}", key


def section_path(descriptor: Descriptor) -> str:
    """Give the place of a plugin's section in the settings."""
    part = "deviceManagerConfigs" if isinstance(descriptor, DeviceManager) else "pluginConfigs"
    return f"{part}.{descriptor.settings_key}"
