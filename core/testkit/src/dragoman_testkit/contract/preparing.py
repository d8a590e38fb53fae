"""Prepare and free."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman_hookspecs import CheckConfig, DeviceError, Link, Record, Recovery
from dragoman_hookspecs.rules import interface_name
from dragoman_kit.netlink import Netlink
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract.base import FOREIGN_MAC, Ground, target, target_link


class Preparing(Ground):
    """A device is made ready for an allocation, and as it was again."""

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
