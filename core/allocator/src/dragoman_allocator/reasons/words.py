"""Sentences about reasons. None ends with a full stop, so that they can be joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dragoman_allocator.allocation import Check
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
    if request.wanted is None:
        wanted = f"request {request.request} wants all devices of class {request.device_class}"
        wanted += f", {request.missing} of them cannot be had" if request.tally else ", there are none"
    else:
        wanted = f"request {request.request} wants {count(request.wanted, 'device')} of class {request.device_class}"
        offered = sum(request.tally.values()) + request.fits
        fits = f"{request.fits or 'none'} of {offered} {'fit' if request.fits > 1 else 'fits'}"
        wanted += f", {fits}" if offered else ", the node offers no devices at all"
    return f"{wanted}: {tallied(request.tally)}" if request.tally else wanted


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


def clash(
    requests: Sequence[RequestName],
    constraints: Sequence[ConstraintName],
    reasons: Sequence[RequestReasons],
    refused: Mapping[Check, int],
) -> str:
    """Say why requests do not fit together, or one does not although its devices fit one by one."""
    names = listed([_short(each, requests) for each in requests])
    many = "requests" if len(requests) > 1 else "request"
    if constraints:
        return (
            f"no choice of devices for {many} {names} satisfies {listed([_constraint(each) for each in constraints])}"
        )
    fitting = {each.device for request in reasons for each in request.devices if not each.findings}
    wanted = sum(request.wanted or 0 for request in reasons)
    if len(reasons) == len(requests) and all(request.wanted for request in reasons) and wanted > len(fitting):
        return f"{many} {names} want {count(wanted, 'device')} together, only {len(fitting)} fit: {_devices(fitting)}"
    why = f": {tallied(refused)}" if refused else ""
    return f"{many} {names} cannot be had together, though devices fit one by one{why}"


def count(number: int, what: str) -> str:
    """Give a number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def listed(names: Sequence[str]) -> str:
    """Join names as a sentence does."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _devices(devices: Iterable[tuple[str, str, str]]) -> str:
    names = sorted(device[2] for device in devices)
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _short(request: RequestName, beside: Sequence[RequestName]) -> str:
    several = len({each.claim for each in beside}) > 1
    return f"{request.request} of claim {request.claim}" if several else request.request


def _constraint(constraint: ConstraintName) -> str:
    values = "; ".join(f"{name} has {', '.join(found) or 'none'}" for name, found in constraint.values.items())
    text = f"constraint #{constraint.index}, {constraint.kind} {constraint.attribute}"
    return f"{text} ({values})" if values else text
