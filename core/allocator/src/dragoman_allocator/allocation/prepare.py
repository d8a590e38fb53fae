"""Reads the claims of an attempt and refuses what cannot be searched for (api-semantics 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from dragoman_allocator.allocation.attributes import AttributeTable, DerivedTable
from dragoman_allocator.allocation.capacity import Demand
from dragoman_allocator.allocation.checks import Check, Observer
from dragoman_allocator.allocation.constraints import Constraint, DistinctScalars, DistinctSets, MatchScalar, MatchSets
from dragoman_allocator.allocation.pools import Condition
from dragoman_allocator.allocation.rules import RESULTS_LIMIT, Copy, Rules
from dragoman_allocator.allocation.selectors import Expressions, SelectorCache
from dragoman_allocator.allocation.target import ClaimPlan, Look, RequestPlan, Target, claim_name
from dragoman_allocator.allocation.view import NodeView
from dragoman_allocator.amounts import wrap64
from dragoman_allocator.cel import Environment
from dragoman_allocator.errors import AllocationFailed
from dragoman_allocator.objects import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactRequest,
    RawQuantity,
    ResourceClaim,
)
from dragoman_allocator.quantity import parse

Request = ExactRequest | DeviceSubRequest


class Library:
    """What attempts share: selectors, demands and attribute tables, each made once."""

    def __init__(self, classes: Mapping[str, DeviceClass], environment: Environment, rules: Rules) -> None:
        self.classes = classes
        self.rules = rules
        self.selectors = SelectorCache(environment, hide_sharing=rules.stable)
        self._environment = environment
        self._demands: dict[tuple[tuple[str, str], ...], Demand] = {}
        self._attributes: dict[str, AttributeTable] = {}
        self._derived: dict[str, DerivedTable] = {}

    def demand(self, requests: Mapping[str, RawQuantity]) -> Demand:
        """Give what asking for these capacities means; the spelling counts, as it may be recorded."""
        key = tuple((name, raw if isinstance(raw, str) else parse(raw).text) for name, raw in requests.items())
        if key not in self._demands:
            self._demands[key] = Demand(requests, self.rules)
        return self._demands[key]

    def look(self, name: str, derived: Mapping[str, str]) -> Look:
        """Give how to look up an attribute for a request that derives these."""
        expression = derived.get(name)
        if expression is None:
            if name not in self._attributes:
                self._attributes[name] = AttributeTable(name, lists=self.rules.lists)
            return self._attributes[name].value
        if expression not in self._derived:
            self._derived[expression] = DerivedTable(expression, self._environment, lists=self.rules.lists)
        return partial(self._derived[expression].value, name)


class Preparation:
    """Turns claims into plans for one node."""

    def __init__(self, library: Library, view: NodeView, observer: Observer | None) -> None:
        self._library = library
        self._rules = library.rules
        self._view = view
        self._observer = observer

    def plan(self, index: int, claim: ResourceClaim) -> ClaimPlan:
        """Read one claim. Raises ``AllocationFailed``."""
        name = claim_name(claim)
        plans: list[RequestPlan] = []
        least = 0
        for position, request in enumerate(claim.spec.devices.requests or ()):
            self._refuse_features(name, request)
            plan = RequestPlan(self._targets(index, position, name, request), prioritized=bool(request.first_available))
            plans.append(plan)
            fewest = min(target.needed for target in plan.targets)
            if self._rules.fixed and fewest > wrap64(RESULTS_LIMIT - least):
                raise AllocationFailed(
                    f"claim {name}, request {request.name}: adding {fewest} devices exceeds the claim limit of"
                    f" {RESULTS_LIMIT}, with {least} already accounted for"
                )
            least = wrap64(least + fewest)
        if least > RESULTS_LIMIT:
            raise AllocationFailed(
                f"claim {name}: number of requested devices {least} exceeds the claim limit of {RESULTS_LIMIT}"
            )
        self._constrain(name, claim.spec.devices.constraints or (), plans)
        return ClaimPlan(claim, plans)

    def _refuse_features(self, claim: str, request: DeviceRequest) -> None:
        where = f"claim {claim}, request {request.name}"
        if request.first_available and not self._rules.prioritized_list:
            raise AllocationFailed(f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled")
        if self._rules.capacity or self._rules.stable:
            return
        off = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise AllocationFailed(f"{where}: {off}")
        for sub in request.first_available or ():
            if sub.capacity is not None:
                raise AllocationFailed(f"claim {claim}, subrequest {sub.name}: {off}")

    def _targets(self, index: int, position: int, claim: str, request: DeviceRequest) -> list[Target]:
        if not request.first_available:
            names = request.name, request.name, request.name
            return [self._target(index, position, claim, names, request.exactly or ExactRequest())]
        return [
            self._target(index, position, claim, (f"{request.name}/{sub.name}", request.name, sub.name), sub)
            for sub in request.first_available
        ]

    def _target(self, index: int, position: int, claim: str, names: tuple[str, str, str], request: Request) -> Target:
        name, of_request, label = names
        where = f"claim {claim}, request {label}"
        device_class = self._checked_class(where, request)
        capacity = request.capacity.requests if request.capacity is not None else None
        target = Target(
            claim=index,
            request=position,
            claim_name=claim,
            name=name,
            of_request=of_request,
            label=label,
            device_class=device_class,
            chain=self._library.selectors.chain(
                _expressions(device_class.spec.selectors),
                _expressions(request.selectors),
            ),
            demand=self._library.demand(capacity or {}),
            tolerations=request.tolerations or (),
            admin=isinstance(request, ExactRequest) and bool(request.admin_access),
            takes_all=request.allocation_mode == "All",
            derived={attribute.name: attribute.expression for attribute in request.derived_attributes or ()},
            observer=self._observer,
        )
        self._count(target, request)
        return target

    def _checked_class(self, where: str, request: Request) -> DeviceClass:
        if request.derived_attributes and not (self._rules.derived and self._rules.copy is Copy.EXPERIMENTAL):
            raise AllocationFailed(f"{where}: cannot handle request with derived attributes, the feature is disabled")
        if None in (expressions := _expressions(request.selectors)):
            index = expressions.index(None)
            raise AllocationFailed(f"{where}, selector #{index}: CEL expression empty (unsupported selector type?)")
        if not self._rules.admin_access and isinstance(request, ExactRequest) and request.admin_access is not None:
            raise AllocationFailed(f"{where}: admin access is requested, but the feature is disabled")
        name = request.device_class_name
        if not name:
            raise AllocationFailed(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._library.classes.get(name)
        if device_class is None:
            raise AllocationFailed(
                f'{where}: could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
            )
        return device_class

    def _count(self, target: Target, request: Request) -> None:
        if target.takes_all:
            self._find_all(target)
            target.needed = len(target.everything)
        elif request.allocation_mode == "ExactCount":
            target.needed = request.count
            target.selection = self._view.selection(target, fresh=self._observer is not None)
        else:
            raise AllocationFailed(f"{target.where}: unsupported count mode {request.allocation_mode}")

    def _find_all(self, target: Target) -> None:
        for pool in self._view.pools:
            if pool.condition is not Condition.USABLE:
                problem = f"resource pool {'/'.join(pool.id)} is {pool.condition.value}"
                raise AllocationFailed(f"{target.where}: asks for all devices, but {problem}")
            for device in pool.devices:
                found = self._view.examine(target, device)
                if isinstance(found, Check):
                    target.report(device.id, found)
                elif found.fit_alone() if self._rules.fixed else found.fit(device.use):
                    target.everything.append((device, pool, found))
                else:
                    target.report(device.id, Check.CAPACITY_UNFIT)

    def _constrain(
        self, claim: str, constraints: tuple[DeviceConstraint, ...] | list[DeviceConstraint], plans: list[RequestPlan]
    ) -> None:
        for number, spec in enumerate(constraints):
            constraint = self._constraint(spec)
            if constraint is None:
                raise AllocationFailed(
                    f"claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
            for plan in plans:
                for target in plan.targets:
                    if constraint.applies(target.names):
                        target.constraints.append(
                            (constraint, self._library.look(constraint.attribute, target.derived))
                        )

    def _constraint(self, spec: DeviceConstraint) -> Constraint | None:
        kind: Callable[[str, list[str]], Constraint]
        if spec.match_attribute is not None:
            kind = MatchSets if self._rules.lists else MatchScalar
            return kind(spec.match_attribute, spec.requests or [])
        if spec.distinct_attribute is not None and not self._rules.stable:
            kind = DistinctSets if self._rules.lists else DistinctScalars
            return kind(spec.distinct_attribute, spec.requests or [])
        return None


def _expressions(selectors: list[DeviceSelector] | None) -> Expressions:
    return tuple(None if selector.cel is None else selector.cel.expression for selector in selectors or ())
