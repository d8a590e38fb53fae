"""Records what a kubelet and a runtime say to the agent, as golden files of the agent's own tests.

The agent's side is its own code for the wire, over services that answer what is written here.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dragoman.kubelet.calls import Calls
from dragoman.kubelet.dra import dra_services
from dragoman.kubelet.health import health_services
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.registration import PluginInfo, Registrar, Retry
from dragoman.model.claims import ClaimRef, PrepareAnswer, PreparedDevice
from dragoman.model.sandboxes import Container, Sandbox
from dragoman.nri.plugin import NriPlugin
from dragoman_hookspecs import Health, HealthReport
from tests.cluster import build, files, recording
from tests.cluster.node import Node, fresh
from tests.cluster.recording import Recorder
from tests.cluster.shared import kubelets, runtimes
from tests.cluster.shared.cri import Refused
from tests.cluster.shared.pods import Pods, Result
from tests.cluster.waiting import until

T = TypeVar("T")

_TESTS = Path(__file__).parents[2] / "core" / "agent" / "tests"
DRIVER = "recorded.example.com"
NOW = 1_767_225_600.0
"""The time of all reports: the first of January 2026."""
DEVICE = PreparedDevice(
    requests=("net",), pool=files.NODE, device="nic0", cdi_device_ids=("example.com/nic=nic0", "example.com/guard=1")
)
REPORTS = (
    HealthReport(device="nic0", health=Health.HEALTHY),
    HealthReport(device="nic1", health=Health.UNHEALTHY, message="no carrier: its cable is out", timeout=90.0),
)
REFUSED = "refused"
"""In the name of the claim that cannot be prepared; the name of the container that must not be made."""


class Clock:
    """Time passes, and it is always the same time of day."""

    def now(self) -> float:
        """Give the time of all reports."""
        return NOW

    def monotonic(self) -> float:
        """Give the loop's clock."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)


class Services:
    """What the engine would answer."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.done: list[str] = []

    async def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Give one device, or what is wrong."""
        bad = PrepareAnswer(error="pool lab has no device nic9")
        return {ref.uid: bad if REFUSED in ref.name else PrepareAnswer(devices=(DEVICE,)) for ref in claims}

    async def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Agree."""
        self.done += [ref.name for ref in claims]
        return dict.fromkeys((ref.uid for ref in claims), "")

    async def watch(self) -> AsyncIterator[Sequence[HealthReport]]:
        """Report the first device, and after a change both."""
        yield REPORTS[:1]
        await self.changed.wait()
        yield REPORTS
        await asyncio.Event().wait()

    async def synchronize(self, sandboxes: Sequence[Sandbox]) -> None:
        """Take note."""

    async def run_sandbox(self, sandbox: Sandbox, budget: float) -> None:
        """Agree."""

    stop_sandbox = remove_sandbox = run_sandbox

    async def create_container(self, _: Sandbox, container: Container) -> str | None:
        """Refuse one."""
        return "its device is not attached yet" if container.name == REFUSED else None


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agent")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, and give what comes of it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        """End it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def loop() -> Iterator[Loop]:
    """Give a loop for as long as the context lasts."""
    made = Loop()
    try:
        yield made
    finally:
        made.close()


def record() -> None:
    """Write all golden files anew."""
    record_nri(_TESTS / "nri" / "golden")
    with fresh() as node:
        record_kubelet(node, _TESTS / "kubelet" / "golden")


def record_nri(folder: Path) -> None:
    """Record one connection to the runtime: a pod that runs, another's whole life, a refusal."""
    with runtimes.real() as runtime, tempfile.TemporaryDirectory(prefix="record-", dir="/tmp") as sockets, loop() as of:
        recorder = Recorder(Path(sockets, "nri.sock"), runtime.socket, recording.mux, agent_calls=True)
        first = runtime.run({"example.com/note": "before the agent"})
        runtime.start(runtime.create(first))

        async def begin() -> tuple[NriPlugin, asyncio.Task[None]]:
            plugin = NriPlugin(Services(), socket=Path(sockets, "nri.sock"), name="dragoman", idx="10", clock=Clock())
            running = asyncio.create_task(plugin.run())
            await plugin.wait_for(lambda state: state.synchronized)
            return plugin, running

        async def end(running: asyncio.Task[None]) -> None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        plugin, running = of.run(begin())
        second = runtime.run()
        runtime.start(runtime.create(second))
        with contextlib.suppress(Refused):
            runtime.create(second, REFUSED)
        for sandbox in (second, first):
            runtime.stop(sandbox)
            runtime.remove(sandbox)
        of.run(end(running))
        recorder.close()
        about = f"{plugin.state.runtime_name} {plugin.state.runtime_version}: NRI"
    recording.write(folder / "nri.txt", about, recorder.connections())


def record_kubelet(node: Node, folder: Path) -> None:
    """Record registrations, calls for claims and health, in both versions."""
    pods = kubelets.real(node).pods
    folder.mkdir(exist_ok=True)
    registrations = []
    for name, versions in (
        ("v1", ("v1.DRAPlugin", "v1.DRAResourceHealth")),
        ("v1beta1", ("v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth")),
        ("", ("v9.DRAPlugin",)),
    ):
        with _driver(node, versions) as driver:
            if name:
                until(lambda driver=driver: driver.registrar.state.value.registered, "the driver is registered")  # type: ignore[misc]  # mypy cannot infer it
                _live(pods, driver, name)
            else:
                until(lambda driver=driver: driver.registrar.state.value.refused, "the driver is refused")  # type: ignore[misc]  # as above
        registrations += driver.registration.connections()[:1]  # who is refused is asked again
        if name:
            about = f"kubelet {build.version()}: {' and '.join(versions)}"
            recording.write(folder / f"{name}.txt", about, driver.dra.connections())
    about = f"kubelet {build.version()}: registration, twice accepted and then refused"
    recording.write(folder / "registration.txt", about, registrations)


class Driver:
    """The agent's sockets in ``folder``, and the recorders where the kubelet looks for them."""

    def __init__(self, node: Node, folder: Path, versions: tuple[str, ...]) -> None:
        self.services = Services()
        self.ending = asyncio.Event()
        clock = Clock()
        offered = [
            *dra_services(self.services, Calls(clock)),
            *health_services(self.services, files.NODE, clock, self.ending),
        ]
        self.listener = Listener(folder / "dra" / "dra.sock", offered, own_folder=True)
        endpoint = Path("/var/lib/kubelet/plugins", DRIVER, "dra.sock")
        info = PluginInfo(driver=DRIVER, endpoint=endpoint, versions=versions)
        self.registrar = Registrar(folder / "reg.sock", info, Retry(), clock)
        self._places = node.spaces.path(endpoint), node.spaces.path(f"/var/lib/kubelet/plugins_registry/{DRIVER}.sock")
        self._folder = folder

    def record(self) -> None:
        """Begin to record."""
        self.dra = Recorder(self._places[0], self._folder / "dra" / "dra.sock", recording.http2, agent_calls=False)
        self.registration = Recorder(self._places[1], self._folder / "reg.sock", recording.http2, agent_calls=False)

    def forget(self) -> None:
        """Have the kubelet forget the driver, and end."""
        for place, recorder in zip(reversed(self._places), (self.registration, self.dra), strict=True):
            place.unlink()
            recorder.close()


@contextlib.contextmanager
def _driver(node: Node, versions: tuple[str, ...]) -> Iterator[Driver]:
    async def begin(folder: Path) -> tuple[Driver, asyncio.Task[None]]:
        driver = Driver(node, folder, versions)
        await driver.listener.open()
        return driver, asyncio.create_task(driver.registrar.run())

    async def end(driver: Driver, running: asyncio.Task[None]) -> None:
        driver.ending.set()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await driver.registrar.stop()
        await driver.listener.close(0.2)

    with tempfile.TemporaryDirectory(prefix="record-", dir="/tmp") as folder, loop() as of:
        driver, running = of.run(begin(Path(folder)))
        until(lambda: Path(folder, "reg.sock").exists(), "the driver can be registered")
        driver.record()
        try:
            yield driver
        finally:
            driver.forget()
            of.run(end(driver, running))


def _live(pods: Pods, driver: Driver, version: str) -> None:
    """Have a claim prepared, another refused, both unprepared, and a health report change meanwhile."""
    good, bad = (pods.claim(Result(DRIVER), name=f"{version}-{word}") for word in ("good", REFUSED))
    first, second = pods.start(good), pods.start(bad)
    until(lambda: pods.prepared(first), "the claim is prepared")
    until(lambda: pods.refusals(second), "the other claim is refused")
    driver.services.changed.set()
    for pod in (first, second):
        pods.stop(pod)
        until(lambda pod=pod: pods.gone(pod), f"{pod} is gone")  # type: ignore[misc]  # mypy cannot infer it
