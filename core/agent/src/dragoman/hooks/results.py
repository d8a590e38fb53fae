"""Checks what hooks return: of the right type in every field, and JSON where it goes into the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dragoman.schema import json_faults, misfits
from dragoman_hookspecs import (
    Attached,
    ContainerEdits,
    Fault,
    HealthReport,
    InvalidConfig,
    Inventory,
    JsonObject,
    Metadata,
    Prepared,
    Recovered,
    Recovery,
    WrittenMetadata,
)

_TYPES: dict[str, Any] = {
    "discover_devices": Inventory,
    "plan_device": JsonObject,
    "setup_device": Prepared,
    "attach_device": Attached,
    "detach_device": JsonObject,
    "recover_devices": list[Recovered],
    "device_metadata": Metadata,
    "container_edits": ContainerEdits,
    "write_metadata": WrittenMetadata,
}
"""What the hooks must return; the others return nothing, or are looked at apart."""


def result_faults(hook: str, request: Any, result: Any) -> list[str]:
    """Say everything that is wrong with the result of a hook."""
    return [str(fault) for fault in _faults(hook, request, result)]


def report_faults(reports: object) -> list[str]:
    """Say what is wrong with what a health watch reported."""
    return [str(fault) for fault in _listed(reports, HealthReport)]


def _faults(hook: str, request: Any, result: Any) -> Iterable[Fault]:
    if hook == "check_config":
        return _type_fault(result, InvalidConfig) if result is not None else ()
    if hook == "recover_devices":
        return _recovery_faults(request.records, result)
    expected = _TYPES.get(hook)
    if expected is None:
        return ()
    if expected is JsonObject:
        return _type_fault(result, dict) or _json_faults("", result)
    return _type_fault(result, expected) or [*_field_faults(expected, result), *_state_faults("", result)]


def _type_fault(result: object, expected: type) -> list[Fault]:
    wanted = "a JSON object (dict)" if expected is dict else expected.__name__
    return [] if isinstance(result, expected) else [Fault("", f"must be {wanted}, not {type(result).__name__}")]


def _field_faults(expected: type, result: object) -> Iterator[Fault]:
    for fault in misfits(expected, result):
        # One attribute that the API would refuse must not cost a scan: it is dropped when slices are made.
        if not (expected is Inventory and ".attributes" in fault.path):
            yield fault


def _state_faults(path: str, result: object) -> Iterator[Fault]:
    if isinstance(result, (Prepared, Attached)) and isinstance(result.state, dict):
        yield from _json_faults(f"{path}.state" if path else "state", result.state)


def _json_faults(path: str, value: object) -> list[Fault]:
    return [Fault(f"{path}.{fault.path}".strip("."), fault.message) for fault in json_faults(value)]


def _recovery_faults(records: Sequence[object], result: object) -> Iterator[Fault]:
    if faults := _listed(result, Recovered):
        yield from faults
        return
    assert isinstance(result, (list, tuple))
    if len(result) != len(records):
        yield Fault("", f"has {len(result)} answers for {len(records)} records")
    for index, answer in enumerate(result):
        yield from _state_faults(f"[{index}].prepared", answer.prepared)
        if answer.outcome is Recovery.RESTORED and answer.prepared is None:
            yield Fault(f"[{index}].prepared", "must hold the new state of a restored device")


def _listed(result: object, expected: type) -> Sequence[Fault]:
    if not isinstance(result, (list, tuple)):
        return [Fault("", f"must be a list of {expected.__name__}, not {type(result).__name__}")]
    return misfits(list[expected], list(result))  # type: ignore[valid-type]  # a type that is chosen at run time
