"""The smallest part of claims that does not fit, found by leaving out one thing after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dragoman_allocator.allocation import Check, DeviceId
from dragoman_allocator.allocation.target import claim_name
from dragoman_allocator.objects import Attribute, Device, DeviceConstraint, DeviceRequest, ResourceClaim
from dragoman_allocator.reasons import words
from dragoman_allocator.reasons.model import Conflict, ConstraintName, RequestName, RequestReasons
from dragoman_allocator.reasons.trials import Part, Trials, Verdict, reduced

Refusals = Mapping[tuple[str, str], Mapping[DeviceId, Counter[Check]]]
"""By claim and request: what a search turned devices down for, and how often."""

_VALUES = 4


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


def describe(
    core: Core, surveyed: Sequence[RequestReasons], refusals: Refusals, devices: Mapping[DeviceId, Device]
) -> Conflict:
    """Say what is left of the claims, and why it does not fit."""
    names = [
        RequestName(claim=claim_name(core.claims[n]), request=_requests(core.claims[n])[index].name)
        for n, index in core.requests
    ]
    reasons = [each for each in surveyed if RequestName(claim=each.claim, request=_parent(each.request)) in names]
    constraints = [_constraint(core.claims[n], index, reasons, devices) for n, index in core.constraints]
    if len(names) == 1 and not constraints and all(each.missing or each.error for each in reasons):
        text = "; ".join(words.shortfall(each) for each in reasons)
    else:
        text = words.clash(names, constraints, reasons, _refused(reasons, refusals))
    return Conflict(requests=tuple(names), constraints=tuple(constraints), minimal=core.minimal, text=text)


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


def _constraint(
    claim: ResourceClaim, index: int, reasons: Iterable[RequestReasons], devices: Mapping[DeviceId, Device]
) -> ConstraintName:
    spec = _constraints(claim)[index]
    kind = "matchAttribute" if spec.match_attribute is not None else "distinctAttribute"
    attribute = spec.match_attribute if spec.match_attribute is not None else spec.distinct_attribute or ""
    values = {
        each.request: _values(each, attribute, devices)
        for each in reasons
        if each.claim == claim_name(claim) and _applies(spec, each.request)
    }
    return ConstraintName(claim=claim_name(claim), index=index, kind=kind, attribute=attribute, values=values)


def _values(request: RequestReasons, attribute: str, devices: Mapping[DeviceId, Device]) -> list[str]:
    """Give values of devices that fit alone, the last one as dots if there are many."""
    texts: dict[str, None] = {}
    for each in request.devices:
        if not each.findings:
            texts.update(dict.fromkeys(_texts(devices[each.device], each.device[0], attribute)))
    found = sorted(texts)
    return found if len(found) <= _VALUES else [*found[:_VALUES], "…"]


def _texts(device: Device, driver: str, attribute: str) -> Iterator[str]:
    domain, _, bare = attribute.partition("/")
    held = device.attributes or {}
    value = held.get(attribute) or (held.get(bare) if domain == driver else None) or Attribute()
    for each in (value.string, value.int_, value.bool_, value.version):
        if each is not None:
            yield str(each)
    for several in (value.strings, value.ints, value.bools, value.versions):
        yield from map(str, several or ())


def _applies(spec: DeviceConstraint, request: str) -> bool:
    return not spec.requests or request in spec.requests or _parent(request) in spec.requests


def _parent(request: str) -> str:
    return request.partition("/")[0]


def _requests(claim: ResourceClaim) -> Sequence[DeviceRequest]:
    return claim.spec.devices.requests or ()


def _constraints(claim: ResourceClaim) -> Sequence[DeviceConstraint]:
    return claim.spec.devices.constraints or ()
