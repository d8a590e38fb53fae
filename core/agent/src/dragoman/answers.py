"""What the agent tells and does for people over the control socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.control.server import Call, Handler
from dragoman.engine.advertised import Advertised
from dragoman.engine.gate import Gate
from dragoman.engine.handover import Handover
from dragoman.engine.inventory import NodeInventory
from dragoman.engine.node import CurrentEngine
from dragoman.engine.publisher import Publisher
from dragoman.engine.releasing import uid_of
from dragoman.engine.views import allocation_views, device_views, plugin_views
from dragoman.hooks import Hooks
from dragoman.kubelet.edge import KubeletEdge
from dragoman.live import LiveSettings
from dragoman.nri.plugin import NriPlugin
from dragoman_hookspecs import JsonObject, json_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers by method name. ``pending`` and ``requests`` count status writes that wait, and API requests so far."""

    node: str
    live: LiveSettings
    handover: Handover
    gate: Gate
    current: CurrentEngine
    kubelet: KubeletEdge
    nri: NriPlugin
    hooks: Hooks
    inventory: NodeInventory
    advertised: Advertised
    publisher: Publisher
    pending: Callable[[], int]
    requests: Callable[[], int]

    def handlers(self) -> Mapping[str, Handler]:
        """Give the handlers by method."""
        return {
            "status": self._status,
            "plugins": self._plugins,
            "devices": self._devices,
            "allocations": self._allocations,
            "release": self._release,
        }

    async def _status(self, _: Call) -> JsonObject:
        registration, nri = self.kubelet.registration.value, self.nri.state
        problems = [
            self.handover.reason,
            self.current.engine.rebuilding.reason,
            self.current.engine.recovering.reason,
            "" if registration.registered else f"not registered with the kubelet: {registration.reason}",
            "" if nri.connected else f"not connected to the runtime: {nri.reason}",
        ]
        return {
            "node": self.node,
            "driver": self.live.now.driver_name,
            "pid": os.getpid(),
            "state": self.handover.state.value,
            "ready": not any(problems),
            "reason": "; ".join(filter(None, problems)),
            "registered": registration.registered,
            "nri": _json(nri),
            "published": _json(self.publisher.state),
            "settings": {"error": self.live.error, "needRestart": self.live.need_restart},
            "waitingSandboxes": self.current.engine.sandboxes.waiting(),
            "pendingStatus": self.pending(),
            "apiRequests": self.requests(),
        }

    async def _plugins(self, _: Call) -> Sequence[JsonObject]:
        return plugin_views(self.hooks.statuses(), self.inventory.degraded())

    async def _devices(self, _: Call) -> Sequence[JsonObject]:
        return device_views(self.advertised, self.current.engine.parts.ledger)

    async def _allocations(self, _: Call) -> Sequence[JsonObject]:
        engine = self.current.engine
        return allocation_views(engine.parts.ledger, engine.sandboxes.problems())

    async def _release(self, call: Call) -> JsonObject:
        """Release the claim that ``uid`` names, as UID or ``namespace/name``.

        ``force``: also from a running pod, which is refused without: an older command line does not warn its user.
        """
        named, force = str(call.params.get("uid", "")), call.params.get("force") is True
        async with self.gate.operation(f"release {named}"):
            engine = self.current.engine
            released = await engine.claims.release(uid_of(engine.parts.ledger, named), from_pods=force)
        taken = [asdict(each) for each in released.taken]
        return {"claim": released.claim, "released": list(released.devices), "taken": taken}


def _json(state: Any) -> JsonObject:
    """Give the fields of a state object, which are plain values, under their JSON names."""
    return {json_key(name): value for name, value in asdict(state).items()}
