"""Configuration that goes with an allocation: from classes first, then from the claim (api-semantics 2.13)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from dragoman_allocator.allocation.rules import Rules
from dragoman_allocator.allocation.target import Target
from dragoman_allocator.objects import AllocationConfig, ClaimConfig, ResourceClaim


def allocation_config(claim: ResourceClaim, targets: Sequence[Target], rules: Rules) -> list[AllocationConfig]:
    """Give the entries; ``targets`` has the target of every request."""
    entries = _from_classes(targets) + _from_claim(claim.spec.devices.config or (), targets, rules)
    if not rules.fixed:
        return entries
    return [replace(entry, requests=None) if _covers_all(entry.requests or (), targets) else entry for entry in entries]


def _from_classes(targets: Sequence[Target]) -> list[AllocationConfig]:
    requests: dict[str, list[str]] = {}
    for target in targets:
        requests.setdefault(target.class_name, []).append(target.name)
    classes = {target.class_name: target.device_class for target in targets}
    return [
        AllocationConfig(source="FromClass", requests=requests[name], opaque=config.opaque)
        for name, device_class in classes.items()
        for config in device_class.spec.config or ()
    ]


def _from_claim(configs: Sequence[ClaimConfig], targets: Sequence[Target], rules: Rules) -> list[AllocationConfig]:
    entries: list[AllocationConfig] = []
    for config in configs:
        entry = AllocationConfig(source="FromClaim", requests=config.requests or None, opaque=config.opaque)
        named = sum(_names(config.requests or (), target) for target in targets)
        if not config.requests:
            entries.append(entry)
        elif named:
            entries += [entry] * (1 if rules.fixed else named)
    return entries


def _names(requests: Sequence[str], target: Target) -> bool:
    return any(name in requests for name in target.names)


def _covers_all(requests: Sequence[str], targets: Sequence[Target]) -> bool:
    return bool(requests) and all(_names(requests, target) for target in targets)
