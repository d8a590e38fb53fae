"""The agent: builds everything, starts it in order, stops it in reverse. The only module that knows everything.

Start: access to the API server, the lock of the node, the ledger, plugins, recovery; then the runtime (bounded), the
kubelet, publishing. What stands before the ledger (sockets, the connection to the runtime, the inventory) outlives a
handover; what stands on it is built anew each time this agent becomes the active one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import Callable, Sequence
from importlib.metadata import version

from loguru import logger

from dragoman import assembly
from dragoman.answers import Answers
from dragoman.background import Background, unless
from dragoman.clock import SystemClock
from dragoman.control import forwarding, surroundings
from dragoman.control import handover as control_handover
from dragoman.control.server import ControlServer
from dragoman.engine.advertised import Advertised
from dragoman.engine.course import State
from dragoman.engine.gate import Gate
from dragoman.engine.gated import GatedClaims, GatedSandboxes, LocalServices
from dragoman.engine.handover import Handover
from dragoman.engine.health import HealthBoard, HealthTimes
from dragoman.engine.inventory import NodeInventory
from dragoman.engine.node import CurrentEngine, Engine
from dragoman.engine.publisher import Publisher
from dragoman.engine.reporting import Reporting
from dragoman.hooks import Hooks
from dragoman.kube.versions import Api
from dragoman.kubelet.edge import KubeletEdge
from dragoman.live import LiveSettings
from dragoman.model.errors import Unavailable
from dragoman.model.limits import Server
from dragoman.model.publication import Publishing
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.nri.plugin import NriPlugin
from dragoman.plugins import PluginSet
from dragoman.settings import Loaded, Settings
from dragoman.store.ledger import Ledger
from dragoman.store.lists import KeptLists
from dragoman.store.lock import NodeLock
from dragoman.store.reports import KeptReports
from dragoman_hookspecs import DragomanError

NRI_WITHIN = 5.0
"""Seconds that start-up waits for the runtime to tell its sandboxes. Without it the guards hold all the same."""
DRIVER_KEY = "driver name"
"""Fact in the ledger: the driver name under which its rows were prepared."""


class DriverChanged(DragomanError):
    """The driver name changed while claims are prepared under the old one."""


class Agent:
    """One agent of a node.

    ``load`` loads the settings again, for SIGHUP; ``applied`` is called with those that are then in force.
    """

    def __init__(
        self, settings: Settings, plugins: PluginSet, load: Callable[[], Loaded], applied: Callable[[Settings], None]
    ) -> None:
        self._live = LiveSettings(now=settings)
        self._load = load
        self._applied = applied
        self._reloading = asyncio.Lock()
        self._clock = SystemClock()
        self._node = settings.node_name or socket.gethostname().lower()
        self._ledger: Ledger | None = None
        self._server = Server()
        self._work = Background(self._clock)
        self._runtime: Background | None = None
        self._serving = False

        self.hooks = Hooks(plugins, assembly.limits(settings))
        self.hooks.on_late_start(lambda type_: self._work.begin(lambda: self._recover_manager(type_)))
        self._plugins = plugins
        self._outside = assembly.Outside.build(settings, self._node, self._clock)
        self._current = CurrentEngine()
        self._gate = Gate()
        self._build_publishing()
        self._build_edges()

    def _build_publishing(self) -> None:
        settings = self._live.now
        self._inventory = NodeInventory(
            hooks=self.hooks,
            protected=self._outside.links.protected,
            rows=self._rows,
            clock=self._clock,
            times=assembly.scan_times(settings),
            last=KeptLists(self._meta, self._set_meta),
        )
        self._health = HealthBoard(
            hooks=self.hooks,
            inventory=self._inventory,
            clock=self._clock,
            driver=settings.driver_name,
            times=HealthTimes(resend=settings.health.interval),
            last=KeptReports(self._meta, self._set_meta),
        )
        self._advertised = Advertised(
            hooks=self.hooks, inventory=self._inventory, health=self._health, rows=self._rows, rules=self._rules
        )
        self._publisher = Publisher(
            source=self._advertised.publication,
            sink=self._outside.kube.slices,
            first=self._inventory.wait_first,
            clock=self._clock,
        )
        self._outside.kube.slices.on_change(self._publisher.again)
        self._outside.kube.versions.on_other(self._meet_server)
        self._inventory.on_change(self._publisher.poke)
        self._health.on_change(self._publisher.poke)

    def _build_edges(self) -> None:
        settings, clock = self._live.now, self._clock
        path = assembly.control_socket(settings)
        active = forwarding.ActiveAgent(path)
        self._claims = GatedClaims(self._gate, self._current, active, clock)
        self._sandboxes = GatedSandboxes(self._gate, self._current, active, clock)
        self._kubelet = KubeletEdge(assembly.kubelet(settings, self._node), self._claims, self._health, clock)
        self._nri = NriPlugin(
            self._sandboxes,
            socket=settings.paths.nri_socket,
            name=settings.nri.name,
            idx=settings.nri.index,
            clock=clock,
        )
        self._handover = Handover(
            node=self,
            gate=self._gate,
            lock=NodeLock(settings.paths.state_dir, clock, also=assembly.driver_lock(settings)),
            asker=control_handover.LockRequest(path, version("dragoman"), self._outside.links),
            clock=clock,
            unfinished=self.hooks.unfinished,
        )
        local = LocalServices(self._gate, self._current, self._current, self._inventory.wait_first)
        self._control = ControlServer(
            path,
            {
                **forwarding.handlers(local),
                **control_handover.handlers(self._handover),
                **surroundings.handlers(self._outside.links, self._attachments),
                **self._answers().handlers(),
            },
        )

    def _answers(self) -> Answers:
        return Answers(
            node=self._node,
            live=self._live,
            handover=self._handover,
            gate=self._gate,
            current=self._current,
            kubelet=self._kubelet,
            nri=self._nri,
            hooks=self.hooks,
            inventory=self._inventory,
            advertised=self._advertised,
            publisher=self._publisher,
            pending=lambda: self._reporting.pending,
            requests=lambda: self._outside.kube.client.requests,
        )

    # --- life ------------------------------------------------------------------------------------------------------

    async def run(self, stopped: asyncio.Event) -> None:
        """Serve until ``stopped``. Raises what kept it from becoming the active agent."""
        try:
            if await unless(stopped, self._begin()):
                await stopped.wait()
        finally:
            await self._stop()

    async def _begin(self) -> None:
        await self._outside.kube.client.connect()
        await self._handover.take()

    async def _stop(self) -> None:
        """Stop in reverse. Devices, files, guards, rows and slices stay."""
        if self._serving:
            await self._kubelet.stop()
        if self._runtime is not None:
            await self._runtime.end()
        await self._handover.interrupt()
        if self._handover.state in {State.ACTIVE, State.DRAINING}:
            self._gate.close()
            with contextlib.suppress(DragomanError):
                await self._gate.drain(self._clock, 5.0)
            await self.become_passive()
        await self._handover.stop()
        await self._control.close()
        await self._outside.kube.close()
        logger.info("the agent has stopped; devices, files and slices stay as they are")

    async def open_ledger(self) -> None:
        """Open the ledger and build the engine on it. Raises ``DriverChanged`` or ``LedgerTooNew``."""
        settings = self._live.now
        self._ledger = Ledger.open(
            settings.paths.state_dir, assembly.boot_id(settings), expected=await self._has_specs()
        )
        former = self._ledger.meta(DRIVER_KEY)
        if former not in {None, settings.driver_name} and self._ledger.allocations():
            raise DriverChanged(
                f"driverName is {settings.driver_name}, but claims are still prepared as {former}: "
                "set it back, or drain the node first"
            )
        self._ledger.set_meta(DRIVER_KEY, settings.driver_name)
        parts = self._outside.parts(
            self._ledger,
            self.hooks,
            self._node,
            self._publisher.poke,
            self._health.touch,
            self._inventory.returned,
        )
        self._reporting = Reporting(self._outside.kube.status, self._clock)
        self._current.set(
            Engine(
                parts,
                source=self._outside.kube.claims,
                node_claims=self._outside.kube.node_claims,
                find=self._advertised.find,
                reporting=self._reporting,
                pod_resources=self._outside.pod_resources,
                orphan_grace=settings.orphans.grace_time,
            )
        )

    async def _has_specs(self) -> bool:
        """Tell whether devices may be prepared here: each has a spec until it is freed or the host is started anew."""
        try:
            return bool(await self._outside.cdi.present())
        except DragomanError:
            return True  # what cannot be listed does not tell that the ledger is new

    async def recover(self) -> None:
        """Start the plugins and bring the node in order."""
        await self.hooks.start()
        await self._current.engine.recovering.recover()

    async def take_calls(self) -> None:
        """Answer at the control socket."""
        await self._control.publish()

    async def become_active(self) -> None:
        """Serve: the runtime first (bounded), then the kubelet, then publishing."""
        self._work.begin(self._inventory.run, self._health.run, self._reporting.run)
        if self._runtime is None:
            self._runtime = Background(self._clock)
            self._runtime.begin(self._nri.run)
            if self._live.now.paths.nri_socket.exists():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(NRI_WITHIN):
                        await self._nri.wait_for(lambda state: state.synchronized)
        else:
            await self.catch_up()
        await self._inventory.wait_first()
        await self._kubelet.serve()
        self._kubelet.register()
        self._serving = True
        engine = self._current.engine
        self._work.begin(
            lambda: self._publish(engine), engine.orphans.run, engine.rebuilding.run, engine.recovering.run
        )
        gc.collect()
        gc.freeze()  # what start-up made lives as long as the process; collecting it costs 100 ms each time
        logger.info("node {} is served as driver {}", self._node, self._live.now.driver_name)

    async def catch_up(self) -> None:
        """Learn the sandboxes that came and went while the gate was closed."""
        await self._sandboxes.resynchronize()

    async def become_passive(self) -> None:
        """End all work that changes devices, slices or claim status; the sockets stay."""
        await self._work.end()
        await self._kubelet.rest()
        await self._outside.kube.slices.pause()
        with contextlib.suppress(Unavailable):
            await self._current.engine.drain()
        await self.hooks.stop()

    async def close_ledger(self) -> None:
        """Close the ledger if it is open."""
        self._current.set(None)
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()

    async def reload(self) -> None:
        """Take other settings as far as that is possible without a restart; bad ones change nothing."""
        async with self._reloading:
            try:
                # It may import plugins, which may take long.
                new = (await asyncio.to_thread(self._load)).settings
                self._plugins.check(assembly.sections(new))
            except DragomanError as error:
                self._live.error = f"the new settings are refused, the old ones stay: {error}"
                logger.error(self._live.error)
                return
            await self._apply(new)

    async def _apply(self, new: Settings) -> None:
        applied = await self.hooks.apply_settings(assembly.sections(new))
        self._live.take(new, applied.failures)
        self._applied(self._live.now)
        self._inventory.managers_changed()
        self._publisher.poke()
        if self._live.error:
            logger.error(self._live.error)
        waiting = ", ".join(self._live.need_restart)
        logger.info("settings are reloaded{}", f"; a restart is needed for {waiting}" if waiting else "")
        for type_ in applied.recreated:
            await self._recover_manager(type_)

    async def _recover_manager(self, type_: str) -> None:
        """Recover the devices of a manager that was made anew, or that could not start before."""
        with contextlib.suppress(Unavailable):  # an agent that is not active recovers all when it becomes so
            async with self._gate.operation(f"recover the devices of {type_}"):
                await self._current.engine.recovering.recover_manager(type_)

    async def _publish(self, engine: Engine) -> None:
        """Publish, as soon as the ledger tells which devices are in pods: they must not be withdrawn."""
        await engine.rebuilding.done()
        await self._learn_server()
        await self._publisher.run()

    async def _learn_server(self) -> None:
        """Find out what the API server takes: what it does not know would be published and withdrawn again."""
        while True:
            try:
                api = await self._outside.kube.versions.renew()
            except Unavailable as error:
                self._publisher.fail(str(error))
                await self._clock.sleep(1.0)
            else:
                self._server = Server(minor=api.server[1])
                return

    def _meet_server(self, api: Api) -> None:
        """Take up what waits for an API server that was away, or for one of another release."""
        self._server = Server(minor=api.server[1])
        self._publisher.again()
        self._reporting.hurry()

    def _rows(self) -> Sequence[AllocationRow]:
        return self._ledger.allocations() if self._ledger else ()

    def _attachments(self) -> Sequence[AttachmentRow]:
        if self._ledger is None:
            raise Unavailable(f"this agent is {self._handover.state} ({self._handover.reason}); ask again")
        return self._ledger.attachments()

    def _meta(self, key: str) -> str | None:
        return self._ledger.meta(key) if self._ledger else None

    def _set_meta(self, key: str, value: str) -> None:
        if self._ledger:
            self._ledger.set_meta(key, value)

    def _rules(self) -> Publishing:
        settings = self._live.now
        return Publishing(node=self._node, driver=settings.driver_name, pools=settings.pools, server=self._server)
