"""What the types of resource.k8s.io declare, by struct (1.37; without alpha ones, which change no answer)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from dragoman_allocator.validation import declared_formats as formats
from dragoman_allocator.validation.declared import Field, Struct
from dragoman_allocator.validation.devices import LISTS, SCALARS

_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OPERATIONS: Final = ("*", "NodePrepareResources", "NodeUnprepareResources")
_TYPED: Final = "DRAPartitionableDevicesType"

_driver: Final = Field("driver", required=True, checks=(formats.caseless, formats.at_most(63)))
_requests: Final = Field("requests", most=32, unique=())
_binding: Final = (Field("bindingConditions", most=4), Field("bindingFailureConditions", most=4))
_counters: Final = Field("counters", required=True, keys=formats.short)
_skipped: Final = Field("skipNodeOperations", unique=(), items=formats.one_of(_OPERATIONS), beta=False)
_opaque: Final = Field("opaque", struct="OpaqueDeviceConfiguration")
_asking: Final = (
    Field("selectors", most=32),
    Field("allocationMode", enum=("All", "ExactCount")),
    Field("tolerations", struct="DeviceToleration"),
    Field("derivedAttributes", most=32, struct="DeviceDerivedAttribute", beta=False),
)


def _number(name: str, least: int, *, required: bool = False) -> Field:
    return Field(name, required=required, checks=(formats.at_least(least),), beta=False)


def _new(name: str, *, required: bool = False, **rules: Any) -> Field:
    """Give a field of a kind that has no rules written by hand beside the declared ones."""
    return Field(name, required=required, beta=False, **rules)


_CLAIMS: Final[Mapping[str, Struct]] = {
    "ResourceClaim": Struct(
        (Field("spec", fixed=True, struct="ResourceClaimSpec"), Field("status", struct="ResourceClaimStatus"))
    ),
    "ResourceClaimTemplate": Struct((Field("spec", struct="ResourceClaimTemplateSpec"),)),
    "ResourceClaimTemplateSpec": Struct((Field("spec", struct="ResourceClaimSpec"),)),
    "ResourceClaimSpec": Struct((Field("devices", struct="DeviceClaim"),)),
    "DeviceClaim": Struct(
        (
            Field("requests", most=32, unique=("name",), matched=True, struct="DeviceRequest"),
            Field("constraints", most=32, struct="DeviceConstraint"),
            Field("config", most=32, struct="DeviceClaimConfiguration"),
        )
    ),
    "DeviceRequest": Struct(
        (
            Field("exactly", struct="ExactDeviceRequest"),
            Field("firstAvailable", most=8, unique=("name",), matched=True, struct="DeviceSubRequest"),
        )
    ),
    "ExactDeviceRequest": Struct(_asking),
    "DeviceSubRequest": Struct((Field("deviceClassName", required=True, checks=(formats.long,)), *_asking)),
    "DeviceToleration": Struct(
        (
            Field("key", checks=(formats.label_key,)),
            Field("operator", required=True, enum=("Equal", "Exists")),
            Field("effect", enum=_EFFECTS),
        )
    ),
    "DeviceDerivedAttribute": Struct(
        (_new("name", required=True, checks=(formats.qualified,)), _new("expression", required=True))
    ),
    "DeviceConstraint": Struct(
        (
            _requests,
            Field("matchAttribute", checks=(formats.qualified,)),
            Field("distinctAttribute", checks=(formats.qualified,)),
        )
    ),
    "DeviceClaimConfiguration": Struct((_requests, _opaque)),
    "OpaqueDeviceConfiguration": Struct((_driver,)),
    "ResourceClaimStatus": Struct(
        (
            Field("allocation", set_once=True, struct="AllocationResult"),
            Field("reservedFor", most=256, unique=("uid",)),
            Field(
                "devices",
                unique=("driver", "device", "pool", "shareID"),
                matched=True,
                struct="AllocatedDeviceStatus",
            ),
        )
    ),
    "AllocationResult": Struct((Field("devices", struct="DeviceAllocationResult"),)),
    "DeviceAllocationResult": Struct(
        (
            Field("results", most=32, struct="DeviceRequestAllocationResult"),
            Field("config", most=64, struct="DeviceAllocationConfiguration"),
        )
    ),
    "DeviceRequestAllocationResult": Struct(
        (
            _driver,
            Field("pool", required=True, checks=(formats.pool,)),
            Field("tolerations", struct="DeviceToleration"),
            *_binding,
            Field("shareID", checks=(formats.uuid,)),
            _skipped,
        )
    ),
    "DeviceAllocationConfiguration": Struct(
        (Field("source", required=True, enum=("FromClaim", "FromClass")), _requests, _opaque)
    ),
    "AllocatedDeviceStatus": Struct(
        (Field("shareID", checks=(formats.uuid,)), Field("networkData", struct="NetworkDeviceData"))
    ),
    "NetworkDeviceData": Struct(
        (
            Field("interfaceName", checks=(formats.bytes_at_most(256),)),
            Field("ips", most=16, unique=()),
            Field("hardwareAddress", checks=(formats.bytes_at_most(128),)),
        )
    ),
}

_SLICES: Final[Mapping[str, Struct]] = {
    "ResourceSlice": Struct((Field("spec", struct="ResourceSliceSpec"),)),
    "ResourceSliceSpec": Struct(
        (
            Field("devices", struct="Device"),
            Field("sharedCounters", most=8, unique=("name",), matched=True, struct="CounterSet"),
            _new("partitionTypeAttribute", gate=_TYPED, checks=(formats.qualified,)),
            _skipped,
        )
    ),
    "CounterSet": Struct((Field("name", required=True, checks=(formats.short,)), _counters)),
    "Device": Struct(
        (
            Field("attributes", struct="DeviceAttribute"),
            Field("consumesCounters", most=2, unique=("counterSet",), matched=True, struct="DeviceCounterConsumption"),
            Field("taints", struct="DeviceTaint"),
            *_binding,
            Field("nodeAllocatableResources", struct="NodeAllocatableResource"),
        )
    ),
    "DeviceAttribute": Struct((), union=(*SCALARS, *LISTS)),
    "DeviceCounterConsumption": Struct(
        (
            Field("counterSet", required=True, checks=(formats.short,)),
            _counters,
            Field("compatibilityGroups", most=2, unique=(), items=formats.short, beta=False),
        )
    ),
    "DeviceTaint": Struct((Field("effect", required=True, enum=_EFFECTS),)),
    "NodeAllocatableResource": Struct((Field("mapping", struct="NodeAllocatableMapping"),)),
    "NodeAllocatableMapping": Struct((), union=("capacityKey", "deviceMultiplier"), beta=False),
}

_OTHERS: Final[Mapping[str, Struct]] = {
    "DeviceClass": Struct(
        (Field("metadata", struct="ClassMetadata"), Field("spec", struct="DeviceClassSpec")),
    ),
    "ClassMetadata": Struct((Field("name", checks=(formats.long,)),)),
    "DeviceClassSpec": Struct(
        (
            Field("selectors", most=32),
            Field("config", most=32, struct="DeviceClassConfiguration"),
            Field("extendedResourceName", checks=(formats.extended_resource,)),
        )
    ),
    "DeviceClassConfiguration": Struct((_opaque,)),
    "DeviceTaintRule": Struct((Field("spec", struct="DeviceTaintRuleSpec"),)),
    "DeviceTaintRuleSpec": Struct((Field("taint", struct="DeviceTaint"),)),
    "ResourcePoolStatusRequest": Struct(
        (
            _new("spec", fixed=True, struct="ResourcePoolStatusRequestSpec"),
            _new("status", struct="ResourcePoolStatusRequestStatus"),
        )
    ),
    "ResourcePoolStatusRequestSpec": Struct(
        (
            _new("driver", required=True, checks=(formats.caseless,)),
            _new("poolName", checks=(formats.pool,)),
            _new("limit", required=True, checks=(formats.at_least(1), formats.number_at_most(1000))),
            _new("defaultPartitionTypeAttribute", gate=_TYPED, checks=(formats.qualified,)),
        )
    ),
    "ResourcePoolStatusRequestStatus": Struct(
        (
            _number("poolCount", 0, required=True),
            _new("pools", most=1000, struct="PoolStatus"),
            _new("conditions", most=10),
        )
    ),
    "PoolStatus": Struct(
        (
            _new("driver", required=True, checks=(formats.caseless,)),
            _new("poolName", required=True, checks=(formats.pool,)),
            _number("generation", 0, required=True),
            _number("resourceSliceCount", 1),
            *(_number(f"{name}Devices", 0) for name in ("total", "allocated", "available", "unavailable")),
            _new("nodeName", checks=(formats.long,)),
            _new("validationError", checks=(formats.bytes_at_most(256),)),
            _new("partitionSummary", most=32, unique=("attribute", "type"), matched=True, struct="PartitionTypeStatus"),
            _new("shareableSummary", struct="ShareableSummaryStatus"),
        )
    ),
    "PartitionTypeStatus": Struct(
        (
            _new("attribute", required=True),
            _new("type", required=True),
            _number("total", 0, required=True),
            _number("allocatable", 0, required=True),
        )
    ),
    "ShareableSummaryStatus": Struct(
        (
            _number("fullyAvailableDevices", 0, required=True),
            _number("partiallyAvailableDevices", 0, required=True),
            _new("capacity", most=32, struct="ShareableCapacityStatus"),
        )
    ),
    "ShareableCapacityStatus": Struct(
        tuple(_new(name, required=True) for name in ("name", "total", "consumed", "available"))
    ),
}

_PODS: Final[Mapping[str, Struct]] = {
    "Pod": Struct((_new("status", struct="PodStatus"),)),
    "PodStatus": Struct(
        (
            _new(
                "nodeAllocatableResourceClaimStatuses",
                unique=("resourceClaimName",),
                matched=True,
                struct="NodeAllocatableClaim",
            ),
        )
    ),
    "NodeAllocatableClaim": Struct(
        (
            _new("resourceClaimName", required=True),
            _new("containers", unique=()),
            _new("mapping", unique=("name",), matched=True, struct="NodeAllocatableMapped"),
            _new("overhead", unique=("name",), matched=True, struct="NodeAllocatableNamed"),
        )
    ),
    "NodeAllocatableMapped": Struct((_new("name", required=True), _new("quantity", required=True))),
    "NodeAllocatableNamed": Struct((_new("name", required=True),)),
}

_TABLE: Final = {**_CLAIMS, **_SLICES, **_OTHERS, **_PODS}


@lru_cache(maxsize=4)
def table(version: str) -> Mapping[str, Struct]:
    """Give the declarations of a version; v1beta1 has requests without ``exactly``, devices with ``basic``."""
    if version != "v1beta1":
        return _TABLE
    exactly, *rest = _TABLE["DeviceRequest"].fields
    spec = _TABLE["ResourceSliceSpec"]
    devices, *others = spec.fields
    return {
        **_TABLE,
        "DeviceRequest": Struct((replace(exactly, inline=True), *rest)),
        "ResourceSliceSpec": Struct((replace(devices, suffix=".basic"), *others)),
    }
