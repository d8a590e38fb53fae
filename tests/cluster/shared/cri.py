"""containerd as a kubelet asks it, over CRI: of each message the fields that tests need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.messages import make
from tests.cluster import image, objects

_ID = {"pod_sandbox_id": (1, "string")}
_CONTAINER = {"container_id": (1, "string")}
_MESSAGES: dict[str, Any] = make(
    "runtime.v1",
    {
        "PodSandboxMetadata": {"name": (1, "string"), "uid": (2, "string"), "namespace": (3, "string")},
        "NamespaceOption": {"network": (1, "int32")},
        "LinuxSandboxSecurityContext": {"namespace_options": (1, "NamespaceOption")},
        "LinuxPodSandboxConfig": {
            "cgroup_parent": (1, "string"),
            "security_context": (2, "LinuxSandboxSecurityContext"),
        },
        "PodSandboxConfig": {
            "metadata": (1, "PodSandboxMetadata"),
            "annotations": (7, "{}"),
            "linux": (8, "LinuxPodSandboxConfig"),
        },
        "RunPodSandboxRequest": {"config": (1, "PodSandboxConfig")},
        "RunPodSandboxResponse": _ID,
        "StopPodSandboxRequest": _ID,
        "StopPodSandboxResponse": {},
        "RemovePodSandboxRequest": _ID,
        "RemovePodSandboxResponse": {},
        "ContainerMetadata": {"name": (1, "string")},
        "ImageSpec": {"image": (1, "string")},
        "CDIDevice": {"name": (1, "string")},
        "ContainerConfig": {
            "metadata": (1, "ContainerMetadata"),
            "image": (2, "ImageSpec"),
            "command": (3, "[string]"),
            "CDI_devices": (17, "[CDIDevice]"),
        },
        "CreateContainerRequest": {
            "pod_sandbox_id": (1, "string"),
            "config": (2, "ContainerConfig"),
            "sandbox_config": (3, "PodSandboxConfig"),
        },
        "CreateContainerResponse": _CONTAINER,
        "StartContainerRequest": _CONTAINER,
        "StartContainerResponse": {},
    },
)
_HOST = 2
"""Namespace mode of the host."""


class Refused(Exception):
    """The runtime answered with an error; the text is its own."""


class Cri:
    """A connection to containerd at ``socket``; ``cgroup`` is where the sandboxes' cgroups go."""

    def __init__(self, socket: Path, cgroup: str) -> None:
        self._cgroup = cgroup
        self._channel = grpc.insecure_channel(f"unix:{socket}", options=[("grpc.default_authority", "localhost")])

    def close(self) -> None:
        """Close it."""
        self._channel.close()

    def config(self, uid: str, namespace: str, name: str, annotations: Mapping[str, str], *, host: bool) -> JsonObject:
        """Describe a sandbox; ``host``: in the host's network."""
        return {
            "metadata": {"name": name, "uid": uid, "namespace": namespace},
            "annotations": dict(annotations),
            "linux": {
                "cgroup_parent": self._cgroup,
                "security_context": {"namespace_options": {"network": _HOST if host else 0}},
            },
        }

    def run_sandbox(self, config: JsonObject) -> str:
        """Make a sandbox, and give its id. Raises ``Refused``."""
        return str(self._ask("RunPodSandbox", config=config).pod_sandbox_id)

    def stop_sandbox(self, sandbox: str) -> None:
        """Stop it. Raises ``Refused``."""
        self._ask("StopPodSandbox", pod_sandbox_id=sandbox)

    def remove_sandbox(self, sandbox: str) -> None:
        """Remove it. Raises ``Refused``."""
        self._ask("RemovePodSandbox", pod_sandbox_id=sandbox)

    def create_container(self, sandbox: str, name: str, config: JsonObject) -> str:
        """Create a container in it that runs for ever, and give its id. Raises ``Refused``."""
        inside = {
            "metadata": {"name": name},
            "image": {"image": image.BUSYBOX},
            "command": ["/bin/sh", "-c", objects.FOREVER],
        }
        answer = self._ask("CreateContainer", pod_sandbox_id=sandbox, config=inside, sandbox_config=config)
        return str(answer.container_id)

    def start_container(self, container: str) -> None:
        """Start it. Raises ``Refused``."""
        self._ask("StartContainer", container_id=container)

    def _ask(self, method: str, **fields: Any) -> Any:
        ask = self._channel.unary_unary(
            f"/runtime.v1.RuntimeService/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=_MESSAGES[f"{method}Response"].FromString,
        )
        try:
            return ask(_MESSAGES[f"{method}Request"](**fields), timeout=120, wait_for_ready=True)
        except grpc.RpcError as error:
            raise Refused(error.details()) from error
