"""Pods and nodes, as far as claims, eviction and node-allocatable accounting read them."""

from __future__ import annotations

from dragoman_allocator.objects.meta import Metadata, RawQuantity, Struct

Resources = dict[str, RawQuantity]


class ContainerClaim(Struct):
    """``resources.claims[]``."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Struct):
    """``resources`` of a container or of a pod."""

    requests: Resources | None = None
    limits: Resources | None = None
    claims: list[ContainerClaim] | None = None


class Container(Struct):
    """A container; ``restart_policy`` Always makes an init container a sidecar."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None


class PodClaim(Struct):
    """``spec.resourceClaims[]``."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Struct):
    """``spec``."""

    node_name: str = ""
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resource_claims: list[PodClaim] | None = None
    resources: ResourceRequirements | None = None
    overhead: Resources | None = None


class PodClaimStatus(Struct):
    """``status.resourceClaimStatuses[]``: the generated claim of a template; None where none is needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ClaimMapping(Struct):
    """``mapping[]`` of a node-allocatable claim status."""

    name: str = ""
    quantity: RawQuantity | None = None


class ClaimOverhead(Struct):
    """``overhead[]`` of a node-allocatable claim status."""

    name: str = ""
    per_pod: RawQuantity | None = None
    per_container: RawQuantity | None = None


class NodeAllocatableClaimStatus(Struct):
    """``status.nodeAllocatableResourceClaimStatuses[]`` (1.37)."""

    resource_claim_name: str = ""
    containers: list[str] | None = None
    mapping: list[ClaimMapping] | None = None
    overhead: list[ClaimOverhead] | None = None


class ExtendedClaimStatus(Struct):
    """``status.extendedResourceClaimStatus``: the claim that the scheduler made for extended resources (KEP-5004)."""

    resource_claim_name: str = ""


class PodStatus(Struct):
    """``status``."""

    phase: str = ""
    resource_claim_statuses: list[PodClaimStatus] | None = None
    extended_resource_claim_status: ExtendedClaimStatus | None = None
    node_allocatable_resource_claim_statuses: list[NodeAllocatableClaimStatus] | None = None


class Pod(Struct):
    """A pod."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeStatus(Struct):
    """``status`` of a node."""

    allocatable: Resources | None = None
    capacity: Resources | None = None
    declared_features: list[str] | None = None


class Node(Struct):
    """A node."""

    metadata: Metadata = Metadata()
    status: NodeStatus = NodeStatus()
