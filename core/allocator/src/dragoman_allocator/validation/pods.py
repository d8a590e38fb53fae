"""Rules about what pods say of claims that use a node's allocatable resources (KEP-5517, api-semantics 5.2).

Only these; a pod has many more, which have nothing to do with claims.
"""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import Errors, invalid

CLAIMS: Final = "nodeAllocatableResourceClaimStatuses"
_AMOUNTS: Final = ("perPod", "perContainer")


def prepare_status(new: JsonObject, old: JsonObject | None, features: Features) -> None:
    """Keep what an update leaves out (an empty list clears); drop it where the gate is off and it was not in use."""
    stored = {} if old is None else old["status"]
    for name in ("resourceClaimStatuses", CLAIMS):
        if name in stored:
            new["status"].setdefault(name, stored[name])
    if not features.on("DRANodeAllocatableResources") and not stored.get(CLAIMS):
        new["status"].pop(CLAIMS, None)


def update_status(pod: JsonObject) -> Errors:
    """Check the entries of the status."""
    references = (*pod["spec"].get("resourceClaims", []), *pod["status"].get("resourceClaimStatuses", []))
    known = {reference.get("resourceClaimName") for reference in references}
    errors: Errors = []
    for index, entry in enumerate(pod["status"].get(CLAIMS, [])):
        path, name = f"status.{CLAIMS}[{index}]", entry.get("resourceClaimName")
        if name is None:
            continue  # the declared rule tells
        if name not in known:
            errors.append(invalid(f"{path}.resourceClaimName", name, "no mapping found in pod reference"))
        for at, amount in enumerate(entry.get("mapping", [])):
            errors += _amount(amount, f"{path}.mapping[{at}]", ("quantity",))
        for at, amount in enumerate(entry.get("overhead", [])):
            errors += _amount(amount, f"{path}.overhead[{at}]", _AMOUNTS)
            if not amount.keys() & {*_AMOUNTS}:
                text = "at least one of perPod or perContainer must be set"
                errors.append(invalid(f"{path}.overhead[{at}]", "", text))
    return errors


def _amount(value: JsonObject, path: str, members: tuple[str, ...]) -> Errors:
    name = value.get("name", "")
    errors = [
        invalid(f"{path}.{member}", value[member].text, "must be non-negative")
        for member in members
        if member in value and value[member].sign < 0
    ]
    if not names.node_allocatable(name):
        errors.append(invalid(f"{path}.name", name, "must be a node allocatable resource name"))
    return errors
