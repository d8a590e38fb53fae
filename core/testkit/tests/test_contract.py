"""The contract suite fails managers that break the contract, each in the test that is about it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.kernel

BROKEN = """
import itertools
from dataclasses import dataclass, replace

from dragoman_hookspecs import *
from dragoman_kit import links
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from dragoman_testkit.contract import ManagerContract


class Good(NetdevManager[NoSettings]):
    type = "broken"

    def inventory(self):
        return Inventory(devices=(Device(name="made0", identity="x"), Device(name="made1", identity="y")))

    def make_link(self, netlink, name, allocation):
        netlink.add_link(name, "ifb")


class Restless(Good):
    numbers = itertools.count()

    def inventory(self):
        return Inventory(devices=(Device(name="made0", identity=str(next(self.numbers))),))


class Greedy(Good):
    @hookimpl
    def setup_device(self, request):
        with Netlink() as netlink:
            link = netlink.link(request.plan["name"])
            if link and not link.alias:
                netlink.delete_link(link.index)
        return super().setup_device(request)


class Leaky(Good):
    @hookimpl
    def free_device(self, request):
        pass


class Fragile(Good):
    @hookimpl
    def free_device(self, request):
        with Netlink() as netlink:
            netlink.delete_link(netlink.link(request.record.plan["name"]).index)


class Stubborn(Good):
    @hookimpl
    def watch_devices(self, request):
        import threading
        threading.Event().wait(30)


class Hopeless(Good):
    @hookimpl
    def recover_devices(self, request):
        return [Recovered(outcome=Recovery.LOST, message="lost") for _ in request.records]


class Unmarked(Good):
    def container_edits(self, request):
        return ContainerEdits()


class Tupled(Good):
    @hookimpl
    def setup_device(self, request):
        return replace(super().setup_device(request), state={"a": (1, 2)})


class Staying(Good):
    @hookimpl
    def detach_device(self, request):
        return {}


@dataclass(frozen=True)
class Queue:
    length: int = 7


class Tuned(Good):
    def make_link(self, netlink, name, allocation):
        netlink.add_link(name, "ifb", txqlen=allocation.parameters.own.length)


for manager in (Good, Tuned, Restless, Greedy, Leaky, Fragile, Stubborn, Hopeless, Unmarked, Tupled, Staying):
    own = Queue if manager is Tuned else None
    descriptor = DeviceManager(type="broken", settings_key="broken", create=manager, parameters=own)
    body = {"descriptor": descriptor, "limit": 1.0}
    globals()[f"Test{manager.__name__}"] = type(f"Test{manager.__name__}", (ManagerContract,), body)
"""

EXPECTED: Mapping[str, str] = {
    "Restless": "test_two_scans_of_the_same_host_give_the_same_and_change_nothing",
    "Greedy": "test_a_foreign_link_of_the_same_name_is_neither_taken_nor_deleted",
    "Leaky": "test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing",
    "Fragile": "test_freeing_what_was_never_set_up_is_nothing",
    "Stubborn": "test_a_watch_ends_within_a_second_of_being_told",
    "Hopeless": "test_a_prepared_device_is_intact_for_the_next_life_of_the_agent",
    "Unmarked": "test_every_hook_is_marked_and_plain_and_the_required_ones_exist",
    "Tupled": "test_setting_up_again_gives_the_same_and_changes_nothing",
    "Staying": "test_into_the_pod_and_back",
}


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, set[str]]:
    """What the suite finds in each manager, by its name."""
    folder = tmp_path_factory.mktemp("broken")
    Path(folder, "test_broken.py").write_text(BROKEN)
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", str(folder)]
    output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder).stdout
    found: dict[str, set[str]] = {name: set() for name in ("Good", "Tuned", *EXPECTED)}
    for manager, test in re.findall(r"^(?:FAILED|ERROR) \S+::Test(\w+)::(\w+)", output, re.MULTILINE):
        found[manager].add(test)
    assert re.search(r"\d+ failed, \d+ passed", output), output
    return found


def test_a_manager_that_keeps_the_contract_passes(failures: Mapping[str, set[str]]) -> None:
    assert failures["Good"] == set()


def test_a_manager_with_parameters_of_its_own_is_given_them(failures: Mapping[str, set[str]]) -> None:
    assert failures["Tuned"] == set()


@pytest.mark.parametrize(("manager", "test"), EXPECTED.items())
def test_a_manager_that_breaks_it_fails(failures: Mapping[str, set[str]], manager: str, test: str) -> None:
    assert test in failures[manager]
