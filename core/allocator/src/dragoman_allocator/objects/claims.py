"""ResourceClaim and ResourceClaimTemplate."""

from __future__ import annotations

from typing import Any

from msgspec import field

from dragoman_allocator.objects.meta import Condition, Int64, Metadata, NodeSelector, RawQuantity, Struct


class CelSelector(Struct):
    """``selectors[].cel``."""

    expression: str = ""


class DeviceSelector(Struct):
    """``selectors[]``; no member at all is a kind this library does not know."""

    cel: CelSelector | None = None


class DeviceToleration(Struct):
    """``tolerations[]``."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(Struct):
    """``capacity``."""

    requests: dict[str, RawQuantity] | None = None


class DerivedAttribute(Struct):
    """``derivedAttributes[]`` (1.37, DRADerivedAttributes)."""

    name: str = ""
    expression: str = ""


class ExactRequest(Struct):
    """``requests[].exactly``; count and mode have the API server's defaults once decoded."""

    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: list[DerivedAttribute] | None = None


class DeviceSubRequest(Struct):
    """``requests[].firstAvailable[]``."""

    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: list[DeviceToleration] | None = None
    capacity: CapacityRequirements | None = None
    derived_attributes: list[DerivedAttribute] | None = None


class DeviceRequest(Struct):
    """``spec.devices.requests[]``."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class DeviceConstraint(Struct):
    """``spec.devices.constraints[]``."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class OpaqueConfig(Struct):
    """``config[].opaque``; parameters as decoded."""

    driver: str = ""
    parameters: Any = None


class ClaimConfig(Struct):
    """``config[]`` of a claim, or of a class (without requests)."""

    requests: list[str] | None = None
    opaque: OpaqueConfig | None = None


class ClaimDevices(Struct):
    """``spec.devices``."""

    requests: list[DeviceRequest] | None = None
    constraints: list[DeviceConstraint] | None = None
    config: list[ClaimConfig] | None = None


class ClaimSpec(Struct):
    """``spec``."""

    devices: ClaimDevices = ClaimDevices()


class DeviceResult(Struct):
    """``status.allocation.devices.results[]``."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    share_id: str | None = field(name="shareID", default=None)
    consumed_capacity: dict[str, RawQuantity] | None = None
    skip_node_operations: list[str] | None = None


class AllocationConfig(Struct):
    """``status.allocation.devices.config[]``; source is FromClass or FromClaim."""

    source: str = ""
    requests: list[str] | None = None
    opaque: OpaqueConfig | None = None


class AllocationDevices(Struct):
    """``status.allocation.devices``."""

    results: list[DeviceResult] | None = None
    config: list[AllocationConfig] | None = None


class AllocationResult(Struct):
    """``status.allocation``."""

    devices: AllocationDevices = AllocationDevices()
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ConsumerReference(Struct):
    """``status.reservedFor[]``."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Struct):
    """``status.devices[]``, as far as binding conditions read it."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = field(name="shareID", default=None)
    conditions: list[Condition] | None = None


class ClaimStatus(Struct):
    """``status``."""

    allocation: AllocationResult | None = None
    reserved_for: list[ConsumerReference] | None = None
    devices: list[AllocatedDeviceStatus] | None = None


class ResourceClaim(Struct):
    """A claim."""

    metadata: Metadata = Metadata()
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


class TemplateSpec(Struct):
    """``spec`` of a template: metadata and spec of the claims made from it."""

    metadata: Metadata = Metadata()
    spec: ClaimSpec = ClaimSpec()


class ResourceClaimTemplate(Struct):
    """A template of claims."""

    metadata: Metadata = Metadata()
    spec: TemplateSpec = TemplateSpec()
