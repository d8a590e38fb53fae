"""The settings as one frozen object. It is the ``spec`` of a NodeConfig: field names in camelCase are the keys.

Checks of single values raise ``InvalidConfig`` with paths relative to the object that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dragoman.model.pools import PoolConfig
from dragoman.settings import checks
from dragoman_hookspecs import json_key

Section = Mapping[str, Any]
"""The section of one plugin as it stands; the schema in the plugin's descriptor checks it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where this process finds the host and keeps its own files. All are absolute."""

    kubelet_root: Path = Path("/var/lib/kubelet")
    cdi_dir: Path = Path("/var/run/cdi")
    nri_socket: Path = Path("/var/run/nri/nri.sock")
    state_dir: Path = Path("/var/lib/dragoman")
    run_dir: Path = Path("/run/dragoman")
    sys: Path = Path("/sys")
    proc: Path = Path("/proc")

    def __post_init__(self) -> None:
        checks.refuse((json_key(f.name), checks.absolute_path(getattr(self, f.name))) for f in fields(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class InventorySettings:
    """``interval``: seconds between scans. ``settle``: how long a hint waits for further ones, in seconds."""

    interval: float = 60
    settle: float = 2

    def __post_init__(self) -> None:
        checks.refuse(
            [
                ("interval", checks.between(self.interval, 1, 86_400, "seconds")),
                ("settle", checks.between(self.settle, 0, 60, "seconds")),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long each hook may take, in seconds. Watches and controllers run for ever and have no limit."""

    start: float = 30
    stop: float = 10
    apply_settings: float = 10
    discover_devices: float = 30
    check_config: float = 2
    plan_device: float = 5
    setup_device: float = 20
    attach_device: float = 10
    detach_device: float = 10
    free_device: float = 20
    recover_devices: float = 60
    device_metadata: float = 2
    container_edits: float = 2
    write_metadata: float = 10
    remove_metadata: float = 10
    register_commands: float = 5

    def __post_init__(self) -> None:
        checks.refuse(
            (json_key(f.name), checks.between(getattr(self, f.name), 0.01, 3600, "seconds")) for f in fields(self)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NriSettings:
    """How this plugin presents itself to the runtime. Plugins are called in the order of their two-digit ``index``."""

    index: str = "50"
    name: str = "dragoman"

    def __post_init__(self) -> None:
        checks.refuse([("index", checks.two_digits(self.index)), ("name", checks.dns_label(self.name))])


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesSettings:
    """How the API server is reached. Neither given: the service account of the pod.

    ``server``: URL of a server without authentication, for tests and the sandbox.
    """

    kubeconfig: Path | None = None
    server: str | None = None

    def __post_init__(self) -> None:
        both = self.kubeconfig is not None and self.server is not None
        checks.refuse(
            [
                ("kubeconfig", None if self.kubeconfig is None else checks.absolute_path(self.kubeconfig)),
                ("server", None if self.server is None else checks.http_url(self.server)),
                ("server", "cannot be given together with kubeconfig" if both else None),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingSettings:
    """``level``: trace, debug, info, warning or error. ``format``: text for people, json for collectors."""

    level: str = "info"
    format: str = "text"

    def __post_init__(self) -> None:
        checks.refuse(
            [
                ("level", checks.one_of(self.level, ("trace", "debug", "info", "warning", "error"))),
                ("format", checks.one_of(self.format, ("text", "json"))),
            ]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSettings:
    """``interval``: seconds after which health is sent to the kubelet again although nothing changed."""

    interval: float = 10

    def __post_init__(self) -> None:
        checks.refuse([("interval", checks.between(self.interval, 1, 3600, "seconds"))])


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanSettings:
    """``grace_time``: seconds that a row waits, whose claim, sandbox and kubelet entry are gone, before it is freed."""

    grace_time: float = 300

    def __post_init__(self) -> None:
        checks.refuse([("graceTime", checks.between(self.grace_time, 0, 604_800, "seconds"))])


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a node.

    ``dra_registration_*``: seconds between attempts, seconds for each attempt, number of attempts.
    ``device_manager_configs`` and ``plugin_configs``: settings key to section, unchecked here: a section of a plugin
    that is not installed is no error of the node. ``pools`` empty: every device is published, without a pool.
    ``node_name`` empty: the name of the host. ``required_plugins``, ``blocked_plugins``: names of distributions.
    """

    driver_name: str = "net.dragoman.dev"
    node_name: str = ""
    pod_uid: str = ""
    dra_registration_retry_interval: float = 1
    dra_registration_timeout: float = 5
    dra_registration_max_attempts: int = 10
    device_manager_configs: Mapping[str, Section] = field(default_factory=dict)
    plugin_configs: Mapping[str, Section] = field(default_factory=dict)
    required_plugins: tuple[str, ...] = ()
    blocked_plugins: tuple[str, ...] = ()
    pools: tuple[PoolConfig, ...] = ()
    paths: Paths = field(default_factory=Paths)
    inventory: InventorySettings = field(default_factory=InventorySettings)
    limits: Limits = field(default_factory=Limits)
    nri: NriSettings = field(default_factory=NriSettings)
    kubernetes: KubernetesSettings = field(default_factory=KubernetesSettings)
    logging: LoggingSettings = field(default_factory=LoggingSettings)
    health: HealthSettings = field(default_factory=HealthSettings)
    orphans: OrphanSettings = field(default_factory=OrphanSettings)

    def __post_init__(self) -> None:
        checks.refuse([*self._values(), *checks.pools(self.pools), *self._plugins()])

    def _values(self) -> list[checks.Finding]:
        retry, timeout = self.dra_registration_retry_interval, self.dra_registration_timeout
        return [
            ("driverName", checks.driver_name(self.driver_name)),
            ("nodeName", checks.dns_subdomain(self.node_name) if self.node_name else None),
            ("podUid", checks.uid(self.pod_uid) if self.pod_uid else None),
            (
                "draRegistrationRetryInterval",
                checks.between(retry, 0.01, 600, "seconds"),
            ),
            ("draRegistrationTimeout", checks.between(timeout, 0.01, 600, "seconds")),
            (
                "draRegistrationMaxAttempts",
                checks.between(self.dra_registration_max_attempts, 1, 10**6, "attempts"),
            ),
        ]

    def _plugins(self) -> list[checks.Finding]:
        return [
            (f"blockedPlugins[{index}]", f"{name} is also in requiredPlugins")
            for index, name in enumerate(self.blocked_plugins)
            if name in self.required_plugins
        ]
