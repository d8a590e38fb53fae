"""How a kubelet follows the health of devices: which stream, and what the pod's status shows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman_hookspecs import JsonObject
from tests.cluster.shared.kubelets import Kubelet
from tests.cluster.shared.pods import POOL, Result
from tests.cluster.shared.preparing import Preparing, Report, device, registered
from tests.cluster.shared.wire import unique
from tests.cluster.waiting import until


class Watched:
    """A pod with one device, ``id``, of a driver."""

    def __init__(self, driver: Preparing) -> None:
        self.driver = driver
        self.pods = driver.kubelet.pods
        self.claim = self.pods.claim(Result(driver.name))
        self.pod = self.pods.start(self.claim, containers=[("app", [(self.claim, "net")])])

    def shown(self) -> JsonObject:
        """Give what the status shows of the device."""
        (shown,) = self.pods.health(self.pod).get(f"claim:{self.claim.name}/net", [{}])
        return shown

    def becomes(self, health: str) -> JsonObject:
        """Wait until the status shows that."""
        until(lambda: self.shown().get("health") == health, f"the device is shown as {health}")
        return self.shown()

    def becomes_when_looked_at(self, health: str) -> JsonObject:
        """Wait until the status shows what the kubelet knows, and does not write by itself."""

        def look() -> bool:
            self.pods.look(self.pod)
            return bool(self.shown().get("health") == health)

        until(look, f"the device is shown as {health}")
        return self.shown()


@pytest.fixture
def driver(kubelet: Kubelet) -> Iterator[Preparing]:
    """A registered driver."""
    with registered(kubelet) as driver:
        yield driver


@pytest.fixture
def watched(driver: Preparing) -> Iterator[Watched]:
    """A pod with a device."""
    watched = Watched(driver)
    until(lambda: watched.pods.prepared(watched.pod), "the pod is prepared")
    yield watched
    watched.pods.stop(watched.pod)
    until(lambda: watched.pods.gone(watched.pod), "the pod is gone")


V1 = pytest.mark.since(37, "a kubelet knows only the first version of the health service")


@pytest.mark.parametrize(
    ("health", "chosen"),
    [
        pytest.param(("v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"), "v1", marks=V1),
        pytest.param(("v1alpha1.DRAResourceHealth", "v1.DRAResourceHealth"), "v1", marks=V1),
        (("v1alpha1.DRAResourceHealth",), "v1alpha1"),
    ],
)
def test_one_stream_begins_with_the_registration_in_the_version_that_the_kubelet_prefers(
    kubelet: Kubelet, health: tuple[str, ...], chosen: str
) -> None:
    driver = Preparing(kubelet=kubelet, name=f"{unique('driver')}.example.com", versions=("v1.DRAPlugin", *health))
    with driver.serving():
        until(lambda: driver.watched, "a stream begins")
        watched = Watched(driver)
        until(lambda: watched.pods.prepared(watched.pod), "the pod is prepared")
        driver.report(Report())
        watched.becomes("Healthy")
        watched.pods.stop(watched.pod)
        until(lambda: watched.pods.gone(watched.pod), "the pod is gone")
        driver.end_streams()
    assert driver.watched[0] == chosen


def test_a_device_without_a_report_is_unknown_and_goes_by_its_own_name(watched: Watched) -> None:
    name = f"{watched.driver.name}/{POOL}/dev-0"
    assert watched.becomes("Unknown") == {"resourceID": name, "health": "Unknown"}


@pytest.mark.since(36, "a pod's status shows no message of health")
def test_a_report_shows_with_its_message(watched: Watched) -> None:
    watched.driver.report(Report(health="UNHEALTHY", message="its cable is out"))
    shown = watched.becomes("Unhealthy")
    assert shown.get("message") == "its cable is out"
    watched.driver.report(Report())
    assert "message" not in watched.becomes("Healthy")


def test_a_report_without_a_device_leaves_that_as_it_was(watched: Watched) -> None:
    watched.driver.report(Report(health="UNHEALTHY"))
    watched.becomes("Unhealthy")
    watched.driver.report(Report(device="other"))
    watched.driver.report(Report(device="third", health="UNHEALTHY"))
    assert watched.becomes("Unhealthy")["resourceID"].endswith("dev-0")


def test_a_stream_that_ends_makes_the_devices_unknown_and_is_begun_again(watched: Watched) -> None:
    watched.driver.report(Report(health="UNHEALTHY"))
    watched.becomes("Unhealthy")
    begun = len(watched.driver.watched)
    watched.driver.end_streams()
    watched.becomes_when_looked_at("Unknown")
    watched.driver.end_streams(ended=False)
    until(lambda: len(watched.driver.watched) > begun, "another stream begins")
    watched.becomes("Unhealthy")


def test_a_device_goes_by_its_first_cdi_id(driver: Preparing) -> None:
    ids = (f"{driver.name}/nic=a", f"{driver.name}/nic=guard")
    claim = driver.kubelet.pods.claim(Result(driver.name))
    driver.answers[claim.name] = (device("dev-0", *ids),)
    driver.report(Report())
    pods = driver.kubelet.pods
    pod = pods.start(claim)
    shown = until(lambda: pods.health(pod).get(f"claim:{claim.name}"), "the status shows the device")
    assert [each["resourceID"] for each in shown] == [ids[0]]
    pods.stop(pod)
    until(lambda: pods.gone(pod), "the pod is gone")
