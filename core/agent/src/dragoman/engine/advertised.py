"""What this node advertises at this moment: the inventory, the ledger, the settings and the health in one view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.engine.health import HealthBoard
from dragoman.engine.inventory import NodeInventory
from dragoman.hooks import Hooks, PluginMissing
from dragoman.model.parameters import Kind
from dragoman.model.plan import Known
from dragoman.model.pools import pins
from dragoman.model.publication import Decision, Publication, Publishing, publication
from dragoman.model.records import AllocationRow
from dragoman.model.slice_attributes import without_core_attributes
from dragoman_hookspecs import Device, Health


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """A device as a person wants to see it.

    ``refusal`` says why it is not published, ``degraded`` why its manager's list may be old; both "" where all is well.
    """

    device: Device
    manager: str
    pool: str | None
    refusal: str
    degraded: str
    health: Health
    message: str


class Advertised:
    """Computes from memory and never waits. ``rules`` gives the settings as they are now."""

    def __init__(
        self,
        *,
        hooks: Hooks,
        inventory: NodeInventory,
        health: HealthBoard,
        rows: Callable[[], Sequence[AllocationRow]],
        rules: Callable[[], Publishing],
    ) -> None:
        self._hooks = hooks
        self._inventory = inventory
        self._health = health
        self._rows = rows
        self._rules = rules

    def publication(self, *, lists: bool = True) -> Publication:
        """Decide for every device; ``lists`` False leaves list attributes out whatever the server's version."""
        rules = self._rules()
        if not lists:
            rules = replace(rules, server=replace(rules.server, lists=False))
        return publication(rules, self._inventory.stock(), pinned=pins(self._rows()), taints=self._health.taints())

    def find(self, name: str) -> Known | None:
        """Find a device to prepare, as it is advertised but without what core added to it.

        A device that no pool wants any more is found too: the scheduler gave it away while it was published, and a pod
        waits for it. One that is withheld, or that the API would not take, is not.
        """
        alone = self._inventory.stock(name)
        rules, pinned = self._rules(), pins(row for row in self._rows() if row.key.device == name)
        for pools in (pinned, {name: frozenset({None})}):
            for decision in publication(rules, alone, pinned=pools).decisions:
                if not decision.refusal:
                    return self._known(decision, rules.driver)
        return None

    def views(self) -> Sequence[DeviceView]:
        """List every device that is known, published or not, by name."""
        degraded = self._inventory.degraded()
        health = {report.device: report for report in self._health.reports()}
        views = []
        for decision in self.publication().decisions:
            report = health.get(decision.device.name)
            views.append(
                DeviceView(
                    device=decision.device,
                    manager=decision.manager,
                    pool=decision.pool,
                    refusal=decision.refusal,
                    degraded=degraded[decision.manager].reason if decision.manager in degraded else "",
                    health=report.health if report else Health.UNKNOWN,
                    message=report.message if report else "",
                )
            )
        return views

    def _known(self, decision: Decision, driver: str) -> Known | None:
        try:
            info = self._hooks.manager(decision.manager)
        except PluginMissing:
            return None
        attributes = without_core_attributes(decision.device.attributes, driver=driver)
        return Known(
            device=replace(decision.device, attributes=attributes),
            kind=Kind(type=info.type, applies=info.applies, own=info.parameters),
            distribution=info.distribution,
            version=info.version,
            logical_pool=decision.pool,
        )
