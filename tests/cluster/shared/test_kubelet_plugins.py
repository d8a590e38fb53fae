"""How a kubelet learns of a driver: sockets that come, go and come back, answers that it cannot use, its restart."""

from __future__ import annotations

import pytest

from tests.cluster.shared.kubelets import Driver, Kubelet
from tests.cluster.shared.wire import unique
from tests.cluster.waiting import until


@pytest.fixture
def driver(kubelet: Kubelet) -> Driver:
    """A driver beside each of them in turn."""
    return Driver(kubelet=kubelet, name=f"{unique('plugin')}.example.com")


def test_a_socket_that_comes_is_asked_and_told(driver: Driver) -> None:
    with driver.serving():
        until(lambda: driver.told, "the driver is told")
    assert (driver.told[0], driver.asked) == ((True, ""), 1)


def test_a_socket_that_comes_back_is_a_new_registration(driver: Driver) -> None:
    for count in (1, 2):
        with driver.serving():
            until(lambda count=count: len(driver.told) == count, "the driver is told")  # type: ignore[misc]  # mypy cannot infer it
    assert driver.told == [(True, "")] * 2


@pytest.mark.parametrize(
    ("change", "word"),
    [({"type": "CoffeePlugin"}, "CoffeePlugin"), ({"versions": ("v9.DRAPlugin",)}, ""), ({"versions": ()}, "")],
)
def test_a_driver_that_cannot_be_used_is_told_why_and_asked_again(
    driver: Driver, change: dict[str, object], word: str
) -> None:
    for name, value in change.items():
        setattr(driver, name, value)
    with driver.serving():
        until(lambda: len(driver.told) >= 2, "the driver is told twice")
    for registered, error in driver.told:
        assert not registered
        assert error
        assert word in error


def test_one_endpoint_is_registered_once(driver: Driver) -> None:
    second = Driver(kubelet=driver.kubelet, name=driver.name)
    with driver.serving():
        until(lambda: driver.told, "the driver is told")
        with second.serving(f"{driver.name}-again-reg.sock"):
            until(lambda: second.told, "the second registration is answered")
    assert not second.told[0][0]
    assert "already registered" in second.told[0][1]


def test_a_kubelet_that_starts_wipes_the_slices_and_registers_what_is_there(driver: Driver) -> None:
    with driver.serving():
        until(lambda: driver.told, "the driver is told")
        driver.kubelet.publish(driver.name)
        assert driver.kubelet.slices(driver.name) == 1
        driver.kubelet.restart()
        until(lambda: len(driver.told) == 2, "the driver is told again")
        until(lambda: not driver.kubelet.slices(driver.name), "the slices are gone")
    assert driver.told == [(True, "")] * 2


def test_slices_go_a_while_after_their_driver_and_stay_if_it_comes_back(driver: Driver) -> None:
    gone = Driver(kubelet=driver.kubelet, name=f"{unique('plugin')}.example.com")
    for each in (driver, gone):
        with each.serving():
            until(lambda each=each: each.told, "the driver is told")  # type: ignore[misc]  # mypy cannot infer it
            each.kubelet.publish(each.name)
    with driver.serving():
        until(lambda: len(driver.told) == 2, "the driver is told again")
        until(lambda: not gone.kubelet.slices(gone.name), "the slices of the driver that left are gone")
        assert driver.kubelet.slices(driver.name) == 1
