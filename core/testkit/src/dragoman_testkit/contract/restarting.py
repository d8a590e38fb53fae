"""The agent starts again."""

# ruff: noqa: D102 - a test's name says what it shows

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman_hookspecs import ApplySettings, Link, LinkMissing, Record, Recovery
from dragoman_kit.netlink import Netlink
from dragoman_testkit.bench import Bench, host_links
from dragoman_testkit.contract.base import FOREIGN_MAC, Ground, target, target_link, without_index
from dragoman_testkit.netns import Pod


class Restarting(Ground):
    """What one life of the agent made, the next one knows."""

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

    def test_what_one_life_prepared_the_next_one_attaches(
        self, bench: Bench, movable: Record, pod: Pod, tmp_path: Path
    ) -> None:
        before = host_links()
        later = self.life(tmp_path)
        later.detach(later.attach(movable, pod.netns), pod.netns)
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

    def test_each_record_has_its_answer_in_order(self, bench: Bench, tmp_path: Path) -> None:
        first, second = self.two(bench)
        if not isinstance(target(second), Link):
            pytest.skip("no link of this manager is moved into a pod")
        with Netlink() as netlink:
            netlink.delete_link(int(str(host_links()[target_link(second).name][0])))
        lost, intact = (answer.outcome for answer in self.life(tmp_path).recover(second, first))
        assert lost is not Recovery.INTACT
        assert intact is Recovery.INTACT

    def test_stopping_and_starting_leave_alone_what_is_prepared(self, bench: Bench, prepared: Record) -> None:
        before = host_links()
        for hook in ("stop", "start", "stop", "start"):
            if bench.has(hook):
                bench.call(hook)
            assert before.items() <= host_links().items()
        assert bench.recover(prepared)[0].outcome is Recovery.INTACT

    def test_the_same_settings_again_change_nothing(self, bench: Bench, prepared: Record) -> None:
        if not bench.has("apply_settings"):
            pytest.skip("the manager has no apply_settings")
        before, devices = host_links(), bench.scan()
        bench.call("apply_settings", ApplySettings(old=self.settings(), new=self.settings()))
        assert host_links() == before
        assert bench.scan() == devices
        assert bench.recover(prepared)[0].outcome is Recovery.INTACT
