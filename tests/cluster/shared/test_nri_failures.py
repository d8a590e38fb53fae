"""What a runtime does with plugins that are late, leave, come back or break its framing, and when it starts anew."""

from __future__ import annotations

import contextlib

import pytest

from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.ttrpc import CallError, Code
from dragoman_testkit.sandbox.runtime_adjust import adding
from tests.cluster.shared.cri import Refused
from tests.cluster.shared.plugin import Plugin, netns
from tests.cluster.shared.runtimes import Runtime, Sandbox
from tests.cluster.waiting import until

RUN, CREATE = "RunPodSandbox", "CreateContainer"
KEEP, FAIL = pb.FailurePolicy(keep_connected=True), pb.FailurePolicy(fail_request=True)


def plugin_of(nri: Runtime, name: str = "suite", policy: pb.FailurePolicy | None = None) -> Plugin:
    """Give a plugin of the runtime, not connected."""
    return Plugin(nri.socket, name, policy=policy, place=nri.place)


def ended(nri: Runtime, sandbox: Sandbox) -> None:
    """Stop and remove a sandbox."""
    nri.stop(sandbox)
    nri.remove(sandbox)


def test_a_plugin_that_does_not_answer_is_dropped_and_the_sandbox_runs(nri: Runtime) -> None:
    with plugin_of(nri) as plugin:
        plugin.replies[RUN] = lambda _: None
        first = nri.run()
        until(plugin.ended.is_set, "the connection is closed")
        second = nri.run()
        assert plugin.happened() == [RUN]
    ended(nri, first)
    ended(nri, second)


def test_a_plugin_that_does_not_answer_is_dropped_and_the_container_is_made(nri: Runtime, sandbox: Sandbox) -> None:
    with plugin_of(nri) as plugin:
        plugin.replies[CREATE] = lambda _: None
        nri.start(nri.create(sandbox))
        until(plugin.ended.is_set, "the connection is closed")


def test_a_late_plugin_that_asked_to_stay_does_so_where_the_runtime_knows_of_that(nri: Runtime) -> None:
    with plugin_of(nri, policy=KEEP) as plugin:
        plugin.replies[RUN] = lambda _: None
        first = nri.run()
        second = nri.run()
        assert plugin.happened() == ([RUN, RUN] if nri.options.knows_failure_policy else [RUN])
    ended(nri, first)
    ended(nri, second)


def test_a_late_plugin_that_asked_for_that_fails_the_sandbox_where_the_runtime_knows_of_that(nri: Runtime) -> None:
    with plugin_of(nri, policy=FAIL) as plugin:
        plugin.replies[RUN] = lambda _: None
        if nri.options.knows_failure_policy:
            with pytest.raises(Refused):
                nri.run()
        else:
            ended(nri, nri.run())
        until(plugin.ended.is_set, "the connection is closed")


def test_a_plugin_that_refuses_the_newer_calls_gets_the_older_ones(nri: Runtime) -> None:
    with plugin_of(nri) as plugin:
        plugin.replies[RUN] = lambda _: (
            CallError(Code.UNIMPLEMENTED, "no such method") if plugin.calls[-1] == RUN else b""
        )
        sandbox = nri.run()
        ended(nri, sandbox)
    newer = [RUN] if nri.options.dedicated_calls else []
    assert plugin.calls[2:] == [*newer, "StateChange", "StateChange", "StateChange"]


def test_a_plugin_that_left_comes_back_and_is_told_everything_anew(nri: Runtime, sandbox: Sandbox) -> None:
    for _ in range(2):
        with plugin_of(nri) as plugin:
            assert [name for name, _ in plugin.told] == ["Configure", "Synchronize"]
            assert sandbox.id in {pod.id for pod in plugin.of("Synchronize")[0].pods}
        ended(nri, nri.run())


def test_two_plugins_of_one_name_are_both_told(nri: Runtime) -> None:
    with plugin_of(nri) as first, plugin_of(nri) as second:
        ended(nri, nri.run())
    assert first.happened() == second.happened()
    assert first.happened()[0] == RUN


def test_a_frame_that_is_too_long_costs_the_connection(nri: Runtime, sandbox: Sandbox) -> None:
    with plugin_of(nri) as plugin:
        plugin.in_one_frame = True
        plugin.replies[CREATE] = lambda _: adding({"LONG": "x" * 20_000})
        # By chance the runtime makes the container without the change, or not at all.
        with contextlib.suppress(Refused):
            assert "LONG" not in nri.variables(nri.create(sandbox))
        until(plugin.ended.is_set, "the connection is closed")


def test_a_runtime_that_starts_anew_drops_its_plugins_and_lists_what_runs(nri: Runtime, sandbox: Sandbox) -> None:
    with plugin_of(nri) as plugin:
        nri.restart()
        until(plugin.ended.is_set, "the connection is closed")
    with plugin_of(nri) as plugin:
        (pod,) = (pod for pod in plugin.of("Synchronize")[0].pods if pod.id == sandbox.id)
        assert nri.place(netns(pod)).exists()


def test_many_sandboxes_are_told_in_parts(many: Runtime) -> None:
    sandboxes = [many.run({"example.com/note": "x" * 300_000}) for _ in range(16)]
    with plugin_of(many) as plugin:
        told = plugin.of("Synchronize")
        assert len(told) > 1
        assert [part.more for part in told] == [True] * (len(told) - 1) + [False]
        assert {pod.id for part in told for pod in part.pods} >= {each.id for each in sandboxes}
    plugin = plugin_of(many)
    plugin.replies["Synchronize"] = lambda _: b""
    plugin.connect()
    plugin.register()
    until(plugin.ended.is_set, "a plugin that does not take parts is dropped")
    plugin.close()
    for sandbox in sandboxes:
        ended(many, sandbox)


def test_a_sandbox_that_is_refused_fails_with_the_words_of_the_plugin(nri: Runtime) -> None:
    with plugin_of(nri) as plugin:
        plugin.replies[RUN] = lambda _: CallError(Code.UNKNOWN, "no device for you")
        with pytest.raises(Refused, match=r"NRI RunPodSandbox failed: .*no device for you"):
            nri.run()
        assert plugin.happened() == [RUN, "StopPodSandbox", "RemovePodSandbox"]
        assert not plugin.ended.is_set()
        del plugin.replies[RUN]
        ended(nri, nri.run())
