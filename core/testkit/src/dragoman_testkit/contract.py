"""The contract suite for device managers. Subclass it, name the descriptor, say what the host needs:

    class TestMine(ManagerContract):
        descriptor = plugin

        def settings(self) -> MySettings:
            return MySettings(count=2)

Each test runs in a private network namespace that stands for the host, so links may be made and broken there at will.
"""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dragoman_hookspecs import (
    COMMON_PARAMETERS,
    CheckConfig,
    DeviceError,
    DeviceManager,
    Link,
    LinkMissing,
    Parameters,
    Record,
    Recovered,
    Recovery,
    WatchDevices,
    WatchHealth,
    hooks,
)
from dragoman_hookspecs.rules import dns_label, interface_name
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns as namespaces
from dragoman_testkit.bench import Bench, allocate, host_links, within
from dragoman_testkit.netns import Pod

REQUIRED = ("discover_devices", "setup_device", "free_device", "recover_devices")
FILTER_FIELDS = frozenset({"ifNames", "pfNames", "parentIfNames", "pciAddrs", "vendorIDs", "deviceIDs", "drivers"})
FOREIGN_MAC = "02:00:00:00:f0:01"
_AGAIN_SECONDS = 0.1


@pytest.mark.kernel
class ManagerContract:
    """What core relies on, whatever the device is. ``limit`` is the time that each hook may take, in seconds."""

    descriptor: ClassVar[DeviceManager]
    limit: ClassVar[float] = 10.0

    def settings(self) -> object:
        """Give settings with which there is at least one device. Override where the defaults have none."""
        return self.descriptor.settings()

    def prepare_host(self, netlink: Netlink) -> None:
        """Make what the manager needs on the host, such as a parent link. Override where it needs something."""

    def parameters(self) -> Parameters:
        """Give parameters that the devices take: those of their own as they are by default. Override for others."""
        own = self.descriptor.parameters() if self.descriptor.parameters else None
        return Parameters(pod_if_name="net1" if "podIfName" in self.descriptor.applies else None, own=own)

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        """A life of the manager on a private host."""
        with namespaces.private_host(), Netlink() as netlink:
            self.prepare_host(netlink)
            yield self.life(tmp_path)

    @pytest.fixture
    def pod(self, bench: Bench) -> Iterator[Pod]:
        """A namespace that is a pod's."""
        del bench
        with namespaces.pod() as made:
            yield made

    @pytest.fixture
    def prepared(self, bench: Bench) -> Record:
        """The first device, prepared."""
        return bench.prepare(allocate(bench.scan().devices[0], self.parameters()))

    @pytest.fixture
    def movable(self, prepared: Record) -> Record:
        """The first device, prepared, if it is a link that is moved."""
        if not isinstance(target(prepared), Link):
            pytest.skip("no link of this manager is moved into a pod")
        return prepared

    def life(self, folder: Path) -> Bench:
        """Begin a new life of the manager, as after a restart of the agent."""
        return Bench.of(self.descriptor, self.settings(), folder, self.limit)

    # -- what is declared ------------------------------------------------------------------------------------------

    def test_the_descriptor_can_be_used(self) -> None:
        assert self.descriptor.type
        assert self.descriptor.settings_key
        assert self.descriptor.applies <= COMMON_PARAMETERS | {"vlan"}
        for schema in (self.descriptor.settings, self.descriptor.parameters):
            assert schema is None or dataclasses.is_dataclass(schema)

    def test_every_hook_is_marked_and_plain_and_the_required_ones_exist(self, bench: Bench) -> None:
        known = {name for name in vars(hooks) if hasattr(getattr(hooks, name), f"{hooks.PROJECT}_spec")}
        marked = {name for name in dir(bench.manager) if hasattr(getattr(bench.manager, name), f"{hooks.PROJECT}_impl")}
        assert set(REQUIRED) <= marked
        assert marked <= known
        assert {name for name in known if bench.has(name)} == marked, "a hook that is not marked is never called"

    # -- inventory -------------------------------------------------------------------------------------------------

    def test_devices_have_names_identities_and_attributes_that_can_be_published(self, bench: Bench) -> None:
        devices = bench.scan().devices
        assert devices, "the settings of this test give no device"
        assert len({device.name for device in devices}) == len(devices)
        for device in devices:
            assert dns_label(device.name) is None
            assert device.identity
            assert not {"pool", "deviceManager"} & set(device.attributes), "core owns these attributes"
            assert set(device.filter_values) <= FILTER_FIELDS
            assert device.capacity or not device.allow_multiple_allocations

    def test_two_scans_of_the_same_host_give_the_same_and_change_nothing(self, bench: Bench) -> None:
        before = host_links()
        assert bench.scan() == bench.scan()
        assert host_links() == before

    def test_a_device_keeps_its_name_and_identity_while_it_is_prepared(self, bench: Bench, prepared: Record) -> None:
        device = prepared.allocation.device
        later = {other.name: other.identity for other in bench.scan().devices}
        assert later.get(device.name, device.identity) == device.identity

    # -- prepare and free ------------------------------------------------------------------------------------------

    def test_checking_and_planning_change_nothing_and_repeat(self, bench: Bench) -> None:
        before = host_links()
        allocation = allocate(bench.scan().devices[0], self.parameters())
        for _ in range(2):
            if bench.has("check_config"):
                request = CheckConfig(device=allocation.device, allocation=allocation)
                assert bench.call("check_config", request) is None
        assert bench.plan(allocation) == bench.plan(allocation)
        assert host_links() == before

    def test_setting_up_again_gives_the_same_and_changes_nothing(self, bench: Bench, prepared: Record) -> None:
        before = host_links()
        assert bench.setup(prepared.allocation, prepared.plan) == prepared.prepared
        assert host_links() == before

    def test_the_target_exists_under_a_good_name(self, movable: Record) -> None:
        name = target_link(movable).name
        assert interface_name(name) is None
        assert name in host_links()

    def test_freeing_leaves_the_host_as_it_was_and_freeing_again_is_nothing(self, bench: Bench) -> None:
        before = host_links()
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        for _ in range(2):
            bench.free(record)
            assert host_links() == before

    def test_freeing_what_was_never_set_up_is_nothing(self, bench: Bench) -> None:
        before = host_links()
        allocation = allocate(bench.scan().devices[0], self.parameters())
        bench.free(Record(allocation=allocation, plan=bench.plan(allocation)))
        bench.free(Record(allocation=allocation))
        assert host_links() == before

    def test_freeing_with_only_the_plan_undoes_a_setup_that_never_answered(self, bench: Bench, tmp_path: Path) -> None:
        before = host_links()
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        self.life(tmp_path).free(replace(record, prepared=None))
        assert host_links() == before

    def test_freeing_one_allocation_leaves_another_alone(self, bench: Bench) -> None:
        first, second = self.two(bench)
        kept = target(second)
        bench.free(first)
        assert bench.recover(second)[0].outcome is Recovery.INTACT
        assert not isinstance(kept, Link) or kept.name in host_links()

    def test_two_allocations_have_two_targets(self, bench: Bench) -> None:
        first, second = self.two(bench)
        if isinstance(target(first), Link):
            assert target(first) != target(second)

    def two(self, bench: Bench) -> tuple[Record, Record]:
        """Prepare two devices, or two shares of one."""
        devices = bench.scan().devices
        if len(devices) < 2 and not devices[0].allow_multiple_allocations:
            pytest.skip("there is one device only")
        allocations = (
            allocate(device, self.parameters(), number) for number, device in zip((0, 1), devices * 2, strict=False)
        )
        first, second = (bench.prepare(allocation) for allocation in allocations)
        return first, second

    def test_a_foreign_link_of_the_same_name_is_neither_taken_nor_deleted(self, bench: Bench) -> None:
        before = host_links()
        record = bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        bench.free(record)
        if not isinstance(target(record), Link) or target_link(record).name in before:
            pytest.skip("no link is made")
        name = target_link(record).name
        with Netlink() as netlink:
            netlink.add_link(name, "ifb", address=FOREIGN_MAC)
        foreign = host_links()[name]
        if refusal := self.refusal(bench, record):
            assert name in refusal
        bench.free(record)
        assert host_links()[name] == foreign

    def refusal(self, bench: Bench, record: Record) -> str:
        """Prepare again while a foreign link has the name; give the refusal, or nothing if another name was taken."""
        try:
            again = bench.prepare(record.allocation)
        except DeviceError as refused:
            return str(refused)
        assert target(again) != target(record)
        return ""

    # -- attach and detach -----------------------------------------------------------------------------------------

    def test_into_the_pod_and_back(self, bench: Bench, movable: Record, pod: Pod) -> None:
        before = host_links()
        descriptors = open_files()
        attached = bench.attach(movable, pod.netns)
        assert attached.attached is not None
        with pod.entered():
            assert attached.attached.interface in host_links()
        assert attached.attached.interface == (self.parameters().pod_if_name or target_link(movable).name)
        assert target_link(movable).name not in host_links()
        back = bench.detach(attached, pod.netns)
        assert without_index(host_links()) == without_index(before)
        assert open_files() == descriptors
        bench.free(back)

    def test_detaching_again_and_detaching_what_never_moved_is_nothing(
        self, bench: Bench, movable: Record, pod: Pod
    ) -> None:
        before = host_links()
        attached = bench.attach(movable, pod.netns)
        for _ in range(2):
            bench.detach(attached, pod.netns)
        assert without_index(host_links()) == without_index(before)
        bench.detach(replace(attached, attached=None), None)
        bench.detach(replace(attached, attached=None, snapshot=None), pod.netns)
        assert without_index(host_links()) == without_index(before)

    def test_attaching_to_one_pod_after_another(self, bench: Bench, movable: Record, pod: Pod) -> None:
        first = bench.detach(bench.attach(movable, pod.netns), pod.netns)
        with namespaces.pod() as second:
            bench.detach(bench.attach(first, second.netns), second.netns)

    def test_detaching_after_the_namespace_is_gone_succeeds_and_recovery_tells_what_became_of_the_device(
        self, bench: Bench, movable: Record, pod: Pod
    ) -> None:
        attached = bench.attach(movable, pod.netns)
        pod.end()
        gone = bench.detach(attached, None)
        answer = self.recovered(bench, gone)
        if answer.outcome is Recovery.LOST:
            assert movable.allocation.device.link is not None, "a link that is made can be made again"
            assert answer.message
            return
        with namespaces.pod() as second:
            bench.attach(replace(gone, prepared=answer.prepared or gone.prepared), second.netns)

    def recovered(self, bench: Bench, record: Record) -> Recovered:
        """Recover, and again as core would: the kernel ends a namespace, and what its links held, in the background."""
        for _ in range(round(self.limit / _AGAIN_SECONDS)):
            (answer,) = bench.recover(record)
            if answer.outcome is not Recovery.LOST or record.allocation.device.link is not None:
                break
            threading.Event().wait(_AGAIN_SECONDS)
        return answer

    def test_nothing_is_attached_to_a_namespace_that_is_gone(self, bench: Bench, movable: Record, pod: Pod) -> None:
        before = host_links()
        pod.end()
        with pytest.raises(DeviceError):
            bench.attach(movable, pod.netns)
        assert host_links() == before

    # -- restart ---------------------------------------------------------------------------------------------------

    def test_a_prepared_device_is_intact_for_the_next_life_of_the_agent(
        self, bench: Bench, prepared: Record, tmp_path: Path
    ) -> None:
        before = host_links()
        later = self.life(tmp_path)
        (answer,) = later.recover(prepared, complete=True)
        assert answer.outcome is Recovery.INTACT
        assert host_links() == before
        later.free(prepared)

    def test_an_attached_device_is_intact_for_the_next_life_and_comes_back(
        self, bench: Bench, movable: Record, pod: Pod, tmp_path: Path
    ) -> None:
        before = host_links()
        attached = bench.attach(movable, pod.netns)
        later = self.life(tmp_path)
        assert later.recover(attached, complete=True)[0].outcome is Recovery.INTACT
        later.detach(attached, pod.netns)
        assert without_index(host_links()) == without_index(before)

    def test_a_device_whose_link_was_lost_is_restored_or_called_lost_with_a_reason(
        self, bench: Bench, movable: Record, pod: Pod, tmp_path: Path
    ) -> None:
        with Netlink() as netlink:
            netlink.delete_link(int(str(host_links()[target_link(movable).name][0])))
        with pytest.raises(LinkMissing):
            bench.attach(movable, pod.netns)
        (answer,) = self.life(tmp_path).recover(movable)
        if answer.outcome is Recovery.LOST:
            assert answer.message
            return
        assert answer.outcome is Recovery.RESTORED
        restored = replace(movable, prepared=answer.prepared)
        assert self.life(tmp_path).recover(restored)[0].outcome is Recovery.INTACT
        bench.attach(restored, pod.netns)

    def test_recovering_without_records_leaves_foreign_links_and_those_of_other_records(
        self, bench: Bench, prepared: Record, tmp_path: Path
    ) -> None:
        before = host_links()
        assert self.life(tmp_path).recover() == []
        assert host_links() == before, "only a complete list of records may prune"
        assert self.life(tmp_path).recover(prepared, complete=True)[0].outcome is Recovery.INTACT
        with Netlink() as netlink:
            netlink.add_link("foreign0", "ifb", address=FOREIGN_MAC)
        foreign = host_links()["foreign0"]
        self.life(tmp_path).recover(complete=True)
        assert host_links()["foreign0"] == foreign

    # -- descriptions and watches ----------------------------------------------------------------------------------

    @pytest.mark.parametrize("hook", ["device_metadata", "container_edits"])
    def test_describing_repeats_and_changes_nothing(self, bench: Bench, prepared: Record, hook: str) -> None:
        if not bench.has(hook):
            pytest.skip(f"the manager has no {hook}")
        before = host_links()
        assert bench.describe(hook, prepared) == bench.describe(hook, prepared)
        assert host_links() == before

    @pytest.mark.parametrize("hook", ["watch_devices", "watch_health"])
    def test_a_watch_ends_within_a_second_of_being_told(self, bench: Bench, hook: str) -> None:
        if not bench.has(hook):
            pytest.skip(f"the manager has no {hook}")
        stopped = threading.Event()
        request: Any = (
            WatchDevices(changed=stopped.set, stopped=stopped)
            if hook == "watch_devices"
            else WatchHealth(report=lambda _: None, stopped=stopped)
        )
        thread = threading.Thread(target=getattr(bench.manager, hook), args=(request,), daemon=True)
        thread.start()
        stopped.set()
        thread.join(1)
        assert not thread.is_alive()

    def test_starting_and_stopping_can_be_repeated(self, bench: Bench) -> None:
        before = host_links()
        for hook in ("start", "stop", "start", "stop"):
            if bench.has(hook):
                within(self.limit, hook, getattr(bench.manager, hook))
        assert set(before) <= set(host_links())


def target(record: Record) -> object:
    """Give what attach would act on."""
    assert record.prepared is not None
    return record.prepared.target


def target_link(record: Record) -> Link:
    """Give the link that attach would move."""
    link = target(record)
    assert isinstance(link, Link)
    return link


def without_index(links: Any) -> dict[str, tuple[object, ...]]:
    """Leave out the indexes: the kernel may number a link anew when it comes back."""
    return {name: values[1:] for name, values in links.items()}


def open_files() -> int:
    """Count the descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))
