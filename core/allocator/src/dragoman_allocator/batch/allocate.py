"""Kind ``allocate``: what the scheduler would allocate for claims on one node, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self, TypeVar

from dragoman_allocator import reasons
from dragoman_allocator.allocation import Allocator
from dragoman_allocator.batch import patience
from dragoman_allocator.batch.line import Line
from dragoman_allocator.decode import to_json
from dragoman_allocator.features import Features
from dragoman_allocator.objects import DeviceClass, DeviceTaintRule, Node, ResourceClaim, ResourceSlice, Struct
from dragoman_allocator.objects.meta import JsonObject

T = TypeVar("T", bound=Struct)


def answer(line: Line) -> JsonObject:
    """Answer with ``results`` and ``steps``, or with ``error`` and ``errorOnNode`` (on this node only), and why.

    Raises ``InvalidInput``.
    """
    give_up = patience.until(patience.SECONDS)
    world = World.of(line)
    claims = line.objects("claims", ResourceClaim)
    node = line.object("node", Node)
    found = world.explainer().explain(claims, Node() if node is None else node, steps=None, give_up=give_up)
    if found.undecided:
        problem = "filter operation aborted: context deadline exceeded"
        return {"results": None, "error": problem, "errorOnNode": False, "reasons": reasons.to_json(found)}
    if found.error is not None:
        failure = {"error": found.error, "errorOnNode": not found.everywhere}
        return {"results": None, **failure, "reasons": reasons.to_json(found)}
    if found.results is None:
        return {"results": None, "steps": found.steps, "reasons": reasons.to_json(found)}
    return {"results": [to_json(result) for result in found.results], "steps": found.steps}


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
            slices=line.objects("slices", ResourceSlice),
            classes=line.objects("classes", DeviceClass),
            rules=line.objects("taintRules", DeviceTaintRule),
            allocated=cached(line.objects("allocatedClaims", ResourceClaim)),
            features=Features.of(line.get("features")),
        )

    def allocator(self) -> Allocator:
        """Give an allocator for it. Raises ``InvalidInput``."""
        return Allocator(self.slices, self.classes, self.rules, self.allocated, self.features)

    def explainer(self) -> reasons.Explainer:
        """Give one that also says why not. Raises ``InvalidInput``."""
        return reasons.Explainer(self.allocator(), self.slices, self.rules, self.allocated, self.features)


def cached(claims: Iterable[ResourceClaim]) -> list[ResourceClaim]:
    """Give the claims that the scheduler's cache would hold: of several with one name, the first."""
    kept: dict[tuple[str, str], ResourceClaim] = {}
    for claim in claims:
        kept.setdefault((claim.metadata.namespace, claim.metadata.name), claim)
    return list(kept.values())
