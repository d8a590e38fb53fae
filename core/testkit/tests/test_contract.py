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
from dragoman_kit import links, made, netns
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from dragoman_testkit.contract import ManagerContract


class Good(NetdevManager[NoSettings]):
    type = "broken"

    def inventory(self):
        return Inventory(devices=(Device(name="made0", identity="x"), Device(name="made1", identity="y")))

    def make_link(self, netlink, name, allocation):
        netlink.add_link(name, "ifb")


class Bare:
    # the required hooks alone, for devices that are no links
    def __init__(self, context, settings):
        pass

    @hookimpl
    def discover_devices(self):
        return Inventory(devices=(Device(name="node0", identity="x"), Device(name="node1", identity="y")))

    @hookimpl
    def setup_device(self, request):
        return Prepared(state={"node": "/dev/node"})

    @hookimpl
    def free_device(self, request):
        pass

    @hookimpl
    def recover_devices(self, request):
        return [Recovered(outcome=Recovery.INTACT) for _ in request.records]


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


class Dawdling(Good):
    @hookimpl
    def watch_devices(self, request):
        import threading
        request.stopped.wait()
        threading.Event().wait(1.5)


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


class Meddling(Good):
    @hookimpl
    def setup_device(self, request):
        prepared = super().setup_device(replace(request, plan=dict(request.plan)))
        request.plan["seen"] = True
        return prepared


class Numbered(Good):
    lives = itertools.count()

    def __init__(self, context, settings):
        super().__init__(context, settings)
        self.life = next(self.lives)

    def inventory(self):
        return Inventory(devices=(Device(name=f"made{self.life}", identity="x"),))


class Forgetful(Good):
    def __init__(self, context, settings):
        super().__init__(context, settings)
        self.known = set()

    @hookimpl
    def setup_device(self, request):
        self.known.add(request.allocation.claim_uid)
        return super().setup_device(request)

    @hookimpl
    def attach_device(self, request):
        if request.record.allocation.claim_uid not in self.known:
            raise DeviceError("never heard of it")
        return super().attach_device(request)


class Littering(Good):
    @hookimpl
    def setup_device(self, request):
        address = {"family": 2, "prefixlen": 32, "local": "192.0.2.77", "address": "192.0.2.77", "index": 1}
        with Netlink() as netlink:
            netlink.add_address(address, replace=True)
        return super().setup_device(request)


class Ruling(Good):
    @hookimpl
    def setup_device(self, request):
        with Netlink() as netlink:
            if not any(rule["table"] == 77 for rule in netlink.rules()):
                netlink.add_rule({"family": 2, "action": 1, "table": 77, "flags": 0, "priority": 77})
        return super().setup_device(request)


class Tuning(Good):
    @hookimpl
    def setup_device(self, request):
        with open("/proc/sys/net/ipv4/conf/lo/arp_ignore", "w") as leaf:
            leaf.write("1")
        return super().setup_device(request)


class Untagged(Good):
    @hookimpl
    def setup_device(self, request):
        name, tag = request.plan["name"], request.plan["tag"]
        with Netlink() as netlink:
            link = netlink.link(name)
            if link and link.alias != "dragoman:" + tag:
                raise ForeignLink(f"link {name} is not ours")
            if not link:
                netlink.add_link(name, "ifb")
                netlink.set_link(netlink.link(name).index, ifalias="dragoman:" + tag)
        return Prepared(state=request.plan, target=Link(name=name, identity="tag:" + tag))


class Answered(Good):
    @hookimpl
    def detach_device(self, request):
        return super().detach_device(request) if request.record.attached else request.record.prepared.state


class Doubling(Good):
    @hookimpl
    def recover_devices(self, request):
        asked = [replace(r, snapshot=r.snapshot if r.attached else None) for r in request.records]
        return super().recover_devices(replace(request, records=asked))


class Deaf(Good):
    @hookimpl
    def attach_device(self, request):
        record = request.record
        allocation = replace(record.allocation, parameters=Parameters(pod_if_name="net1"))
        return super().attach_device(replace(request, record=replace(record, allocation=allocation)))


class Tidy(Good):
    @hookimpl
    def stop(self):
        made.prune(self._owner, ())


class Fickle(Good):
    @hookimpl
    def apply_settings(self, request):
        made.prune(self._owner, ())


class Trusting(Good):
    @hookimpl
    def attach_device(self, request):
        return super().attach_device(replace(request, netns=netns.identify(request.netns.path)))

    @hookimpl
    def detach_device(self, request):
        try:
            here = request.netns and netns.identify(request.netns.path)
        except FileNotFoundError:
            here = None
        return super().detach_device(replace(request, netns=here))


class Reversed(Good):
    @hookimpl
    def recover_devices(self, request):
        return super().recover_devices(request)[::-1]


class Vague(Good):
    @hookimpl
    def device_metadata(self, request):
        return {"attributes": {}}


class Mistaken(Good):
    @hookimpl
    def attach_device(self, request):
        return replace(super().attach_device(request), mac="02:00:00:00:00:99")


class Misnamed(Good):
    type = "another"


class Hasty(Good):
    @hookimpl
    def recover_devices(self, request):
        return [self.again(record) for record in request.records]

    def again(self, record):
        name, alias = record.plan["name"], "dragoman:" + record.plan["tag"]
        with Netlink() as netlink:
            if link := netlink.link(name) or record.snapshot:
                ours = record.snapshot or link.alias == alias
                return Recovered(outcome=Recovery.INTACT if ours else Recovery.LOST, message="foreign")
            netlink.add_link(name, "ifb")
            netlink.set_link(netlink.link(name).index, ifalias=alias)
        return Recovered(outcome=Recovery.RESTORED, prepared=record.prepared)


class Opening(Good):
    opened = False

    @hookimpl
    def start(self):
        self.opened = True

    @hookimpl
    def stop(self):
        self.opened = False

    def inventory(self):
        assert self.opened
        return super().inventory()


@dataclass(frozen=True)
class Queue:
    length: int = 7


@dataclass
class Changeable:
    length: int = 7


class Loose(Good):
    pass


class Tuned(Good):
    def make_link(self, netlink, name, allocation):
        netlink.add_link(name, "ifb", txqlen=allocation.parameters.own.length)


for manager in (Good, Bare, *Good.__subclasses__()):
    own = {Tuned: Queue, Loose: Changeable}.get(manager)
    descriptor = DeviceManager(type="broken", settings_key="broken", create=manager, parameters=own)
    body = {"descriptor": descriptor, "limit": 3.0 if manager is Stubborn else 30.0}
    globals()[f"Test{manager.__name__}"] = type(f"Test{manager.__name__}", (ManagerContract,), body)
"""

KEEPING = ("Good", "Bare", "Tuned", "Opening")

EXPECTED: Mapping[str, str] = {
    "Restless": "test_two_scans_of_the_same_host_give_the_same_and_change_nothing",
    "Greedy": "test_a_foreign_link_of_the_same_name_is_neither_taken_nor_deleted",
    "Leaky": "test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing",
    "Fragile": "test_freeing_what_was_never_set_up_is_nothing",
    "Stubborn": "test_a_watch_ends_within_a_second_of_being_told",
    "Dawdling": "test_a_watch_ends_within_a_second_of_being_told",
    "Hopeless": "test_a_prepared_device_is_intact_for_the_next_life_of_the_agent",
    "Unmarked": "test_every_hook_is_marked_and_plain_and_the_required_ones_exist",
    "Tupled": "test_setting_up_again_gives_the_same_and_changes_nothing",
    "Staying": "test_into_the_pod_and_back",
    "Meddling": "test_into_the_pod_and_back",
    "Numbered": "test_the_next_life_sees_the_same_devices",
    "Forgetful": "test_what_one_life_prepared_the_next_one_attaches",
    "Littering": "test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing",
    "Ruling": "test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing",
    "Tuning": "test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing",
    "Untagged": "test_a_setup_that_died_leaves_nothing_behind_once_it_is",
    "Answered": "test_an_attach_that_died_is_undone_by_detaching",
    "Doubling": "test_an_attach_that_died_is_undone_by_detaching",
    "Deaf": "test_the_common_parameters_reach_the_pod",
    "Tidy": "test_stopping_and_starting_leave_alone_what_is_prepared",
    "Fickle": "test_the_same_settings_again_change_nothing",
    "Trusting": "test_a_path_that_leads_to_another_namespace_is_not_followed",
    "Reversed": "test_each_record_has_its_answer_in_order",
    "Vague": "test_describing_repeats_and_changes_nothing",
    "Mistaken": "test_into_the_pod_and_back",
    "Misnamed": "test_the_manager_has_the_type_of_its_descriptor",
    "Loose": "test_the_descriptor_can_be_used",
    "Hasty": "test_a_recovery_that_died_is_finished_by_the_next_one",
}


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, set[str]]:
    """What the suite finds in each manager, by its name: all tests of those that keep the contract, else the one."""
    folder = tmp_path_factory.mktemp("broken")
    Path(folder, "test_broken.py").write_text(BROKEN)
    chosen = [f"test_broken.py::Test{name}" for name in KEEPING]
    chosen += [f"test_broken.py::Test{name}::{test}" for name, test in EXPECTED.items()]
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *chosen]
    output = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder).stdout
    found: dict[str, set[str]] = {name: set() for name in (*KEEPING, *EXPECTED)}
    for manager, test in re.findall(r"^(?:FAILED|ERROR) \S+::Test(\w+)::(\w+)", output, re.MULTILINE):
        found[manager].add(test)
    assert re.search(r"\d+ failed, \d+ passed", output), output
    return found


@pytest.mark.parametrize("manager", KEEPING)
def test_a_manager_that_keeps_the_contract_passes(failures: Mapping[str, set[str]], manager: str) -> None:
    assert failures[manager] == set()


@pytest.mark.parametrize(("manager", "test"), EXPECTED.items())
def test_a_manager_that_breaks_it_fails(failures: Mapping[str, set[str]], manager: str, test: str) -> None:
    assert test in failures[manager]
