"""Kind ``allocate``: what the scheduler would allocate for claims on one node, and why not otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeVar

from dragoman_allocator.allocation import Allocator
from dragoman_allocator.batch.line import Line
from dragoman_allocator.decode import decode, decode_list, to_json
from dragoman_allocator.errors import AllocationFailed, FailedOnNode, InvalidMember
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, DeviceTaintRule, Node, ResourceClaim, ResourceSlice, Struct
from dragoman_allocator.objects.meta import JsonObject

T = TypeVar("T", bound=Struct)


def answer(line: Line) -> JsonObject:
    """Answer with ``results`` and ``steps``, or with ``error`` and ``errorOnNode`` (on this node only).

    Raises ``InvalidInput``.
    """
    allocator = World.of(line).allocator()
    claims = objects(line, "claims", ResourceClaim)
    raw = line.raw("node")
    node = decode(Node, raw) if raw is not None else Node()
    try:
        outcome = allocator.allocate(claims, node)
    except AllocationFailed as failure:
        return {"results": None, "error": str(failure), "errorOnNode": isinstance(failure, FailedOnNode)}
    results: Any = None if outcome.results is None else [to_json(result) for result in outcome.results]
    return {"results": results, "steps": outcome.steps}


@dataclass(frozen=True, slots=True)
class World:
    """What the scheduler sees of a cluster besides claims to allocate and nodes."""

    slices: list[ResourceSlice]
    classes: list[DeviceClass]
    rules: list[DeviceTaintRule]
    allocated: list[ResourceClaim]
    features: Features

    @classmethod
    def of(cls, line: Line) -> Self:
        """Read a line. Raises ``InvalidInput``."""
        return cls(
            slices=objects(line, "slices", ResourceSlice),
            classes=objects(line, "classes", DeviceClass),
            rules=objects(line, "taintRules", DeviceTaintRule),
            allocated=objects(line, "allocatedClaims", ResourceClaim),
            features=Features.of(line.get("features")),
        )

    def allocator(self) -> Allocator:
        """Give an allocator for it. Raises ``InvalidInput``."""
        return Allocator(self.slices, self.classes, self.rules, self.allocated, self.features)


def objects(line: Line, name: str, kind: type[T]) -> list[T]:
    """Read a member that is a list of objects. Raises ``InvalidInput``, naming the member."""
    try:
        return decode_list(kind, line.raw(name))
    except InvalidMember as problem:
        raise problem.below(name) from problem
