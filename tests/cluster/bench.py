"""What the agent costs on a real node: 100 pods started at once, and one pod with 8 devices, against pods without.

Nothing may be left of them, and nothing may have failed.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.bench import process
from tests.bench.figures import Figure, middle, percentile, write_table
from tests.cluster import agent as agents
from tests.cluster import objects
from tests.cluster.agent import DRIVER, Agent
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import Node, fresh
from tests.cluster.stopwatch import Stopwatch
from tests.cluster.waiting import until

PODS = 100
"""At once; a kubelet takes 110 by default."""
DEVICES = 8
"""In one pod."""
SINGLE = 10
"""Pods one after the other, for the time that a claim adds."""
BUDGET = 2.0
"""Seconds that a runtime waits for an answer, by default."""
GOAL = 50.0
"""Percent of them that the slowest of a hundred answers may take."""
_LOOK = 0.02
_EXPECTED = frozenset({"FailedScheduling", "FailedResourceClaimCreation"})
"""Warnings that are none: a pod is tried before its claim is made, and that before its template is known to all."""
_SHOWN = 20
"""Problems that are printed."""


class Bench:
    """A case on a node, with what came of it so far. ``problems``: what should not be."""

    def __init__(self, case: Case, watch: Stopwatch) -> None:
        self.case = case
        self.watch = watch
        self.figures: list[Figure] = []
        self.problems: list[str] = []
        self._links: set[str] = set()

    def remember(self) -> None:
        """Take the host's links as they are now for those that should be there."""
        self._links = self._host_links()

    def add(self, key: str, name: str, value: float, unit: str, note: str = "", goal: float | None = None) -> None:
        """Note a figure."""
        self.figures.append(Figure(key=key, name=name, value=value, unit=unit, note=note, goal=goal))

    def forget(self) -> None:
        """Forget the warnings up to now, and what was measured."""
        self.case.api.request("DELETE", self.case.api.path("Event"))
        self.watch.taken()

    def run(self, names: Sequence[str], *claims: Object) -> float:
        """Start pods at once, and give the seconds until all run."""
        began = time.perf_counter()
        for name in names:
            self.case.create(_pod(name, claims))
        self.case.until(lambda: self._running() == len(names), f"{len(names)} pods run", 300)
        return time.perf_counter() - began

    def end(self) -> float:
        """Delete all pods, and give the seconds until they are gone."""
        began = time.perf_counter()
        api = self.case.api
        api.request("DELETE", api.path("Pod"))
        self.case.until(lambda: not api.list("Pod"), "the pods are gone", 300)
        return time.perf_counter() - began

    def single(self, count: int, *claims: Object) -> list[float]:
        """Start pods one after the other; give the seconds that each took."""
        taken = []
        for number in range(count):
            began = time.perf_counter()
            self.case.create(_pod(f"single-{number}", claims))
            while not self._running():
                time.sleep(_LOOK)
            taken.append(time.perf_counter() - began)
            self.end()
        return taken

    def check(self, what: str) -> None:
        """Note what is left, and what failed."""
        case = self.case
        leftovers: dict[str, Callable[[], object]] = {
            "allocations": case.agent.allocations,
            "claims": lambda: case.api.list("ResourceClaim"),
            "network namespaces": lambda: list(case.node.spaces.path("/run/netns").iterdir()),
            "CDI files": lambda: list(case.node.spaces.path("/run/cdi").glob(f"{DRIVER}-*")),
            "other links on the host": lambda: self._host_links() ^ self._links,
            "statuses to write": lambda: case.agent.status()["pendingStatus"],
        }
        for name, look in leftovers.items():
            try:
                until(lambda look=look: not look(), f"no {name}", 30)  # type: ignore[misc]  # mypy cannot infer it
            except AssertionError:
                self.problems.append(f"{what}: {name} left: {look()}")
        self.problems += [f"{what}: {line}" for line in self._warnings()]

    def _warnings(self) -> Iterator[str]:
        events = self.case.api.list("Event", fieldSelector="type=Warning")
        for event in events:
            message = event.get("message") or ""
            # A container that ends just when it is killed is the runtime's own race, and the kubelet tries again.
            if event["reason"] not in _EXPECTED and "KillContainerError" not in message:
                yield f"{event['involvedObject']['name']}: {event['reason']}: {message}"
        self.forget()

    def _running(self) -> int:
        pods = self.case.api.list("Pod")
        return sum("running" in each["state"] for pod in pods for each in pod["status"].get("containerStatuses", ()))

    def _host_links(self) -> set[str]:
        names = (path.name for path in self.case.node.spaces.path("/sys/class/net").iterdir())
        return {name for name in names if not name.startswith("veth")}


def bench() -> int:
    """Measure, print the figures, and give the exit code: 1 where something failed or was left."""
    with _stand() as stand:
        _singles(stand)
        _at_once(stand)
        _devices(stand)
    write_table(sys.stdout, stand.figures)
    sys.stdout.writelines(f"NOT WELL {problem}\n" for problem in stand.problems[:_SHOWN])
    sys.stdout.write(f"\n{len(stand.problems)} problems.\n")
    return 1 if stand.problems else 0


@contextlib.contextmanager
def _stand() -> Iterator[Bench]:
    with fresh() as node:
        agents.install(node)
        node.api.apply(objects.device_class("lab"))
        place = "/run/stopwatch/nri.sock"
        watch = Stopwatch(node.spaces.path(place), node.spaces.path("/run/nri/nri.sock"))
        agent = _agent(node, place)
        agent.start()
        case = Case(node, agent, "bench")
        case.open()
        case.create(_template("one", 1), _template("eight", DEVICES))
        yield Bench(case, watch)
        case.close()
        agent.terminate()
        watch.close()


def _agent(node: Node, socket: str) -> Agent:
    managers = {"dummy": {"count": PODS + DEVICES, "linkKind": node.link_kind()}}
    return Agent(
        node,
        settings={
            "deviceManagerConfigs": managers,
            "pools": [{"name": "lab", "filter": {"deviceManagers": ["dummy"]}}],
            "paths": {"nriSocket": socket},
            "logging": {"level": "info"},
        },
    )


def _pod(name: str, claims: Sequence[Object]) -> Object:
    # The kubelet would warn of each pod that it knows no DNS server of the cluster.
    return objects.pod(name, *claims, dnsPolicy="Default")


def _template(name: str, count: int) -> Object:
    return objects.template(name, objects.request("net", "lab", count=count))


def _singles(stand: Bench) -> None:
    stand.single(2, objects.of_template("one"))  # the first pods of a node find nothing in any cache
    stand.remember()
    bare, armed = stand.single(SINGLE), stand.single(SINGLE, objects.of_template("one"))
    added = middle(armed) - middle(bare)
    note = f"medians of {SINGLE} pods, one after the other: {middle(armed):.2f} s and {middle(bare):.2f} s"
    stand.add("start.added", "pod start: added by a claim", added, "s", note)
    stand.check("single pods")


def _at_once(stand: Bench) -> None:
    pid = stand.case.agent.pid
    assert pid, "the agent runs"
    names = [f"pod-{number}" for number in range(PODS)]
    bare = stand.run(names)
    stand.end()
    stand.forget()
    before, cpu = process.memory(pid), process.cpu_seconds(pid)
    armed = stand.run(names, objects.of_template("one"))
    started = process.cpu_seconds(pid) - cpu
    ended = stand.end()
    cpu = process.cpu_seconds(pid) - cpu
    stand.add(
        "pods.added", f"{PODS} pods at once: added", armed - bare, "s", f"{armed:.1f} s and {bare:.1f} s until all run"
    )
    stand.add("pods.end", f"{PODS} pods at once: end", ended, "s", "until all are gone")
    _budget(stand, "pods", f"{PODS} pods at once")
    stand.add(
        "agent.cpu",
        "agent: CPU for each pod",
        1000 * cpu / PODS,
        "ms",
        f"{1000 * started / PODS:.0f} ms of it to start",
    )
    stand.add("agent.before", "agent: memory before", before.rss, "MB")
    stand.add("agent.after", "agent: memory after", process.memory(pid).rss, "MB", f"highest {_highest(pid):.0f} MB")
    stand.check(f"{PODS} pods")


def _devices(stand: Bench) -> None:
    taken = stand.run(["eight"], objects.of_template("eight"))
    inside = stand.case.exec("eight", "ls", "/sys/class/net").split()
    if len(inside) != DEVICES + 2:
        stand.problems.append(f"pod with {DEVICES} devices: it has the links {', '.join(inside)}")
    stand.end()
    stand.add("devices.start", f"pod with {DEVICES} devices: start", taken, "s")
    _budget(stand, "devices", f"pod with {DEVICES} devices")
    stand.check(f"pod with {DEVICES} devices")


def _budget(stand: Bench, key: str, what: str) -> None:
    """Tell how much of the runtime's patience the answers took."""
    taken = stand.watch.taken()
    for name in ("RunPodSandbox", "CreateContainer", "StopPodSandbox"):
        seconds = [each for told, each in taken if told == name]
        share = 100 * percentile(seconds, 99) / BUDGET
        note = f"p99 of {len(seconds)}; median {1000 * middle(seconds):.0f} ms, longest {1000 * max(seconds):.0f} ms"
        stand.add(f"{key}.{name}", f"{what}: {name}, share of {BUDGET:g} s", share, "%", note, GOAL)


def _highest(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6
