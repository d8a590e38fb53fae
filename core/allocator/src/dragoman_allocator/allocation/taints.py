"""Taints of devices, DeviceTaintRules and tolerations (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dragoman_allocator.objects import DeviceTaint, DeviceTaintRule, DeviceToleration, ResourceSlice


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Tell whether the toleration covers the taint: an empty effect or key covers all, an unknown operator nothing."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def untolerated(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Tell whether one of the taints is covered by no toleration."""
    return any(not any(tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def rules_for(
    rule_set: Sequence[DeviceTaintRule], slice_: ResourceSlice, *, fixed: bool
) -> list[tuple[str | None, DeviceTaint]]:
    """Give device name (None: every device) and taint of the rules that concern the slice, in the order of the rules.

    A rule without a selector taints nothing; before 1.37.1 it tainted everything (``fixed`` False).
    """
    found: list[tuple[str | None, DeviceTaint]] = []
    for rule in rule_set:
        selector = rule.spec.device_selector
        if selector is None:
            if not fixed:
                found.append((None, rule.spec.taint))
        elif selector.driver in (None, slice_.spec.driver) and selector.pool in (None, slice_.spec.pool.name):
            found.append((selector.device, rule.spec.taint))
    return found


def blocking(taints: Iterable[DeviceTaint]) -> tuple[DeviceTaint, ...]:
    """Give the taints whose effect keeps a device from being allocated unless tolerated."""
    return tuple(taint for taint in taints if taint.effect in ("NoSchedule", "NoExecute"))
