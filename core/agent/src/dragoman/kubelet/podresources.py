"""The client of the kubelet's pod-resources socket: which devices belong to a pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc

from dragoman.clock import Clock
from dragoman.kubelet._proto import podresources_pb2
from dragoman.kubelet.rpc import call
from dragoman.model.errors import Unavailable

FIRST_PAUSE: Final = 0.02
LONGEST_PAUSE: Final = 0.2
PASSING: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
"""The socket is missing or the kubelet restarts; and its limit of 100 calls a second for all who ask."""


@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class PodDevice:
    """A device of one of a pod's claims; ``share_id`` is "" without a share.

    The CDI ids that the kubelet adds are left out: a device's list there holds the ids of the devices before it too.
    """

    claim_namespace: str
    claim_name: str
    driver: str
    pool: str
    device: str
    share_id: str


class PodResourcesClient:
    """Asks the kubelet, in at most ``timeout`` seconds: it stands on the way of a starting pod."""

    def __init__(self, socket: Path, clock: Clock, timeout: float = 0.5) -> None:
        self._socket = socket
        self._clock = clock
        self._timeout = timeout

    async def devices_of(self, namespace: str, pod: str) -> list[PodDevice]:
        """List the devices of all claims that the pod's containers name, each once; a pod unknown to it has none.

        Raises ``Unavailable``.
        """
        request = podresources_pb2.GetPodResourcesRequest(pod_name=pod, pod_namespace=namespace)
        deadline = self._clock.monotonic() + self._timeout
        pause = FIRST_PAUSE
        while True:
            try:
                response = await self._get(request, max(deadline - self._clock.monotonic(), FIRST_PAUSE))
                return list(dict.fromkeys(_devices(response.pod_resources)))
            except grpc.aio.AioRpcError as error:
                if _unknown_pod(error):
                    return []
                if error.code() not in PASSING or self._clock.monotonic() + pause >= deadline:
                    raise self._unavailable(namespace, pod, error) from error
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _get(self, request: Any, seconds: float) -> Any:
        # A channel for each call: one that was kept would wait out its back-off after the kubelet was away.
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"unix:{self._socket}", options=options) as channel:
            get = call(channel, podresources_pb2.DESCRIPTOR, "PodResourcesLister.Get")
            return await get(request, timeout=seconds)

    def _unavailable(self, namespace: str, pod: str, error: grpc.aio.AioRpcError) -> Unavailable:
        return Unavailable(
            f"the kubelet did not tell the devices of pod {namespace}/{pod} on {self._socket}: "
            f"{error.code().name}, {error.details()}; check that the socket is there and the kubelet runs"
        )


def _unknown_pod(error: grpc.aio.AioRpcError) -> bool:
    # The kubelet has no code for it, only the words.
    return error.code() is grpc.StatusCode.UNKNOWN and "not found" in (error.details() or "")


def _devices(resources: Any) -> Iterator[PodDevice]:
    for container in resources.containers:
        for claim in container.dynamic_resources:
            for device in claim.claim_resources:
                yield PodDevice(
                    claim_namespace=claim.claim_namespace,
                    claim_name=claim.claim_name,
                    driver=device.driver_name,
                    pool=device.pool_name,
                    device=device.device_name,
                    share_id=device.share_id,
                )
