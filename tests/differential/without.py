"""Worlds with one rule's matter taken out: where no answer changes then, the worlds never put that rule to the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy

from tests.differential.worlds.constraints import wanted
from tests.differential.worlds.devices import Json


def _from_claims(*members: str) -> Callable[[Json], None]:
    def leave_out(question: Json) -> None:
        for claim in question["claims"]:
            for member in members:
                claim["spec"]["devices"].pop(member, None)

    return leave_out


def _from_requests(*members: str) -> Callable[[Json], None]:
    def leave_out(question: Json) -> None:
        for claim in question["claims"]:
            for one in wanted(claim["spec"]["devices"]["requests"]):
                for member in members:
                    one.pop(member, None)

    return leave_out


def _from_slices(*members: str) -> Callable[[Json], None]:
    def leave_out(question: Json) -> None:
        for one in question["slices"]:
            for member in members:
                one["spec"].pop(member, None)

    return leave_out


def _from_devices(*members: str) -> Callable[[Json], None]:
    def leave_out(question: Json) -> None:
        for device in _devices(question):
            for member in members:
                device.pop(member, None)

    return leave_out


def _without_policies(question: Json) -> None:
    for device in _devices(question):
        for capacity in device.get("capacity", {}).values():
            capacity.pop("requestPolicy", None)


def _without_groups(question: Json) -> None:
    for device in _devices(question):
        for entry in device.get("consumesCounters", ()):
            entry.pop("compatibilityGroups", None)


def _without_lists(question: Json) -> None:
    for device in _devices(question):
        for name in ("zones", "lanes"):
            device["attributes"].pop(name, None)


def _of_one_generation(question: Json) -> None:
    for one in question["slices"]:
        one["spec"]["pool"]["generation"] = 1


def _with_all_gates(question: Json) -> None:
    question["features"] = "all"


def _devices(question: Json) -> Iterator[Json]:
    for one in question["slices"]:
        yield from one["spec"].get("devices") or ()


RULES: dict[str, Callable[[Json], None]] = {
    "constraints": _from_claims("constraints"),
    "config": _from_claims("config"),
    "selectors": _from_requests("selectors"),
    "counts": _from_requests("count"),
    "All": _from_requests("allocationMode"),
    "tolerations": _from_requests("tolerations"),
    "admin access": _from_requests("adminAccess"),
    "capacity requests": _from_requests("capacity"),
    "derived attributes": _from_requests("derivedAttributes"),
    "taints": _from_devices("taints"),
    "counters": _from_devices("consumesCounters"),
    "sharing": _from_devices("allowMultipleAllocations"),
    "binding conditions": _from_devices("bindingConditions", "bindingFailureConditions"),
    "binding to nodes": _from_devices("bindsToNode"),
    "devices' nodes": _from_devices("nodeName", "allNodes", "nodeSelector"),
    "slices' nodes": _from_slices("nodeSelector", "allNodes"),
    "optional node operations": _from_slices("skipNodeOperations"),
    "request policies": _without_policies,
    "compatibility groups": _without_groups,
    "list attributes": _without_lists,
    "generations": _of_one_generation,
    "gates": _with_all_gates,
    "taint rules": lambda question: question["taintRules"].clear(),
    "allocated claims": lambda question: question["allocatedClaims"].clear(),
}


def without(rule: str, question: Json) -> Json:
    """Give the question with nothing in it that the rule is about."""
    found = deepcopy(question)
    RULES[rule](found)
    return found
