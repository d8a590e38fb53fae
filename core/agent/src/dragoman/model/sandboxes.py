"""Pods and sandboxes as the container runtime tells them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A pod sandbox. ``netns_path`` is None for a pod in the host's network, or when the namespace is gone."""

    id: str
    pod_uid: str
    pod_namespace: str
    pod_name: str
    netns_path: str | None
    ips: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"pod {self.label}"

    @property
    def label(self) -> str:
        """Name of the pod, as every record of the log has it."""
        return f"{self.pod_namespace}/{self.pod_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container that the runtime is about to create."""

    id: str
    sandbox_id: str
    name: str
