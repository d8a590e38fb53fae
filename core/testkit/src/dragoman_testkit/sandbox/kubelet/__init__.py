"""A kubelet stand-in: registration, claims of pods, health, pod resources, over the real sockets.

It behaves like the kubelet of 1.37 where a driver can tell; what containers run is not its business.
"""

from dragoman_testkit.sandbox.kubelet.fake import FakeKubelet
from dragoman_testkit.sandbox.kubelet.pods import (
    ClaimReader,
    ContainerSpec,
    PodSpec,
    PrepareFailed,
    Timings,
    UnprepareFailed,
    Wipe,
)

__all__ = [
    "ClaimReader",
    "ContainerSpec",
    "FakeKubelet",
    "PodSpec",
    "PrepareFailed",
    "Timings",
    "UnprepareFailed",
    "Wipe",
]
