"""From settings to parts: the small translations that building the agent takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from dragoman.cdi import CdiFolder
from dragoman.clock import Clock
from dragoman.engine.inventory import ScanTimes
from dragoman.engine.parts import Parts
from dragoman.hooks import Hooks
from dragoman.hooks.calls import Limits
from dragoman.kube.access import Access
from dragoman.kube.edge import KubeEdge
from dragoman.kubelet.edge import KubeletOptions
from dragoman.kubelet.podresources import PodResourcesClient
from dragoman.kubelet.registration import Retry
from dragoman.links import HostLinks
from dragoman.model.records import AllocationRow
from dragoman.plugins import PluginSet, contexts, load
from dragoman.plugins.sections import Sections
from dragoman.settings import Settings
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import Context, HostPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the engine meets of the outside, built from the settings."""

    settings: Settings
    clock: Clock
    kube: KubeEdge
    links: HostLinks
    cdi: CdiFolder
    pod_resources: PodResourcesClient

    @classmethod
    def build(cls, settings: Settings, node: str, clock: Clock) -> Outside:
        """Build it; nothing is connected yet."""
        access = Access(server=settings.kubernetes.server, kubeconfig=settings.kubernetes.kubeconfig)
        return cls(
            settings=settings,
            clock=clock,
            kube=KubeEdge.build(access, driver=settings.driver_name, node=node, clock=clock),
            links=HostLinks(HostPaths(sys=settings.paths.sys, proc=settings.paths.proc)),
            cdi=CdiFolder(settings.paths.cdi_dir, settings.driver_name),
            pod_resources=PodResourcesClient(settings.paths.kubelet_root / "pod-resources" / "kubelet.sock", clock),
        )

    def parts(
        self,
        ledger: Ledger,
        hooks: Hooks,
        node: str,
        rows_changed: Callable[[], None],
        came_late: Callable[[Iterable[str]], None],
        returned: Callable[[Sequence[AllocationRow]], None],
    ) -> Parts:
        """Give the surroundings of an engine over this ledger."""
        return Parts(
            driver=self.settings.driver_name,
            pool=node,
            ledger=ledger,
            hooks=hooks,
            links=self.links,
            cdi=self.cdi,
            clock=self.clock,
            events=self.kube.events,
            rows_changed=rows_changed,
            came_late=came_late,
            returned=returned,
        )


def plugin_set(settings: Settings, node: str) -> PluginSet:
    """Load the installed plugins. Raises ``StartupRefused``."""
    base = Context(
        node_name=node,
        driver_name=settings.driver_name,
        state_dir=settings.paths.state_dir,
        cdi_dir=settings.paths.cdi_dir,
        host=HostPaths(sys=settings.paths.sys, proc=settings.paths.proc),
    )
    return load(
        sections=sections(settings),
        context=contexts(base),
        required=settings.required_plugins,
        blocked=settings.blocked_plugins,
    )


def sections(settings: Settings) -> Sections:
    """Give the plugins' sections."""
    return Sections(managers=settings.device_manager_configs, others=settings.plugin_configs)


def limits(settings: Settings) -> Limits:
    """Give the time limits of hooks."""
    given = settings.limits
    known = {field.name for field in fields(given)}
    return Limits(**{field.name: getattr(given, field.name) for field in fields(Limits) if field.name in known})


def scan_times(settings: Settings) -> ScanTimes:
    """Give the times of scans."""
    return ScanTimes(interval=settings.inventory.interval, settle=settings.inventory.settle)


def kubelet(settings: Settings, node: str) -> KubeletOptions:
    """Give what the kubelet edge needs."""
    return KubeletOptions(
        driver=settings.driver_name,
        node=node,
        root=settings.paths.kubelet_root,
        pod_uid=settings.pod_uid,
        retry=Retry(
            interval=settings.dra_registration_retry_interval,
            timeout=settings.dra_registration_timeout,
            attempts=settings.dra_registration_max_attempts,
        ),
    )


def control_socket(settings: Settings) -> Path:
    """Give the path of the control socket."""
    return settings.paths.run_dir / "control.sock"


def driver_lock(settings: Settings) -> Path:
    """Give the path of the lock that agents of one driver share, whatever their state folders are."""
    return settings.paths.run_dir / f"{settings.driver_name}.lock"


def boot_id(settings: Settings) -> str:
    """Read the id of this boot of the host."""
    return (settings.paths.proc / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
