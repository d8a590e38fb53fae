"""Single changes after which claims fit on a node: each one that is named was tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from dragoman_allocator.allocation import Allocator, Check
from dragoman_allocator.decode import to_json
from dragoman_allocator.objects import (
    ClaimDevices,
    ClaimSpec,
    DeviceRequest,
    DeviceToleration,
    ExactRequest,
    ResourceClaim,
)
from dragoman_allocator.reasons.model import Conflict, Finding, Remedy, RequestReasons
from dragoman_allocator.reasons.trials import Trials, Verdict

TRIALS: Final = 24
"""Changes that are tried at most."""


class Remedies:
    """Tries changes of claims that do not fit; ``holders`` are allocated claims by ``namespace/name``."""

    def __init__(
        self,
        allocator: Allocator,
        trials: Trials,
        claims: Sequence[ResourceClaim],
        holders: Mapping[str, ResourceClaim],
    ) -> None:
        self._allocator = allocator
        self._trials = trials
        self._claims = claims
        self._holders = holders

    def found(self, reasons: Sequence[RequestReasons], conflict: Conflict | None) -> list[Remedy]:
        """Give the changes that help: a claim released, a taint tolerated, a constraint left out."""
        near = [finding for request in reasons for device in request.devices for finding in device.findings[:2]]
        remedies = [*self._constraints(conflict), *self._releases(near), *self._tolerations(near)]
        return [remedy for remedy in remedies if remedy is not None]

    def _releases(self, near: Iterable[Finding]) -> Iterator[Remedy | None]:
        names = [held["claim"] for finding in near for held in finding.data.get("holders", ())]
        for name in list(dict.fromkeys(names))[:TRIALS]:
            holder = self._holders.get(name)
            allocation = holder.status.allocation if holder is not None else None
            if holder is None or allocation is None:
                continue
            self._allocator.forget(holder, allocation)
            try:
                verdict = self._trials.verdict(self._claims)
            finally:
                self._allocator.assume(holder, allocation)
            yield _if(verdict, Remedy(kind="release", text=f"release claim {name}", data={"claim": name}))

    def _tolerations(self, near: Iterable[Finding]) -> Iterator[Remedy | None]:
        taints = [finding.data["taint"] for finding in near if finding.check is Check.TAINT]
        for taint in list({tuple(sorted(each.items())): each for each in taints}.values())[:TRIALS]:
            toleration = DeviceToleration(
                key=taint.get("key", ""), operator="Equal", value=taint.get("value", ""), effect=taint.get("effect", "")
            )
            verdict = self._trials.verdict([_tolerating(claim, toleration) for claim in self._claims])
            text = f"tolerate taint {toleration.key}={toleration.value}:{toleration.effect}"
            yield _if(verdict, Remedy(kind="tolerate", text=text, data={"toleration": to_json(toleration)}))

    def _constraints(self, conflict: Conflict | None) -> Iterator[Remedy | None]:
        for each in conflict.constraints if conflict is not None else ():
            changed = [_unbound(claim, each.index) if _name(claim) == each.claim else claim for claim in self._claims]
            text = f"leave out constraint #{each.index} of claim {each.claim}"
            data = {"claim": each.claim, "constraint": each.index}
            yield _if(self._trials.verdict(changed), Remedy(kind="unbind", text=text, data=data))


def _if(verdict: Verdict, remedy: Remedy) -> Remedy | None:
    return remedy if verdict is Verdict.FITS else None


def _name(claim: ResourceClaim) -> str:
    return "/".join(filter(None, (claim.metadata.namespace, claim.metadata.name)))


def _unbound(claim: ResourceClaim, index: int) -> ResourceClaim:
    devices = claim.spec.devices
    rest = [each for number, each in enumerate(devices.constraints or ()) if number != index]
    return replace(claim, spec=ClaimSpec(devices=ClaimDevices(requests=devices.requests, constraints=rest)))


def _tolerating(claim: ResourceClaim, toleration: DeviceToleration) -> ResourceClaim:
    devices = claim.spec.devices
    requests = [_tolerating_request(request, toleration) for request in devices.requests or ()]
    return replace(claim, spec=ClaimSpec(devices=ClaimDevices(requests=requests, constraints=devices.constraints)))


def _tolerating_request(request: DeviceRequest, toleration: DeviceToleration) -> DeviceRequest:
    if request.first_available:
        subs = [replace(sub, tolerations=[*(sub.tolerations or ()), toleration]) for sub in request.first_available]
        return replace(request, first_available=subs)
    exactly = request.exactly or ExactRequest()
    return replace(request, exactly=replace(exactly, tolerations=[*(exactly.tolerations or ()), toleration]))
