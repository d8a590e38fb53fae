"""What an entry point of group ``dragoman.plugins`` names: a descriptor, made without side effects at import.

    plugin = DeviceManager(type="dummy", settings_key="dummy", settings=DummySettings, create=Dummy)

An entry point may also name a tuple of descriptors. ``create(context, settings)`` makes the object whose methods,
marked ``@hookimpl``, are the hooks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = type[Any]
"""A frozen dataclass that describes a JSON object: settings or parameters."""

COMMON_PARAMETERS = frozenset(
    {
        "podIfName",
        "mtu",
        "mac",
        "addresses",
        "routes",
        "interfaceSysctlIPv4",
        "interfaceSysctlIPv6",
        "inherit",
    }
)
"""Parameters that apply to every link that is moved into a pod."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSettings:
    """Settings of a plugin that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPaths:
    """Where this process finds the host: all are settings, so that tests and containers can move them."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a plugin may know of the agent. Core never passes itself.

    ``state_dir`` is a folder of this plugin's own that survives reboots and is made before ``create``;
    ``cdi_dir`` is the folder of CDI specs. ``driver_name`` is the CDI vendor and attribute domain.
    ``logger`` writes into the agent's log with the plugin's name.
    """

    node_name: str
    driver_name: str
    state_dir: Path
    cdi_dir: Path
    host: HostPaths = field(default_factory=HostPaths)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("dragoman.plugin"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """Common part of the descriptors.

    ``settings_key``: the key of the plugin's section in the settings (``deviceManagerConfigs.<key>`` for managers,
    ``pluginConfigs.<key>`` for the others). ``settings``: a frozen dataclass; its field names in camelCase are the keys
    (see ``naming.json_key``), an unknown key is refused, and ``__post_init__`` may raise ``InvalidConfig``.
    ``create``: ``(context, settings) -> object``. ``strict_settings``: an invalid section stops the start of the agent
    instead of leaving this plugin out.
    """

    settings_key: str
    create: Callable[[Context, Any], object]
    settings: Schema = NoSettings
    strict_settings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceManager(Descriptor):
    """Descriptor of a device manager.

    ``type``: what the attribute ``deviceManager`` shows and the pool filter ``deviceManagers`` matches.
    ``applies``: the common parameters (JSON names, ``vlan`` among them) that this kind of device takes.
    ``parameters``: a frozen dataclass with the parameters that this manager adds, or None.
    ``concurrent``: how many calls on different devices may overlap; scans have a thread of their own in any case.
    """

    type: str
    applies: frozenset[str] = COMMON_PARAMETERS
    parameters: Schema | None = None
    concurrent: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer(Descriptor):
    """Descriptor of a plugin that writes something for each prepared claim, such as metadata files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller(Descriptor):
    """Descriptor of a cluster controller, run by ``dragoman controller``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands(Descriptor):
    """Descriptor of a plugin that only adds commands to the CLI."""


Plugin = DeviceManager | Writer | Controller | Commands
