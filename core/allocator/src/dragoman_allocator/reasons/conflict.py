"""The smallest part of claims that does not fit, found by leaving out one thing after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dragoman_allocator.allocation import Check, DeviceId
from dragoman_allocator.allocation.rules import RESULTS_LIMIT
from dragoman_allocator.allocation.target import claim_name
from dragoman_allocator.objects import DeviceConstraint, DeviceRequest, ResourceClaim
from dragoman_allocator.reasons import words
from dragoman_allocator.reasons.model import Conflict, ConstraintName, RequestName, RequestReasons
from dragoman_allocator.reasons.trials import Part, Trials, Verdict, reduced
from dragoman_allocator.reasons.values import Values

Refusals = Mapping[tuple[str, str], Mapping[DeviceId, Counter[Check]]]
"""By claim and request: what a search turned devices down for, and how often."""


class Core:
    """Requests and constraints of claims that do not fit, made smaller."""

    def __init__(self, trials: Trials, claims: Sequence[ResourceClaim]) -> None:
        self._trials = trials
        self.claims = claims
        self.minimal = True
        self.requests = [(n, index) for n, claim in enumerate(claims) for index in range(len(_requests(claim)))]
        self.constraints = [(n, index) for n, claim in enumerate(claims) for index in range(len(_constraints(claim)))]

    def shrink(self) -> None:
        """Leave out what is not needed for a misfit: one request alone if that is enough, else one after the other."""
        for part in self.requests:
            if self._misfits([part], []):
                self.requests, self.constraints, self.minimal = [part], [], True
                return
        for part in list(self.constraints):
            rest = [each for each in self.constraints if each != part]
            if self._misfits(self.requests, rest):
                self.constraints = rest
        for part in list(self.requests):
            rest = [each for each in self.requests if each != part]
            if rest and self._misfits(rest, self.constraints):
                self.requests = rest
        names = {(n, request.name) for n, index in self.requests for request in [_requests(self.claims[n])[index]]}
        self.constraints = [part for part in self.constraints if self._binds(part, names)]

    def kept(self) -> list[ResourceClaim]:
        """Give the claims with what is left."""
        return reduced(self.claims, self.requests, self.constraints)

    def administers(self) -> bool:
        """Tell whether what is left asks for administrator's access."""
        asked = (_requests(self.claims[n])[index].exactly for n, index in self.requests)
        return any(request is not None and request.admin_access for request in asked)

    def _binds(self, part: Part, names: set[tuple[int, str]]) -> bool:
        number, index = part
        named = _constraints(self.claims[number])[index].requests
        if not named:
            return any(n == number for n, _ in names)
        return any((number, each.partition("/")[0]) in names for each in named)

    def _misfits(self, requests: Sequence[Part], constraints: Sequence[Part]) -> bool:
        verdict = self._trials.verdict(reduced(self.claims, requests, constraints))
        self.minimal = self.minimal and verdict is not Verdict.UNKNOWN
        return verdict is Verdict.MISFITS


def describe(core: Core, surveyed: Sequence[RequestReasons], refusals: Refusals, values: Values) -> Conflict:
    """Say what is left of the claims, and why it does not fit."""
    names = [
        RequestName(claim=claim_name(core.claims[n]), request=_requests(core.claims[n])[index].name)
        for n, index in core.requests
    ]
    reasons = [each for each in surveyed if RequestName(claim=each.claim, request=_parent(each.request)) in names]
    constraints = [_constraint(core.claims[n], index, reasons, values) for n, index in core.constraints]
    if constraints:
        text = words.unsatisfied(names, constraints)
    else:
        # A device that is shared, or looked at by an administrator, may serve several requests.
        alone = not core.administers() and not any(map(values.shareable, reasons))
        text = _cause(names, reasons, _refused(reasons, refusals), alone=alone)
    return Conflict(requests=tuple(names), constraints=tuple(constraints), minimal=core.minimal, text=text)


def _cause(
    names: Sequence[RequestName], reasons: Sequence[RequestReasons], refused: Mapping[Check, int], *, alone: bool
) -> str:
    """Say why requests do not fit together; ``alone``: each device is for one of them only."""
    if len(names) == 1 and all(each.missing or each.error for each in reasons):
        return "; ".join(words.shortfall(each) for each in reasons)
    least = _least(reasons)
    if least > RESULTS_LIMIT and len({each.claim for each in names}) == 1:
        return words.over_limit(names, least)
    fitting = {each.device for request in reasons for each in request.devices if not each.findings}
    wanted = sum(request.wanted or 0 for request in reasons)
    if alone and len(reasons) == len(names) and all(request.wanted for request in reasons) and wanted > len(fitting):
        return words.scarce(names, wanted, fitting)
    return words.clash(names, refused)


def _least(reasons: Iterable[RequestReasons]) -> int:
    """Give how many devices the requests take with the smallest of the subrequests that they could have alone."""
    least: dict[tuple[str, str], int] = {}
    for each in reasons:
        if not each.missing and each.error is None:
            number = each.fits if each.wanted is None else each.wanted
            key = each.claim, _parent(each.request)
            least[key] = min(least.get(key, number), number)
    return sum(least.values())


def _refused(reasons: Iterable[RequestReasons], refusals: Refusals) -> Counter[Check]:
    """Count devices that fit alone by what they were turned down for."""
    found: Counter[Check] = Counter()
    for request in reasons:
        by_device = refusals.get((request.claim, request.request), {})
        for each in request.devices:
            if not each.findings:
                found.update(set(by_device.get(each.device, ())))
    if len(found) > 1:
        del found[Check.IN_USE]  # by one of these requests, which explains nothing
    return found


def _constraint(claim: ResourceClaim, index: int, reasons: Iterable[RequestReasons], values: Values) -> ConstraintName:
    spec = _constraints(claim)[index]
    kind = "matchAttribute" if spec.match_attribute is not None else "distinctAttribute"
    attribute = spec.match_attribute if spec.match_attribute is not None else spec.distinct_attribute or ""
    found = {
        each.request: values.of(claim, each, attribute)
        for each in reasons
        if each.claim == claim_name(claim) and _applies(spec, each.request)
    }
    return ConstraintName(claim=claim_name(claim), index=index, kind=kind, attribute=attribute, values=found)


def _applies(spec: DeviceConstraint, request: str) -> bool:
    return not spec.requests or request in spec.requests or _parent(request) in spec.requests


def _parent(request: str) -> str:
    return request.partition("/")[0]


def _requests(claim: ResourceClaim) -> Sequence[DeviceRequest]:
    return claim.spec.devices.requests or ()


def _constraints(claim: ResourceClaim) -> Sequence[DeviceConstraint]:
    return claim.spec.devices.constraints or ()
