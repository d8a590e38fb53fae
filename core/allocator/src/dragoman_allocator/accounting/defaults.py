"""The API server's defaults of a pod, as far as accounting reads them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dragoman_allocator.objects import Container, Pod, RawQuantity


def complete(pod: Pod) -> Pod:
    """Give the pod with requests of its containers set where only limits are stated."""
    spec = pod.spec
    return replace(
        pod,
        spec=replace(spec, containers=_completed(spec.containers), init_containers=_completed(spec.init_containers)),
    )


def _completed(containers: list[Container] | None) -> list[Container] | None:
    return None if containers is None else [_complete(container) for container in containers]


def _complete(container: Container) -> Container:
    resources = container.resources
    if resources.limits is None:
        return container
    requests: Mapping[str, RawQuantity] = resources.requests or {}
    return replace(container, resources=replace(resources, requests={**resources.limits, **requests}))
