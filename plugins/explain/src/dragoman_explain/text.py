"""The answer for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman_allocator.eviction import Cause
from dragoman_allocator.reasons import DeviceReasons, NodeReasons, RequestReasons, gist
from dragoman_explain.naming import short
from dragoman_explain.question import Answer
from dragoman_explain.report import Held, NodeReport, Report, State
from dragoman_explain.scope import allocation_text

_NAMES = 3


def render(answer: Answer, *, nodes: int, devices: int) -> str:
    """Give all reports; ``nodes`` of each with ``devices`` per request in detail, of others what is said of them."""
    if not answer.reports:
        return "nothing waits for devices"
    return "\n\n".join("\n".join(map(_printable, _report(report, nodes, devices))) for report in answer.reports)


def _report(report: Report, shown: int, devices: int) -> Iterator[str]:
    yield f"{short(report.key)}: {_headline(report)}"
    if report.before is not None:
        yield f"  without the change: {report.before.value}"
    yield from (f"  note: {note}" for note in report.notes)
    for held in report.held:
        yield from _held(held)
    for eviction in report.evictions:
        when = "at once" if eviction.at is None else f"at {eviction.at.isoformat()}"
        yield f"  pod {eviction.namespace}/{eviction.name} is evicted {when}: {_cause(eviction.causes[0])}"
    if any(node.fatal for node in report.nodes):
        return
    for node in report.nodes[:shown]:
        yield from _node(node, devices)
    yield from _others(report.nodes[shown:])


def _headline(report: Report) -> str:
    """Leave out of the text what stands below at the nearest node."""
    if report.state is not State.STUCK or len(report.nodes) < 2 or " on the nearest, " not in report.text:
        return report.text
    return f"stuck on all {len(report.nodes)} nodes, near misses first"


def _held(held: Held) -> Iterator[str]:
    users = f", reserved for {', '.join(held.reserved_for)}" if held.reserved_for else ""
    yield f"  claim {held.claim} has {allocation_text(held.allocation)}; on {held.nodes}{users}"
    yield from (f"    waits for {condition}" for condition in held.waits)
    for cause in held.causes:
        when = "at once" if cause.at is None else f"from {cause.at.isoformat()} on"
        yield f"    its pods have to go {when}: {_cause(cause)}"


def _cause(cause: Cause) -> str:
    by = f"rule {cause.rule}" if cause.rule else "its driver"
    taint = f"{cause.taint.key}={cause.taint.value}:{cause.taint.effect}"
    return f"taint {taint} of {by} on {cause.driver}/{cause.pool}/{cause.device}"


def _node(node: NodeReport, devices: int) -> Iterator[str]:
    yield f"  node {node.node}: {node.state.value}{'' if node.state is State.STUCK else f': {node.text}'}"
    for charge in node.charges:
        amounts = [f"{each.name} {each.quantity}" for each in charge.mapping or ()]
        amounts += [f"{each.name} overhead {each.per_pod or each.per_container}" for each in charge.overhead or ()]
        yield f"    claim {charge.resource_claim_name} adds {', '.join(amounts) or 'nothing'} to the pod"
    if node.state is State.STUCK:
        yield from _stuck(node, devices)


def _stuck(node: NodeReport, devices: int) -> Iterator[str]:
    reasons = node.reasons
    if reasons is None or reasons.results is not None:
        yield f"    {node.text}"
        return
    yield f"    {gist(reasons)}"
    for request in _missing(reasons):
        failed = [device for device in request.devices if device.findings][:devices]
        if failed:
            yield f"    nearest to request {request.request}:"
        yield from (f"      {_device(device)}" for device in failed)
    if reasons.conflict is not None and not reasons.conflict.minimal:
        yield "    the conflict may be smaller: the search for it was given up"
    for remedy in reasons.remedies:
        yield f"    would help here: {remedy.text}"


def _missing(reasons: NodeReasons) -> list[RequestReasons]:
    named = {(each.claim, each.request) for each in reasons.conflict.requests} if reasons.conflict else set()
    return [
        each
        for each in reasons.requests
        if each.missing and (not named or (each.claim, each.request.partition("/")[0]) in named)
    ]


def _device(device: DeviceReasons) -> str:
    driver, pool, name = device.device
    return f"{driver}/{pool}/{name}: {'; '.join(finding.text for finding in device.findings)}"


def _others(nodes: Sequence[NodeReport]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for node in nodes:
        text = node.state.value if node.state is State.FITS else f"{node.state.value}: {node.text}"
        alike.setdefault(text, []).append(node.node)
    for text, names in alike.items():
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        yield f"  {'nodes' if len(names) > 1 else 'node'} {', '.join(names[:_NAMES])}{more}: {text}"


def _printable(line: str) -> str:
    # What somebody named in the cluster must not drive the terminal.
    return line if line.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
