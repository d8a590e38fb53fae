"""DeviceClass and DeviceTaintRule."""

from __future__ import annotations

from dragoman_allocator.objects.claims import ClaimConfig, DeviceSelector
from dragoman_allocator.objects.meta import Metadata, Struct
from dragoman_allocator.objects.slices import DeviceTaint


class ClassSpec(Struct):
    """``spec`` of a class."""

    selectors: list[DeviceSelector] | None = None
    config: list[ClaimConfig] | None = None
    extended_resource_name: str | None = None


class DeviceClass(Struct):
    """A class that requests name."""

    metadata: Metadata = Metadata()
    spec: ClassSpec = ClassSpec()


class TaintSelector(Struct):
    """``spec.deviceSelector``: all members that are set must match; none set matches every device."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class TaintRuleSpec(Struct):
    """``spec`` of a rule; without a selector it taints nothing (1.37.0 and before: everything)."""

    device_selector: TaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Struct):
    """A taint put on devices by an administrator."""

    metadata: Metadata = Metadata()
    spec: TaintRuleSpec = TaintRuleSpec()
