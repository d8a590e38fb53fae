"""Reasons of small clusters."""

from __future__ import annotations

from dragoman_allocator.decode import decode
from dragoman_allocator.objects import DeviceTaintRule, Node, ResourceClaim, ResourceSlice
from dragoman_allocator.reasons import Explainer, NodeReasons, RequestReasons

from ..allocation.clusters import N1, Cluster, Json  # noqa: TID252 - tests have no package of their own


def explained(
    cluster: Cluster, *claims: Json, node: Json = N1, steps: int | None = None, remedies: bool = False
) -> NodeReasons:
    """Explain the claims together on a node."""
    explainer = Explainer(
        cluster.allocator(),
        [decode(ResourceSlice, one) for one in cluster.slices],
        [decode(DeviceTaintRule, one) for one in cluster.rules],
        [decode(ResourceClaim, one) for one in cluster.allocated],
        cluster.features,
    )
    asked = [decode(ResourceClaim, one) for one in claims]
    return explainer.explain(asked, decode(Node, node), steps=steps, remedies=remedies)


def texts(request: RequestReasons) -> dict[str, list[str]]:
    """Give what each device fails, in words."""
    return {each.device[2]: [finding.text for finding in each.findings] for each in request.devices}
