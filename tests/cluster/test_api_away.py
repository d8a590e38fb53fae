"""The API server away, forgetful, or of another opinion: what is prepared goes on, the rest is told later."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterable, Iterator

import pytest

from tests.cluster import borrowed, witness
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import LENDERS
from tests.cluster.shared.real import real
from tests.cluster.shared.wire import MERGE, SLICES, slice_of

MINE = f"spec.driver={DRIVER}"
AWAY = 60.0
"""Seconds that the API server is away: longer than a node may be silent before it counts as unknown (50 s)."""
BACK_WITHIN = 10.0
"""Seconds within which a deleted slice is back; on an idle machine it takes 1.2 at most, and 2 are promised."""


@pytest.fixture
def stand(case: Case) -> Iterator[Case]:
    """A case whose pods bear witness, with healthy links and the slices as they were."""
    case.create(witness.nic())
    case.until(lambda: not _tainted(case), "all links are healthy")
    yield case
    borrowed.complain(case.agent.complaints, {})


def test_without_api_server_pods_attach_and_end_and_all_is_told_later(stand: Case) -> None:
    stand.create(witness.pod(stand, "lasting"), witness.pod(stand, "ending", policy="Never", then=_then_wait("ending")))
    alive = set(witness.sandboxes(stand, stand.running("lasting")))
    stand.running("ending")
    server = stand.node.parts["kube-apiserver"]
    with witness.held(stand, "starting") as all_held:
        stand.create(witness.pod(stand, "starting"))
        all_held()
        ended, claim = (stand.claim_of(name, "nic") for name in ("ending", "starting"))
        server.end()
        gone = time.monotonic()
    witness.saw(stand, "starting")
    _tell(stand, "ending")
    stand.until(lambda: ended["metadata"]["uid"] not in _uids(stand), "the device of the pod that ended is free")
    borrowed.complain(stand.agent.complaints, {LENDERS[0]: "its cable is out"})
    stand.until(lambda: _unhealthy(stand) == [LENDERS[0]], "the agent knows of the bad link")
    stand.until(lambda: time.monotonic() - gone >= AWAY, "the API server was away for so long")
    assert stand.agent.status()["pendingStatus"]
    assert witness.running(stand) >= alive

    server.start(stand.node.spaces)
    stand.until(lambda: _attached(stand.claim(claim["metadata"]["name"])), "the status of the claim is written")
    stand.until(lambda: _tainted(stand) == [LENDERS[0]], "the slices tell of the bad link")
    stand.phase("ending", "Succeeded")
    stand.running("lasting", "starting")
    witness.saw(stand, "lasting", "ending", "starting")
    stand.create(witness.pod(stand, "later"))
    # The node counts as unknown at first, and the controllers come back one by one.
    stand.running("later")


def test_what_happens_while_the_watch_is_cut_and_forgotten_is_seen(stand: Case) -> None:
    published, names = _published(stand), _names(stand)
    stand.agent.freeze()
    for name in names:
        stand.api.delete("ResourceSlice", name)
    server = stand.node.parts["kube-apiserver"]
    server.end()
    server.start(stand.node.spaces)
    stand.agent.thaw()
    stand.until(lambda: _published(stand) == published, "the slices are back")
    stand.api.delete("ResourceSlice", _names(stand)[0])
    stand.until(lambda: _published(stand) == published, "the new watch is followed")


def test_a_slice_that_somebody_deletes_is_back_at_once(stand: Case) -> None:
    published = _published(stand)
    with real(stand.node) as server:
        version = server.ask("GET", SLICES, fieldSelector=MINE).metadata["resourceVersion"]
        with server.watch(SLICES, fieldSelector=MINE, resourceVersion=version) as events:
            server.ask("DELETE", SLICES, fieldSelector=MINE)
            seen = {kind: time.monotonic() for kind in _first(events, "DELETED", "ADDED")}
    assert seen["ADDED"] - seen["DELETED"] < BACK_WITHIN
    stand.until(lambda: _published(stand) == published, "all of them are back")


def test_a_conflict_with_another_hand_does_not_keep_the_agent_from_its_own(stand: Case) -> None:
    published, names = _published(stand), _names(stand)
    before = _conflicts(stand)

    def met() -> bool:
        for old, new in ((LENDERS[1], "elsewhere"), ("elsewhere", LENDERS[1])):
            _rename(stand, old, new)
            stand.until(lambda new=new: (LENDERS[1] in _published(stand)) == (new == LENDERS[1]), "the slice tells it")  # type: ignore[misc]  # mypy cannot infer it
        return _conflicts(stand) > before

    with _touched(stand, names[0]):
        stand.until(met, "the agent has met a conflict")
    borrowed.complain(stand.agent.complaints, {LENDERS[0]: "its cable is out"})
    stand.until(lambda: _tainted(stand) == [LENDERS[0]], "the slice tells of the bad link")
    stand.until(lambda: _published(stand).keys() == published.keys(), "all devices are published")
    assert _names(stand) == names


def test_a_slice_that_the_server_refuses_does_not_cost_the_others(stand: Case) -> None:
    with _refused(stand, "dummy150"):
        stand.agent.terminate()
        stand.agent.settings["deviceManagerConfigs"]["dummy"]["count"] = 200
        stand.agent.launch()
        stand.until(lambda: len(_published(stand)) > 60, "the slices that are not refused are published")
        stand.until(lambda: _REFUSAL in stand.agent.status()["published"]["error"], "the refusal is told")
        assert "dummy150" not in _published(stand)
        # A claim that the kubelet has nobody to prepare for is tried again a minute later.
        stand.until(lambda: stand.agent.status()["ready"], "the agent serves")
        # The scheduler takes nothing of a pool that is not complete.
        stand.create(witness.pod(stand, "red"))
        stand.running("red")
    stand.agent.settings["deviceManagerConfigs"]["dummy"]["count"] = 201
    stand.agent.restart()
    stand.until(lambda: {"dummy150", "dummy200"} <= _published(stand).keys(), "all is published")


_ADMISSION = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
_REFUSAL = "that name brings bad luck"


@contextlib.contextmanager
def _refused(case: Case, device: str) -> Iterator[None]:
    """Have the server refuse slices with that device, by a policy."""
    rule = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"]}
    expression = f'!has(object.spec.devices) || object.spec.devices.all(d, d.name != "{device}")'
    policy = {
        "matchConstraints": {"resourceRules": [rule | {"resources": ["resourceslices"]}]},
        "validations": [{"expression": expression, "message": _REFUSAL, "reason": "Invalid"}],
    }
    binding = {"policyName": "unlucky", "validationActions": ["Deny"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "unlucky"}}
    places = {"ies": ("", policy), "ybindings": ("Binding", binding)}
    with real(case.node) as server:
        for end, (kind, spec) in places.items():
            server.make(_ADMISSION + end, head | {"kind": f"ValidatingAdmissionPolicy{kind}", "spec": spec})
        try:
            unlucky = slice_of("d.example.com", {"name": device})
            case.until(lambda: server.ask("POST", SLICES, unlucky, dryRun="All").status == 422, "the policy holds")
            yield
        finally:
            for end in places:
                server.ask("DELETE", f"{_ADMISSION}{end}/unlucky")
        case.until(lambda: server.ask("POST", SLICES, unlucky, dryRun="All").status == 201, "the policy is gone")


@contextlib.contextmanager
def _touched(case: Case, name: str) -> Iterator[None]:
    """Have somebody change a slice's labels again and again."""
    ended = threading.Event()

    def touch() -> None:
        with real(case.node) as server:
            for number in itertools.count():
                if ended.is_set():
                    return
                body = {"metadata": {"labels": {"touched": str(number)}}}
                server.ask("PATCH", f"{SLICES}/{name}", body, content=MERGE)

    thread = threading.Thread(target=touch, name="touch")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _conflicts(case: Case) -> float:
    """Count the updates of slices that the API server has refused as they were of an older version."""
    wanted = ('code="409"', 'resource="resourceslices"', 'verb="PUT"')
    lines = case.api.raw("GET", "/metrics").splitlines()
    found = (line for line in lines if line.startswith("apiserver_request_total{") and all(w in line for w in wanted))
    return sum(float(line.rpartition(" ")[2]) for line in found)


def _rename(case: Case, old: str, new: str) -> None:
    case.node.run("ip", "link", "set", old, "down")
    case.node.run("ip", "link", "set", old, "name", new)
    case.node.run("ip", "link", "set", new, "up")


def _first(events: Iterable[tuple[str, Object]], *kinds: str) -> Iterator[str]:
    """Give each kind of event when it comes for the first time, until all have come."""
    wanted = list(kinds)
    for kind, _ in events:
        if kind in wanted:
            wanted.remove(kind)
            yield kind
        if not wanted:
            return


def _published(case: Case) -> dict[str, Object]:
    """Give the devices in the driver's slices, by name."""
    slices = case.api.list("ResourceSlice", fieldSelector=MINE)
    return {device["name"]: device for each in slices for device in each["spec"].get("devices", ())}


def _names(case: Case) -> list[str]:
    return [each["metadata"]["name"] for each in case.api.list("ResourceSlice", fieldSelector=MINE)]


def _tainted(case: Case) -> list[str]:
    return [name for name, device in _published(case).items() if "taints" in device]


def _unhealthy(case: Case) -> list[str]:
    return [device["device"] for device in case.agent.devices() if device["health"] == "Unhealthy"]


def _uids(case: Case) -> set[str]:
    return {row["uid"] for row in case.agent.allocations()}


def _attached(claim: Object) -> bool:
    """Tell whether the status says that the claim's device is in its pod."""
    conditions = [each for entry in claim["status"].get("devices", ()) for each in entry["conditions"]]
    return ("NetworkReady", "True") in {(each["type"], each["status"]) for each in conditions}


def _then_wait(name: str) -> str:
    """Give a script that ends when it is told to."""
    return f"until test -e /witness/{name}.told; do sleep 1; done"


def _tell(case: Case, name: str) -> None:
    case.node.spaces.path(f"/run/witness/{name}.told").touch()
