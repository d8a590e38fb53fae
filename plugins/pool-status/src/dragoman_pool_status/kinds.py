"""Where the API server has the objects that pool status is made of and answered to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_GROUP: Final = "/apis/resource.k8s.io"

SLICES: Final = f"{_GROUP}/v1/resourceslices"
CLAIMS: Final = f"{_GROUP}/v1/resourceclaims"
RULES: Final = tuple(f"{_GROUP}/{version}/devicetaintrules" for version in ("v1", "v1beta2", "v1alpha3"))
"""Newest first: v1 since 1.37, v1beta2 since 1.36, v1alpha3 before; a cluster may serve none of them."""


@dataclass(frozen=True, slots=True)
class RequestKind:
    """A kind of request: its collection, and whether nobody but this controller answers it."""

    path: str
    own: bool

    def of(self, name: str) -> str:
        """Give the path of one object."""
        return f"{self.path}/{name}"


BUILT_IN: Final = RequestKind(f"{_GROUP}/v1alpha3/resourcepoolstatusrequests", own=False)
"""Served wherever v1alpha3 is; answered by kube-controller-manager where DRAResourcePoolStatus is on (KEP-5677)."""
OWN: Final = RequestKind("/apis/resource.dragoman.dev/v1alpha1/resourcepoolstatusrequests", own=True)
"""The same kind as a CRD (``deploy/crds``), for clusters without it."""
