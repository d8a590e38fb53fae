"""What is published of the devices that are known, and what is not and why: one pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dragoman.model.fitting import fit_counter_sets, fit_device
from dragoman.model.limits import Server, SliceWarning, is_qualified_name
from dragoman.model.pools import PoolConfig, assign
from dragoman.model.slice_attributes import with_core_attributes
from dragoman.model.slices import Placed, PoolSpec, split
from dragoman.model.stock import Stock, Stocked
from dragoman_hookspecs import CounterSet, Device, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one device: ``device`` as published, or as known where ``refusal`` says why it is not."""

    device: Device
    manager: str
    pool: str | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A pool to publish, a decision for every device that is known, and what a person should hear once."""

    pool: PoolSpec
    decisions: tuple[Decision, ...]
    warnings: tuple[SliceWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """The rules of this node: its name, the driver's, the configured pools, and what the API server takes."""

    node: str
    driver: str
    pools: Sequence[PoolConfig] = ()
    server: Server = field(default_factory=Server)


def publication(
    rules: Publishing,
    stock: Stock,
    *,
    pinned: Mapping[str, frozenset[str | None]] | None = None,
    taints: Mapping[str, Taint] | None = None,
) -> Publication:
    """Decide for every device. ``pinned`` are the pools of allocated devices, ``taints`` those of health, by name."""
    build = _Build(rules, stock, pinned or {}, taints or {})
    decisions = [build.decide(item) for item in stock.devices]
    placed = [build.place(decision) for decision in decisions if not decision.refusal]
    sets = [item for of_manager in build.sets.values() for item in of_manager.values()]
    return Publication(
        pool=split(rules.node, placed, sets), decisions=tuple(decisions), warnings=tuple(sorted(set(build.warnings)))
    )


class _Build:
    def __init__(
        self,
        rules: Publishing,
        stock: Stock,
        pinned: Mapping[str, frozenset[str | None]],
        taints: Mapping[str, Taint],
    ) -> None:
        self._rules = rules
        self._pinned = pinned
        self._taints = taints
        self.warnings: list[SliceWarning] = []
        self.sets = self._counter_sets(stock)
        self._partition_types = {
            manager: name
            for manager, given in sorted(stock.partition_types.items())
            if (name := self._partition_type(manager, given))
        }

    def decide(self, item: Stocked) -> Decision:
        try:
            return self._decide(item)
        except (TypeError, ValueError, AttributeError) as error:
            # Types are the plugin's promise; breaking it must cost that device only.
            return self._refuse(item, f"its manager gave a value of a wrong type: {error}")

    def _decide(self, item: Stocked) -> Decision:
        device, rules = item.device, self._rules
        if item.withheld:
            return self._refuse(item, item.withheld)
        assignment = assign(device, item.manager, rules.pools, self._pinned.get(device.name, frozenset()))
        if assignment.ambiguity:
            self._warn(device.name, "pool", f"{assignment.ambiguity}; {assignment.pool or 'none'} is used")
        if assignment.refusal:
            # That no pool wants a device is an answer, not a fault.
            conflict = bool(self._pinned.get(device.name))
            return self._refuse(item, assignment.refusal, tell=conflict)
        attributes = with_core_attributes(
            device.attributes,
            manager=item.manager,
            pool=assignment.pool,
            driver=rules.driver,
            warn=lambda what, why: self._warn(device.name, what, why),
        )
        fitted = fit_device(
            replace(device, attributes=attributes),
            driver=rules.driver,
            server=rules.server,
            sets=self.sets.get(item.manager, {}),
            first=self._spellings(item.manager),
            taint=self._taints.get(device.name),
        )
        self.warnings += fitted.warnings
        return Decision(
            device=fitted.device or device, manager=item.manager, pool=assignment.pool, refusal=fitted.refusal
        )

    def place(self, decision: Decision) -> Placed:
        """Find the slice's partition type attribute: the API wants it as a string of every device with counters."""
        device = decision.device
        wanted = self._partition_types.get(decision.manager)
        if wanted is None or not device.counters:
            return Placed(device=device)
        values = [device.attributes.get(name) for name in self._spellings(decision.manager)]
        if any(isinstance(value, str) for value in values):
            return Placed(device=device, partition_type=wanted)
        self._warn(device.name, "partition type", f"the device has no string attribute {wanted}")
        return Placed(device=device)

    def _counter_sets(self, stock: Stock) -> dict[str, dict[str, CounterSet]]:
        found: dict[str, dict[str, CounterSet]] = {}
        for manager, sets in sorted(stock.counter_sets.items()):
            taken = {name for of_manager in found.values() for name in of_manager}

            def warn(what: str, why: str, manager: str = manager) -> None:
                self._warn("", f"{what} of {manager}", why)

            found[manager] = fit_counter_sets(sets, taken, warn)
        return found

    def _partition_type(self, manager: str, given: str) -> str:
        name = given if "/" in given else f"{self._rules.driver}/{given}"
        # Unlike in an attribute's own name, the API refuses upper case in the domain of a reference.
        if is_qualified_name(name) and name.rpartition("/")[0].islower():
            return name
        self._warn("", f"partition type of {manager}", f"{given!r} cannot be the name of an attribute; dropped")
        return ""

    def _spellings(self, manager: str) -> tuple[str, ...]:
        name = self._partition_types.get(manager)
        if name is None:
            return ()
        domain, _, bare = name.rpartition("/")
        return (name, bare) if domain == self._rules.driver else (name,)

    def _refuse(self, item: Stocked, why: str, *, tell: bool = True) -> Decision:
        if tell:
            self._warn(item.device.name, f"not published ({item.manager})", why)
        return Decision(device=item.device, manager=item.manager, refusal=why)

    def _warn(self, device: str, what: str, why: str) -> None:
        self.warnings.append(SliceWarning(device=device, what=what, why=why))
