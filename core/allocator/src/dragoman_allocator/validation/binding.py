"""Rules about binding conditions and skipped node operations, which devices and allocation results both have."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import formats
from dragoman_allocator.validation.errors import Errors, invalid

MOST_CONDITIONS: Final = 4
_BEFORE: Final = "bindingConditions"
_FAILED: Final = "bindingFailureConditions"
_NOT_ALONE: Final = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"


def binding(value: JsonObject, path: str) -> Errors:
    """Check both lists: neither without the other, nothing twice, nothing in both."""
    before, failed = value.get(_BEFORE, []), value.get(_FAILED, [])
    errors: Errors = []
    for name, found in ((_BEFORE, before), (_FAILED, failed)):
        errors += formats.listed(found, f"{path}.{name}", MOST_CONDITIONS, formats.label_key)
        errors += formats.repeated(found, f"{path}.{name}", by_rule=False)
    errors += [
        invalid(f"{path}.{_FAILED}[{index}]", one, f"{_FAILED} must not overlap with {_BEFORE}")
        for index, one in enumerate(failed)
        if one in before
    ]
    if failed and not before:
        errors.append(invalid(f"{path}.{_BEFORE}", before, f"{_BEFORE} are required to use {_FAILED}"))
    if before and not failed:
        errors.append(invalid(f"{path}.{_FAILED}", failed, f"{_FAILED} are required to use {_BEFORE}"))
    return errors


def node_operations(value: JsonObject, path: str) -> Errors:
    """Check what the kubelet is told to skip (1.37, DRAOptionalNodeOperations)."""
    skipped = value.get("skipNodeOperations", [])
    if "NodePrepareResources" in skipped and not {"NodeUnprepareResources", "*"} & {*skipped}:
        return [invalid(f"{path}.skipNodeOperations", skipped, _NOT_ALONE)]
    return []
