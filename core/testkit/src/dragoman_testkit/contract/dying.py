"""The agent dies in the middle of a hook, after any change that the hook made through the kit."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman_hookspecs import AttachDevice, Record, Recovery
from dragoman_kit.netlink import Netlink
from dragoman_testkit import netns as namespaces
from dragoman_testkit.bench import Bench, allocate, host_links
from dragoman_testkit.contract.base import Ground, target_link, without_index
from dragoman_testkit.death import dies


class Dying(Ground):
    """What is half done is undone or finished by the next life. Changes made without the kit are not seen here."""

    @pytest.mark.parametrize("rest", ["undone", "finished"])
    def test_a_setup_that_died_leaves_nothing_behind_once_it_is(self, bench: Bench, tmp_path: Path, rest: str) -> None:
        before = host_links()
        allocation = allocate(bench.scan().devices[0], self.parameters())
        plan = bench.plan(allocation)
        for changes in itertools.count():
            died = dies(changes, bench.setup, allocation, plan)
            later = self.life(tmp_path)
            if rest == "finished":
                record = Record(allocation=allocation, plan=plan, prepared=later.setup(allocation, plan))
                assert later.recover(record, complete=True)[0].outcome is Recovery.INTACT
            later.free(Record(allocation=allocation, plan=plan))
            assert host_links() == before, f"died after {changes} changes"
            if not died:
                return

    def test_a_free_that_died_is_finished_by_the_next_one(self, bench: Bench, tmp_path: Path) -> None:
        before = host_links()
        allocation = allocate(bench.scan().devices[0], self.parameters())
        for changes in itertools.count():
            record = bench.prepare(allocation)
            died = dies(changes, bench.free, record)
            self.life(tmp_path).free(record)
            assert host_links() == before, f"died after {changes} changes"
            if not died:
                return

    def test_a_recovery_that_died_is_finished_by_the_next_one(
        self, bench: Bench, movable: Record, tmp_path: Path
    ) -> None:
        record = movable
        for changes in itertools.count():
            with Netlink() as netlink:
                netlink.delete_link(int(str(host_links()[target_link(record).name][0])))
            died = dies(changes, bench.recover, record)
            later = self.life(tmp_path)
            (answer,) = later.recover(record, complete=True)
            if record.allocation.device.link is not None:
                return
            assert answer.outcome is not Recovery.LOST, f"died after {changes} changes: {answer.message}"
            record = replace(record, prepared=answer.prepared or record.prepared)
            assert later.recover(record)[0].outcome is Recovery.INTACT
            if not died:
                return

    def test_an_attach_that_died_is_undone_by_detaching(self, bench: Bench, movable: Record, tmp_path: Path) -> None:
        before, record = without_index(host_links()), movable
        for changes in itertools.count():
            with namespaces.pod() as pod:
                half = bench.remember(record)
                died = dies(changes, bench.call, "attach_device", AttachDevice(record=half, netns=pod.netns))
                later = self.life(tmp_path)
                assert later.recover(half, complete=True)[0].outcome is Recovery.INTACT, "it may be inside the pod"
                record = later.detach(half, pod.netns)
                assert without_index(host_links()) == before, f"died after {changes} changes"
            if not died:
                return

    def test_a_detach_that_died_is_finished_by_the_next_one(
        self, bench: Bench, movable: Record, tmp_path: Path
    ) -> None:
        before, record = without_index(host_links()), movable
        for changes in itertools.count():
            with namespaces.pod() as pod:
                attached = bench.attach(record, pod.netns)
                died = dies(changes, bench.detach, attached, pod.netns)
                record = self.life(tmp_path).detach(attached, pod.netns)
                assert without_index(host_links()) == before, f"died after {changes} changes"
            if not died:
                return
