"""Pods that bear witness of promise 1: each start of a container is noted on the node, with or without its device.

With what it takes to be unkind to them: a pod's sandbox can be held between prepare and attach, or killed under it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.cluster import build, files, objects
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object
from tests.cluster.case import Case

WITHOUT = 42
"""Exit code of a container that found itself without its device."""
HEALED_WITHIN = 15.0 if build.minor() >= 36 else 20.0
"""Seconds from the agent's return until what it kept waiting is seen to run. The agent has the kubelet look again as
soon as the devices are in their pods. A kubelet before 1.36 takes no hint: it tries again 10 to 15 s after each
refusal, with a look each second, and then the container has to start."""
_NOTES = "/run/witness"


def nic(name: str = "nic", device_class: str = "lab") -> Object:
    """Give a template of claims for one device, named ``net1`` in the pod."""
    request = objects.request("nic", device_class)
    return objects.template(name, request, config=[objects.config({"podIfName": "net1"})])


def pod(
    case: Case,
    name: str,
    claim: Object | None = None,
    *,
    policy: str = "Always",
    then: str = objects.FOREVER,
    **spec: Any,
) -> Object:
    """Give a pod that looks for ``net1`` with its first instruction and notes what it sees, then goes on with ``then``.

    ``claim``: as in the pod, from template ``nic`` by default.
    """
    claim = claim or objects.of_template("nic")
    note = f">> /witness/{case.namespace}.{name}"
    found, missing = f"echo with {note}; {then}", f"echo without {note}; exit {WITHOUT}"
    script = f"if test -e /sys/class/net/net1; then {found}; else {missing}; fi"
    container = objects.container("app", claim["name"], script=script)
    container["volumeMounts"] = [{"name": "witness", "mountPath": "/witness"}]
    volume = {"name": "witness", "hostPath": {"path": _NOTES, "type": "DirectoryOrCreate"}}
    return objects.pod(name, claim, containers=[container], volumes=[volume], restartPolicy=policy, **spec)


def job(
    case: Case, name: str, claim: Object | None = None, *, then: str = "exit 0", retries: int = 0, **spec: Any
) -> Object:
    """Give a job of one such pod, which is done when it has seen its device; ``retries``: further pods if it fails."""
    return objects.job(name, pod(case, name, claim, then=then, **spec), backoffLimit=retries)


def notes(case: Case, name: str) -> list[str]:
    """Give what was noted of a pod or job: ``with`` or ``without`` for each start of its container."""
    path = _folder(case) / f"{case.namespace}.{name}"
    return path.read_text().split() if path.exists() else []


def saw(case: Case, *names: str, times: int = 1) -> None:
    """Wait until each of these has noted its device so often, and nothing else.

    A container counts as running a moment before its first instruction.
    """
    wanted = {name: ["with"] * times for name in names}
    case.until(lambda: {name: notes(case, name) for name in names} == wanted, f"they have noted: {wanted}")


def unarmed(case: Case) -> list[str]:
    """Name the pods of which a container ever ran without its device."""
    names = [path.name.partition(".")[2] for path in _folder(case).glob(f"{case.namespace}.*")]
    return sorted(name for name in names if "without" in notes(case, name))


@contextlib.contextmanager
def held(case: Case, *names: str) -> Iterator[Callable[[], None]]:
    """Hold the sandboxes of pods, by their or their jobs' names, that start within the context.

    Gives a function that waits until all are held: their claims are prepared, and no agent was told of a sandbox.
    """
    gates = {name: case.node.spaces.path(f"{files.GATES}/{name}") for name in names}
    for gate in gates.values():
        gate.parent.mkdir(exist_ok=True)
        os.mkfifo(gate)
    ends: dict[str, int] = {}

    def wait() -> None:
        for name, gate in gates.items():
            case.until(lambda name=name, gate=gate: _reached(ends, name, gate), f"the sandbox of {name} is held")  # type: ignore[misc]  # mypy cannot infer it

    try:
        yield wait
    finally:
        for name, gate in gates.items():
            _reached(ends, name, gate)
            gate.unlink()
        for end in ends.values():
            os.close(end)


def sandboxes(case: Case, pod: Object) -> list[str]:
    """Give the ids of a pod's sandboxes that run."""
    wanted = f'labels."io.kubernetes.pod.uid"=={pod["metadata"]["uid"]},labels."io.cri-containerd.kind"==sandbox'
    known = set(case.node.ctr("containers", "list", "--quiet", wanted).split())
    return sorted(known & running(case))


def running(case: Case) -> set[str]:
    """Give the ids of all sandboxes and containers of the case that run."""
    wanted = f'labels."io.kubernetes.pod.namespace"=={case.namespace}'
    known = set(case.node.ctr("containers", "list", "--quiet", wanted).split())
    lines = case.node.ctr("tasks", "list").splitlines()[1:]
    return known & {id_ for id_, _, status, *_ in map(str.split, lines) if status == "RUNNING"}


def kill_sandbox(case: Case, pod: Object) -> None:
    """End a pod's sandbox under it, as a runtime's bad day would."""
    for id_ in sandboxes(case, pod):
        case.node.ctr("tasks", "kill", "--signal=SIGKILL", id_)


def end(case: Case) -> None:
    """End the case, and check that neither sandbox nor device is left and that promise 1 was kept."""
    case.node.repair()
    case.agent.repair()
    case.close()
    assert unarmed(case) == [], "containers ran without their devices"
    case.until(lambda: not case.agent.allocations(), "no device is allocated")
    case.until(lambda: not running(case), "no sandbox of it runs")
    # A sandbox that ends has no process any more when its network namespace is taken down.
    case.until(lambda: not list(case.node.spaces.path("/run/netns").iterdir()), "no network namespace is left")
    case.until(lambda: not list(case.node.spaces.path("/run/cdi").glob(f"{DRIVER}-*")), "no CDI file is left")


def container(pod: Object) -> Object:
    """Give the status of a pod's only container, empty before there is one."""
    found: Object = (pod["status"].get("containerStatuses") or [{}])[0]
    return found


def restarts(case: Case, name: str) -> int:
    """Give the restarts that the kubelet has counted."""
    return int(container(case.pod(name)).get("restartCount", 0))


def pod_of(case: Case, job: str, *, but: str = "") -> str:
    """Name the pod of a job, once it has one; ``but``: another than that."""
    label, field = f"batch.kubernetes.io/job-name={job}", f"metadata.name!={but}"

    def pods() -> list[Object]:
        return case.api.list("Pod", labelSelector=label, fieldSelector=field)

    found = case.until(pods, f"job {job} has a pod{f' beside {but}' * bool(but)}")
    return str(found[0]["metadata"]["name"])


def is_up(case: Case, name: str) -> bool:
    """Tell whether a pod runs or has succeeded, and have the kubelet try a failed prepare again.

    By itself it does after 60 to 90 s, or when the pod changes.
    """
    if failed := sum(each.get("count", 1) for each in case.events(name, "FailedPrepareDynamicResources")):
        case.api.patch("Pod", name, {"metadata": {"annotations": {"failed": str(failed)}}})
    state = container(case.pod(name)).get("state", {})
    return "running" in state or state.get("terminated", {}).get("exitCode") == 0


def is_done(case: Case, job: str) -> bool:
    """Tell whether the pod of a job has done its work."""
    found = case.api.get("Job", job)
    return bool(found and found["status"].get("succeeded"))


def _folder(case: Case) -> Path:
    return case.node.spaces.path(_NOTES)


def _reached(ends: dict[str, int], name: str, gate: Path) -> bool:
    """Tell whether somebody reads the FIFO, and keep its other end open from then."""
    if name not in ends:
        try:
            ends[name] = os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
    return name in ends
