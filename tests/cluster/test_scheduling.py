"""Which device the scheduler gives to whom: by pool, by health, by what is published now, and with a reason if none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster import borrowed, image, objects
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import LENDERS

EXAMPLES = Path(__file__).parents[2] / "deploy" / "examples"


@pytest.fixture
def documented(case: Case) -> Iterator[Case]:
    """A node with the uplinks, the settings and the image of the documented examples."""
    for name in ("eth1", "eth2"):
        case.node.run("ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}-wire")
        for end in (name, f"{name}-wire"):
            case.node.run("ip", "link", "set", end, "up")
    with contextlib.suppress(AssertionError):  # an earlier test has named it already
        case.node.ctr("images", "tag", image.BUSYBOX, "docker.io/library/busybox:1.37")
    settings = yaml.safe_load((EXAMPLES.parent / "settings.yaml").read_text())
    settings["deviceManagerConfigs"]["dummy"] |= {"linkKind": case.node.link_kind()}
    case.agent.settings |= settings
    case.agent.restart()
    case.until(lambda: case.api.get("ServiceAccount", "default"), "the namespace has its service account")
    yield case
    for name in ("storage", "shared-uplink"):
        case.api.delete("DeviceClass", name)
    # Their shells know nothing of an end.
    case.delete(*(pod["metadata"]["name"] for pod in case.api.list("Pod")), grace=1)
    case.close()
    for name in ("eth1", "eth2"):
        case.node.run("ip", "link", "delete", name)


def test_the_documented_link_of_a_storage_network_runs_as_it_stands(documented: Case) -> None:
    _create(documented, "storage")
    documented.running("reader")
    shown = documented.exec("reader", "ip", "address", "show", "net1")
    assert "mtu 1400" in shown
    assert "inet 192.0.2.10/24" in shown
    assert "198.51.100.0/24 via 192.0.2.1 dev net1" in documented.exec("reader", "ip", "route")
    assert documented.exec("reader", "cat", "/proc/sys/net/ipv4/conf/net1/arp_filter") == "1\n"


@objects.NAMED_CAPACITY
def test_the_documented_shares_of_one_uplink_run_as_they_stand(documented: Case) -> None:
    _create(documented, "storage", only="DeviceClass")
    _create(documented, "shared")
    documented.running("left", "right")
    results = [_result(documented, documented.claim_of(name, "share")) for name in ("left", "right")]
    assert len({result["device"] for result in results}) == 1
    assert len({result["shareID"] for result in results}) == 2
    for name in ("left", "right"):
        assert "net1" in documented.exec(name, "ip", "link", "show", "net1")


def test_the_documented_choice_takes_the_first_that_is_free(documented: Case) -> None:
    _create(documented, "storage", only="DeviceClass")
    _create(documented, "prioritised")
    documented.running("chooser")
    result = _result(documented, documented.claim("either"))
    assert result["request"] == "net/fast"
    assert _attribute(documented, result["device"], "parentIfName") == "eth1"


def test_a_class_gives_devices_of_its_pool_only(case: Case) -> None:
    pools = ("lab", "uplink", "borrowed")
    for pool in pools:
        case.create(objects.claim(pool, objects.request("net", pool)), objects.pod(pool, objects.of_claim(pool)))
    case.running(*pools)
    for pool in pools:
        assert _attribute(case, _result(case, case.claim(pool))["device"], "pool") == pool


def test_an_unhealthy_link_is_passed_over_while_there_is_a_healthy_one(case: Case) -> None:
    case.create(objects.template("nic", objects.request("net", "borrowed")))
    borrowed.complain(case.agent.complaints, {LENDERS[0]: "its cable is out"})
    try:
        case.until(lambda: _device(case, LENDERS[0]).get("taints"), "the link is tainted")
        case.create(objects.pod("red", objects.of_template("nic")), objects.pod("blue", objects.of_template("nic")))
        case.until(lambda: {_phase(case, name) for name in ("red", "blue")} == {"Running", "Pending"}, "one pod runs")
        (running,) = [name for name in ("red", "blue") if _phase(case, name) == "Running"]
        (waiting,) = {"red", "blue"} - {running}
        assert _result(case, case.claim_of(running, "nic"))["device"] == LENDERS[1]
        case.event(waiting, "FailedScheduling")
    finally:
        borrowed.complain(case.agent.complaints, {})
    case.running(waiting)
    assert _result(case, case.claim_of(waiting, "nic"))["device"] == LENDERS[0]


def test_a_link_that_leaves_the_host_is_offered_no_longer_and_again_when_it_is_back(case: Case) -> None:
    name = LENDERS[0]
    selector = [{"cel": {"expression": f'device.attributes["{DRIVER}"].ifName == "{name}"'}}]
    case.node.run("ip", "link", "set", name, "down")
    case.node.run("ip", "link", "set", name, "name", "elsewhere")
    try:
        case.until(lambda: not _device(case, name), "the device is withdrawn")
        case.create(objects.claim("nic", objects.request("net", "borrowed", selectors=selector)))
        case.create(objects.pod("red", objects.of_claim("nic")))
        case.event("red", "FailedScheduling")
    finally:
        case.node.run("ip", "link", "set", "elsewhere", "name", name)
        case.node.run("ip", "link", "set", name, "up")
    case.running("red")


def test_a_device_that_is_offered_no_longer_stays_until_its_pod_is_gone(case: Case) -> None:
    case.create(objects.claim("nic", objects.request("net", "lab")), objects.pod("red", objects.of_claim("nic")))
    case.running("red")
    device = _result(case, case.claim("nic"))["device"]
    case.agent.settings["deviceManagerConfigs"]["dummy"]["count"] = 0
    case.agent.restart()
    case.until(lambda: _pool(case, "lab") == [device], "only what a pod has is left of the pool")
    case.create(objects.claim("more", objects.request("net", "lab")), objects.pod("blue", objects.of_claim("more")))
    case.event("blue", "FailedScheduling")
    # It would take the device if the scheduler were to hear of its release before its withdrawal.
    case.delete("blue")
    case.delete("red")
    case.until(lambda: _pool(case, "lab") == [], "nothing is left of the pool")
    case.create(objects.pod("green", objects.of_claim("more")))
    case.event("green", "FailedScheduling")
    assert _phase(case, "green") == "Pending"


def test_a_claim_that_cannot_be_met_stays_pending_with_a_reason_until_it_can(case: Case) -> None:
    both = objects.request("net", "borrowed", allocationMode="ExactCount", count=len(LENDERS))
    case.create(objects.claim("one", objects.request("net", "borrowed")), objects.pod("red", objects.of_claim("one")))
    case.running("red")
    case.create(objects.claim("both", both), objects.pod("blue", objects.of_claim("both")))
    case.event("blue", "FailedScheduling", "cannot allocate all claims")
    assert _phase(case, "blue") == "Pending"
    assert "allocation" not in case.claim("both").get("status", {})
    case.delete("red")
    case.running("blue")


def _create(case: Case, example: str, only: str = "") -> None:
    """Create what an example holds, or only its objects of one kind."""
    for manifest in yaml.safe_load_all((EXAMPLES / f"{example}.yaml").read_text()):
        if only in {"", manifest["kind"]} and not case.api.get(manifest["kind"], manifest["metadata"]["name"]):
            case.create(manifest)


def _result(case: Case, claim: Object) -> Object:
    """Give the one result of a claim's allocation."""
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert result["driver"] == DRIVER
    found: Object = result
    return found


def _published(case: Case) -> list[Object]:
    slices = case.api.list("ResourceSlice", fieldSelector=f"spec.driver={DRIVER}")
    return [device for each in slices for device in each["spec"].get("devices", ())]


def _device(case: Case, name: str) -> Object:
    """Give a device as it is published; empty where it is not."""
    return next((device for device in _published(case) if device["name"] == name), {})


def _pool(case: Case, pool: str) -> list[str]:
    """Name the published devices of a logical pool."""
    return [each["name"] for each in _published(case) if each["attributes"].get("pool") == {"string": pool}]


def _attribute(case: Case, device: str, name: str) -> object:
    (value,) = _device(case, device)["attributes"][name].values()
    return value


def _phase(case: Case, pod: str) -> str:
    return str(case.pod(pod)["status"]["phase"])
