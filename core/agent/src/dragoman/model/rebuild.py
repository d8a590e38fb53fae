"""Rows of the ledger from what the API server knows of a claim: for a ledger that was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.model import envelope
from dragoman.model.claims import AllocationResult, Claim, StatusEntry
from dragoman.model.envelope import BadEnvelope, Envelope, Whereabouts
from dragoman.model.parameters import Kind, merge
from dragoman.model.plan import Known
from dragoman.model.records import AllocationRow
from dragoman_hookspecs import Device, InvalidConfig, JsonObject, Link, Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """A device as a former life had prepared it. ``whereabouts`` is where it was then, which need not be so now."""

    row: AllocationRow
    whereabouts: Whereabouts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is known again of a claim. ``problems``: a sentence for each device that is not."""

    devices: tuple[Former, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The node whose ledger was lost. ``find`` finds a device that is seen now, ``kind`` what a manager takes."""

    driver: str
    pool: str
    boot_id: str
    find: Callable[[str], Known | None]
    kind: Callable[[str], Kind | None]


def own_entries(claim: Claim, driver: str) -> Sequence[StatusEntry]:
    """Give the driver's entries: a claim that has some was prepared before, here or on another node."""
    return [entry for entry in claim.entries if entry.driver == driver and entry.data is not None]


def know_again(claim: Claim, node: Node) -> Found:
    """Give the devices of a claim that this node had prepared. A bad entry is the problem of its device alone.

    A device without an entry is left out: either it was never prepared, or the agent died before that was told.
    """
    devices, problems = [], []
    ours = [result for result in claim.results or () if result.driver == node.driver]
    for position, result in enumerate(ours):
        if result.pool != node.pool:
            continue
        entry = _entry(claim, result)
        if entry is None:
            problems.append(f"device {result.device} of {claim.ref} has no status entry that tells how it was prepared")
            continue
        try:
            devices.append(_know_again(claim, result, position, entry, node))
        except BadEnvelope as error:
            problems.append(f"{claim.ref}: {error}")
    return Found(devices=tuple(devices), problems=tuple(problems))


def _entry(claim: Claim, result: AllocationResult) -> StatusEntry | None:
    key = result.driver, result.pool, result.device, result.share_id
    entries = own_entries(claim, result.driver)
    return next((entry for entry in entries if (entry.driver, entry.pool, entry.device, entry.share_id) == key), None)


def _know_again(claim: Claim, result: AllocationResult, position: int, entry: StatusEntry, node: Node) -> Former:
    told = envelope.decode(entry.data, result.device)
    if "config" in told.cut:
        told = replace(told, parameters=_parameters(claim, result, node.kind(told.manager)))
    if "advertised" in told.cut:
        told = replace(told, device=_device(told, node.find(result.device)))
    row = told.row(claim, result, position)
    if result.admin_access:  # nothing is set up for it, and the entry may be that of a result that holds the device
        return Former(row=replace(row, parameters={}, plan={}, prepared=Prepared()))
    return Former(row=row, whereabouts=_whereabouts(told, node.boot_id))


def _parameters(claim: Claim, result: AllocationResult, kind: Kind | None) -> JsonObject:
    try:
        merged = merge(claim.config, result.driver, result.request)
    except InvalidConfig:
        return {}
    return {key: value for key, value in merged.items() if kind is None or key in kind.keys}


def _device(told: Envelope, known: Known | None) -> Device:
    same = known is not None and known.device.identity == told.device.identity
    return replace(known.device, link=told.device.link) if known is not None and same else told.device


def _whereabouts(told: Envelope, boot_id: str) -> Whereabouts | None:
    """Give the whereabouts unless the host was started anew since, or they are those of another link."""
    former, target = told.whereabouts, told.prepared.target
    if former is None or former.boot_id != boot_id:
        return None
    if isinstance(target, Link) and former.snapshot is not None and former.snapshot.get("identity") != target.identity:
        return None
    return former
