"""What ``dragoman pools`` shows, from a cluster or from manifests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.eviction import Cause, Taints, causes
from dragoman_allocator.features import Features
from dragoman_allocator.objects import PoolStatus
from dragoman_allocator.pool_status import Holder, Selection, describe, holders
from dragoman_hookspecs import Connect, DragomanError
from dragoman_kit.manifests import or_files
from dragoman_pool_status import live, manifests
from dragoman_pool_status.objects import Objects
from dragoman_pool_status.table import printable, table

Evictions: TypeAlias = Mapping[tuple[str, str, str, str], Cause]
"""By claim (``namespace/name``), driver, pool and device."""


class NoEvictions(DragomanError):
    """Nobody can tell which claims must leave their devices, and when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The options of the command."""

    files: Sequence[Path] = ()
    kubeconfig: Path | None = None
    context: str | None = None
    request_timeout: float | None = None
    driver: str | None = None
    pool: str | None = None
    partition_attribute: str | None = None
    holders: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Pools by driver and name, and who holds their devices, and for how long, where that was asked.

    ``note``: why there are none.
    """

    pools: Sequence[PoolStatus]
    holders: Sequence[Sequence[Holder]] | None
    evictions: Evictions = field(default_factory=dict)
    note: str = ""

    def json(self) -> str:
        """Give a list of pools as ``status.pools`` of a request has them, with ``holders`` where they were asked."""
        pools = [msgspec.to_builtins(pool) for pool in self.pools]
        for pool, held in zip(pools, self.holders or (), strict=bool(self.holders)):
            pool["holders"] = [_holder(each) | self._eviction(pool, each) for each in held]
        return msgspec.json.format(msgspec.json.encode(pools)).decode()

    def table(self) -> str:
        """Give a table of pools, followed by one of holders."""
        columns = ("driver", "pool", "node", "devices", "allocated", "available", "unavailable", "partitions", "shares")
        text = table((*columns, "fault"), [_row(pool) for pool in self.pools])
        if self.holders is None:
            return text
        rows = [
            (pool.driver, pool.pool_name, held.device, held.claim, held.request, *_details(held), self._end(pool, held))
            for pool, of in zip(self.pools, self.holders, strict=True)
            for held in of
        ]
        heads = ("driver", "pool", "device", "claim", "request", "for", "share", "consumed", "admin", "evicted")
        return f"{text}\n\n{table(heads, rows)}"

    def _end(self, pool: PoolStatus, held: Holder) -> str:
        cause = self.evictions.get((held.claim, pool.driver, pool.pool_name, held.device))
        return "" if cause is None else f"{_moment(cause)} ({_taint(cause)})"

    def _eviction(self, pool: dict[str, Any], held: Holder) -> dict[str, Any]:
        cause = self.evictions.get((held.claim, pool["driver"], pool["poolName"], held.device))
        return {} if cause is None else {"eviction": {"at": _moment(cause), "taint": _taint(cause)}}


def report(question: Question, connect: Connect) -> Report:
    """Answer. Raises ``DragomanError``."""
    objects = _objects(question, connect)
    selection = Selection(
        driver=question.driver,
        pool_name=question.pool,
        default_partition_type_attribute=question.partition_attribute,
    )
    pools = describe(objects.slices, objects.claims, objects.rules, Features(), selection)[1]
    if not pools:
        drivers = {part.spec.driver for part in objects.slices}
        return Report((), () if question.holders else None, note=_note(question, drivers))
    if not question.holders:
        return Report(pools, None)
    held = holders(objects.whole_claims)
    try:
        evictions = _evictions(objects)
    except InvalidInput as error:
        raise NoEvictions(f"the evictions cannot be described: {error}") from error
    return Report(pools, [held.get((pool.driver, pool.pool_name), []) for pool in pools], evictions)


def _evictions(objects: Objects) -> Evictions:
    """Give, for each held device that pods have to leave, the taint that sends them away first."""
    taints = Taints(objects.slices, objects.rules)
    first: dict[tuple[str, str, str, str], Cause] = {}
    for claim in objects.whole_claims:
        for cause in causes(claim, taints):
            key = (f"{claim.metadata.namespace}/{cause.claim}", cause.driver, cause.pool, cause.device)
            known = first.get(key)
            if known is None or (known.at is not None and (cause.at is None or cause.at < known.at)):
                first[key] = cause
    return first


def _moment(cause: Cause) -> str:
    return "at once" if cause.at is None else cause.at.isoformat().replace("+00:00", "Z")


def _taint(cause: Cause) -> str:
    taint = cause.taint
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}" + (f" of rule {cause.rule}" if cause.rule else "")


def _objects(question: Question, connect: Connect) -> Objects:
    if question.files:
        return manifests.read(question.files)
    given = question.kubeconfig, question.context, question.request_timeout
    with or_files(lambda: connect(*given)) as cluster:
        return live.read(cluster, holders=question.holders)


def _note(question: Question, drivers: Collection[str]) -> str:
    which = f" {question.pool}" if question.pool else ""
    of = f" of driver {question.driver}" if question.driver else ""
    there = f"pools of {', '.join(sorted(drivers))}" if drivers else "no ResourceSlices at all"
    return printable(f"there is no pool{which}{of}; there are {there}")


def _row(pool: PoolStatus) -> Sequence[Any]:
    counts = (pool.total_devices, pool.allocated_devices, pool.available_devices, pool.unavailable_devices)
    return (
        pool.driver,
        pool.pool_name,
        pool.node_name,
        *counts,
        _partitions(pool),
        _shares(pool),
        pool.validation_error,
    )


def _partitions(pool: PoolStatus) -> str:
    return ", ".join(f"{each.type} {each.allocatable}/{each.total}" for each in pool.partition_summary or ())


def _shares(pool: PoolStatus) -> str:
    if pool.shareable_summary is None:
        return ""
    full, partial = pool.shareable_summary.fully_available_devices, pool.shareable_summary.partially_available_devices
    amounts = [f"{each.name} {each.available}/{each.total}" for each in pool.shareable_summary.capacity or ()]
    return ", ".join([f"unused {full}/{full + partial}", *amounts])


def _details(held: Holder) -> Sequence[str]:
    consumed = ", ".join(f"{name} {amount}" for name, amount in sorted(held.consumed_capacity.items()))
    return ", ".join(held.reserved_for), held.share_id or "", consumed, "yes" if held.admin_access else ""


def _holder(held: Holder) -> dict[str, Any]:
    return {re.sub(r"_(\w)", lambda found: found[1].upper(), key): value for key, value in _members(held)}


def _members(held: Holder) -> Iterable[tuple[str, Any]]:
    named = ("device", "claim", "request", "share_id", "admin_access", "consumed_capacity", "reserved_for")
    return ((name, value) for name in named if (value := getattr(held, name)) or name == "request")
