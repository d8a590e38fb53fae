"""Reasons as plain JSON."""

from __future__ import annotations

from dragoman_allocator.allocation import Check
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.reasons import words
from dragoman_allocator.reasons.model import Conflict, DeviceReasons, NodeReasons, RequestReasons


def to_json(reasons: NodeReasons) -> JsonObject:
    """Give everything but results; members that would be empty are left out."""
    members = {
        "text": words.summary(reasons),
        "error": reasons.error,
        "undecided": reasons.undecided,
        "requests": [_request(each) for each in reasons.requests],
        "pools": [
            {"driver": each.driver, "pool": each.pool, "fault": each.fault.value, "text": each.text}
            for each in reasons.pools
        ],
        "conflict": _conflict(reasons.conflict) if reasons.conflict is not None else None,
        "remedies": [{"kind": each.kind, "text": each.text, **each.data} for each in reasons.remedies],
    }
    return {name: value for name, value in members.items() if value}


def word(check: Check) -> str:
    """Give the name of a check as JSON has it, such as ``InUse``."""
    return check.name.title().replace("_", "")


def _request(request: RequestReasons) -> JsonObject:
    members = {
        "claim": request.claim,
        "request": request.request,
        "deviceClassName": request.device_class,
        "wanted": "All" if request.wanted is None else request.wanted,
        "fits": request.fits,
        "missing": request.missing,
        "tally": {word(check): number for check, number in request.tally.items()},
        "devices": [_device(each) for each in request.devices],
    }
    return members if request.error is None else {**members, "error": request.error}


def _device(device: DeviceReasons) -> JsonObject:
    driver, pool, name = device.device
    members: JsonObject = {"driver": driver, "pool": pool, "device": name}
    if device.findings:
        members["failed"] = [{"check": word(each.check), "text": each.text, **each.data} for each in device.findings]
    if device.refused:
        members["refused"] = [word(check) for check in device.refused]
    return members


def _conflict(conflict: Conflict) -> JsonObject:
    return {
        "text": conflict.text,
        "requests": [{"claim": each.claim, "request": each.request} for each in conflict.requests],
        "constraints": [
            {
                "claim": each.claim,
                "index": each.index,
                each.kind: each.attribute,
                "values": {name: list(values) for name, values in each.values.items()},
            }
            for each in conflict.constraints
        ],
        "minimal": conflict.minimal,
    }
