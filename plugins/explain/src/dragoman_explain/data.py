"""The answer for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman_allocator import reasons
from dragoman_allocator.decode import encode, to_json
from dragoman_allocator.eviction import Cause, Eviction
from dragoman_explain.question import Answer
from dragoman_explain.report import Held, NodeReport, Report
from dragoman_explain.store import Unusable
from dragoman_hookspecs import JsonObject


def render(answer: Answer) -> str:
    """Give ``{"release": …, "subjects": […]}``; the README describes the members. Raises ``Unusable``."""
    try:
        body = {"release": answer.release, "subjects": [_report(report) for report in answer.reports]}
        return msgspec.json.format(encode(body)).decode()
    except RecursionError:
        raise Unusable("parameters of the answer are nested too deeply to be written as JSON: ask for text") from None


def _report(report: Report) -> JsonObject:
    key = report.key
    members: JsonObject = {"kind": key.kind, "namespace": key.namespace, "name": key.name}
    members |= {"state": report.state.value, "text": report.text}
    more: JsonObject = {
        "before": report.before.value if report.before is not None else None,
        "notes": list(report.notes),
        "allocated": [_held(each) for each in report.held],
        "evictions": [_eviction(each) for each in report.evictions],
        "nodes": [_node(each) for each in report.nodes],
    }
    return members | _filled(more)


def _held(held: Held) -> JsonObject:
    more: JsonObject = {
        "reservedFor": list(held.reserved_for),
        "waitsFor": list(held.waits),
        "taints": [_cause(each) for each in held.causes],
    }
    return {"claim": held.claim, "allocation": to_json(held.allocation)} | _filled(more)


def _eviction(eviction: Eviction) -> JsonObject:
    at = None if eviction.at is None else eviction.at.isoformat()
    causes = [_cause(each) for each in eviction.causes]
    return {"namespace": eviction.namespace, "name": eviction.name, "at": at, "causes": causes}


def _cause(cause: Cause) -> JsonObject:
    return {
        "claim": cause.claim,
        "driver": cause.driver,
        "pool": cause.pool,
        "device": cause.device,
        "taint": to_json(cause.taint),
        "rule": cause.rule,
        "at": None if cause.at is None else cause.at.isoformat(),
    }


def _node(node: NodeReport) -> JsonObject:
    stuck = node.reasons is not None and node.reasons.results is None
    more: JsonObject = {
        "allocations": {name: to_json(each) for name, each in node.allocations.items()},
        "nodeAllocatableResourceClaimStatuses": [to_json(each) for each in node.charges],
        "reasons": reasons.to_json(node.reasons) if node.reasons is not None and stuck else None,
    }
    return {"node": node.node, "state": node.state.value, "text": node.text} | _filled(more)


def _filled(members: dict[str, Any]) -> JsonObject:
    return {name: value for name, value in members.items() if value}
