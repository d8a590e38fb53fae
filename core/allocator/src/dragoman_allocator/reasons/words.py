"""Sentences about reasons. None ends with a full stop, so that they can be joined."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from dragoman_allocator.allocation import Check, DeviceId
from dragoman_allocator.allocation.rules import RESULTS_LIMIT
from dragoman_allocator.reasons.checking import UNWANTED
from dragoman_allocator.reasons.model import (
    ConstraintName,
    NodeReasons,
    RequestName,
    RequestReasons,
)

_SHOWN = 3


def summary(reasons: NodeReasons) -> str:
    """Say in one sentence what became of the claims on the node, with the nearest device where one is missing."""
    near = [] if reasons.everywhere else [nearest(each) for each in reasons.requests if each.missing]
    return "; nearest: ".join(filter(None, [gist(reasons), *near[:1]]))


def gist(reasons: NodeReasons) -> str:
    """Say the same without a device."""
    if reasons.results is not None:
        return "the claims fit"
    parts = [reasons.error] if reasons.error is not None and reasons.everywhere else _parts(reasons)
    if reasons.undecided:
        parts.append(f"the search was given up after {reasons.steps} steps")
    return "; ".join(parts) or "the claims do not fit"


def _parts(reasons: NodeReasons) -> list[str]:
    if reasons.conflict is not None:
        parts = [reasons.conflict.text]
    else:
        parts = [shortfall(each) for each in reasons.requests if each.missing or each.error]
    return [*parts, *(fault.text for fault in reasons.pools)]


def shortfall(request: RequestReasons) -> str:
    """Say how many devices a request lacks, and what is wrong with the others."""
    if request.error is not None:
        return request.error
    wanted = "all devices" if request.wanted is None else count(request.wanted, "device")
    lacks = _lacks_some_of_all(request) if request.wanted is None else _lacks_some(request)
    return f"request {request.request} wants {wanted} of class {request.device_class}, {lacks}"


def _lacks_some_of_all(request: RequestReasons) -> str:
    in_the_way = {check: number for check, number in request.tally.items() if check not in UNWANTED}
    if in_the_way:
        return f"{request.missing} of them cannot be had: {tallied(in_the_way)}"
    if request.tally:
        return f"none of {sum(request.tally.values())} matches: {tallied(request.tally)}"
    return "there are none"


def _lacks_some(request: RequestReasons) -> str:
    offered = sum(request.tally.values()) + request.fits
    if not offered:
        return "the node offers no devices at all"
    fits = f"{request.fits or 'none'} of {offered} {'fit' if request.fits > 1 else 'fits'}"
    return f"{fits}: {tallied(request.tally)}" if request.tally else fits


def tallied(tally: Mapping[Check, int]) -> str:
    """Count devices by the first check that they fail."""
    ordered = sorted(tally.items(), key=lambda item: (-item[1], item[0].value))
    return ", ".join(f"{number} {check.value}" for check, number in ordered)


def nearest(request: RequestReasons) -> str:
    """Name the device that fails the fewest checks, with them; empty where there is none."""
    first = next((each for each in request.devices if each.findings), None)
    if first is None:
        return ""
    return f"{first.device[2]}: {', and '.join(finding.text for finding in first.findings[:_SHOWN])}"


def unsatisfied(requests: Sequence[RequestName], constraints: Sequence[ConstraintName]) -> str:
    """Say that constraints keep requests from being had."""
    broken = listed([_constraint(each) for each in constraints])
    return f"no choice of devices for {_named(requests)} satisfies {broken}"


def over_limit(requests: Sequence[RequestName], least: int) -> str:
    """Say that the requests of a claim take more devices than fit into it."""
    verb = "take" if len(requests) > 1 else "takes"
    return f"{_named(requests)} {verb} at least {least} devices, more than the {RESULTS_LIMIT} that a claim can hold"


def scarce(requests: Sequence[RequestName], wanted: int, fitting: Collection[DeviceId]) -> str:
    """Say that requests want more devices together than fit any of them."""
    return f"{_named(requests)} want {count(wanted, 'device')} together, only {len(fitting)} fit: {_devices(fitting)}"


def clash(requests: Sequence[RequestName], refused: Mapping[Check, int]) -> str:
    """Say that devices fit the requests, though not all at once, and what they were turned down for."""
    why = f": {tallied(refused)}" if refused else ""
    if len(requests) == 1:
        return f"the devices of {_named(requests)} cannot be had together, though they fit one by one{why}"
    return f"{_named(requests)} cannot be had together, though devices fit one by one{why}"


def count(number: int, what: str) -> str:
    """Give a number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _devices(devices: Iterable[DeviceId]) -> str:
    names = sorted(device[2] for device in devices)
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _named(requests: Sequence[RequestName]) -> str:
    many = "requests" if len(requests) > 1 else "request"
    return f"{many} {listed([_short(each, requests) for each in requests])}"


def _short(request: RequestName, beside: Sequence[RequestName]) -> str:
    several = len({each.claim for each in beside}) > 1
    return f"{request.request} of claim {request.claim}" if several else request.request


def _constraint(constraint: ConstraintName) -> str:
    values = "; ".join(f"{name} has {', '.join(found) or 'none'}" for name, found in constraint.values.items())
    text = f"constraint #{constraint.index}, {constraint.kind} {constraint.attribute}"
    return f"{text} ({values})" if values else text
