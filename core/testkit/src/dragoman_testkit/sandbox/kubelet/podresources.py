"""The kubelet's pod-resources socket."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grpc

from dragoman.kubelet._proto import podresources_pb2 as messages
from dragoman.kubelet.rpc import service
from dragoman_testkit.sandbox.kubelet.cache import ClaimCache, Entry
from dragoman_testkit.sandbox.kubelet.pods import ContainerSpec, PodSpec


class PodResourcesServer:
    """Serves the active pods with the devices in the claim cache."""

    def __init__(self, socket: Path, pods: Mapping[str, PodSpec], cache: ClaimCache) -> None:
        self._socket = socket
        self._pods = pods
        self._cache = cache
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        self._socket.parent.mkdir(parents=True, exist_ok=True)
        self._server = grpc.aio.server()
        methods = {"List": self._list, "Get": self._get}
        self._server.add_generic_rpc_handlers([service(messages.DESCRIPTOR, "PodResourcesLister", methods)])
        self._server.add_insecure_port(f"unix:{self._socket}")
        await self._server.start()

    async def stop(self) -> None:
        """Stop listening."""
        if self._server:
            await self._server.stop(0)
            self._server = None

    async def _list(self, _request: Any, _context: Any) -> Any:
        return messages.ListPodResourcesResponse(pod_resources=[self._pod(pod) for pod in self._pods.values()])

    async def _get(self, request: Any, context: Any) -> Any:
        for pod in self._pods.values():
            if (pod.namespace, pod.name) == (request.pod_namespace, request.pod_name):
                return messages.GetPodResourcesResponse(pod_resources=self._pod(pod))
        text = f"pod {request.pod_name} in namespace {request.pod_namespace} not found"
        return await context.abort(grpc.StatusCode.UNKNOWN, text)

    def _pod(self, pod: PodSpec) -> Any:
        containers = [self._container(pod, container) for container in pod.containers]
        return messages.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)

    def _container(self, pod: PodSpec, container: ContainerSpec) -> Any:
        """All devices of each claim that the container names, whatever request; nothing if one claim is not known."""
        refs = dict.fromkeys(pod.claim_of(name) for name, _request in container.claims)
        entries = [self._cache.get(ref) for ref in refs]
        found = [] if None in entries else [_claim(entry) for entry in entries if entry]
        return messages.ContainerResources(name=container.name, dynamic_resources=found)


def _claim(entry: Entry) -> Any:
    resources = []
    ids: dict[str, list[Any]] = {driver: [] for driver in entry.drivers}
    for driver, device in entry.devices():
        # The kubelet's quirk: within a claim the ids of a driver add up from device to device.
        ids[driver] += [messages.CDIDevice(name=name) for name in device.cdi_device_ids]
        resource = messages.ClaimResource(
            cdi_devices=ids[driver], driver_name=driver, pool_name=device.pool, device_name=device.device
        )
        if device.share_id is not None:
            resource.share_id = device.share_id
        resources.append(resource)
    return messages.DynamicResource(
        claim_name=entry.ref.name, claim_namespace=entry.ref.namespace, claim_resources=resources
    )
