"""What a runtime tells a plugin of NRI about sandboxes and containers, and what it makes of the answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.ttrpc import CallError, Code
from dragoman_testkit.sandbox.runtime_adjust import adding
from tests.cluster.shared.cri import Refused
from tests.cluster.shared.plugin import Plugin, netns
from tests.cluster.shared.runtimes import NAMESPACE, Runtime, Sandbox
from tests.cluster.waiting import until

RUN, STOP, REMOVE = "RunPodSandbox", "StopPodSandbox", "RemovePodSandbox"
CREATE = "CreateContainer"


@pytest.fixture
def plugin(nri: Runtime) -> Iterator[Plugin]:
    """A plugin that was told of everything that runs."""
    with plugin_of(nri) as plugin:
        yield plugin


def plugin_of(nri: Runtime, name: str = "suite", idx: str = "10", *, events: int = 0xF) -> Plugin:
    """Give a plugin of the runtime, not connected."""
    return Plugin(nri.socket, name, idx, events=events, place=nri.place)


def test_configure_tells_runtime_and_timeouts(nri: Runtime, plugin: Plugin) -> None:
    (told,) = plugin.of("Configure")
    assert (told.registration_timeout, told.request_timeout) == (5000, 2000)
    assert (told.runtime_name, told.nri_version) == (nri.options.runtime_name, nri.options.nri_version)
    assert told.runtime_version.removeprefix("v").startswith("2.")


@pytest.mark.parametrize(("name", "idx"), [("", "10"), ("suite", "1"), ("suite", "a1")])
def test_a_plugin_with_a_wrong_name_is_refused_and_left_alone(nri: Runtime, name: str, idx: str) -> None:
    plugin = plugin_of(nri, name, idx)
    plugin.connect()
    answer = plugin.register()
    assert answer.code == Code.UNKNOWN
    assert "invalid" in answer.message
    # The next one is taken, and so the runtime is done with this one.
    with plugin_of(nri):
        assert (plugin.told, plugin.ended.is_set()) == ([], False)
    plugin.close()


def test_who_does_not_register_is_dropped(nri: Runtime) -> None:
    plugin = plugin_of(nri)
    plugin.connect()
    until(plugin.ended.is_set, "the connection is closed")
    plugin.close()


def test_who_asks_for_events_that_do_not_exist_is_dropped(nri: Runtime) -> None:
    plugin = plugin_of(nri, events=1 << 20)
    plugin.connect()
    plugin.register()
    until(plugin.ended.is_set, "the connection is closed")
    assert [name for name, _ in plugin.told] == ["Configure"]
    plugin.close()


def test_an_answer_to_configure_that_is_an_error_costs_the_connection(nri: Runtime) -> None:
    plugin = plugin_of(nri)
    plugin.replies["Configure"] = lambda _: CallError(Code.UNKNOWN, "not now")
    plugin.connect()
    plugin.register()
    until(plugin.ended.is_set, "the connection is closed")
    plugin.close()


def test_synchronize_lists_sandboxes_and_containers_that_run(nri: Runtime, sandbox: Sandbox) -> None:
    container = nri.create(sandbox)
    nri.start(container)
    with plugin_of(nri) as plugin:
        (told,) = plugin.of("Synchronize")
    (pod,) = (pod for pod in told.pods if pod.id == sandbox.id)
    assert (pod.name, pod.uid, pod.namespace) == (sandbox.name, sandbox.uid, NAMESPACE)
    assert nri.place(netns(pod)).exists()
    assert pod.pid
    assert pod.ips
    (running,) = (each for each in told.containers if each.id == container)
    assert (running.name, running.pod_sandbox_id) == ("app", sandbox.id)
    assert running.pid
    assert not told.more


def test_synchronize_lists_a_sandbox_that_was_stopped_until_it_is_removed(nri: Runtime) -> None:
    sandbox = nri.run()
    nri.stop(sandbox)
    with plugin_of(nri) as plugin:
        (told,) = plugin.of("Synchronize")
        (pod,) = (pod for pod in told.pods if pod.id == sandbox.id)
        assert (pod.pid, not netns(pod) or not nri.place(netns(pod)).exists()) == (0, True)
        nri.remove(sandbox)
    with plugin_of(nri) as plugin:
        (told,) = plugin.of("Synchronize")
        assert sandbox.id not in {pod.id for pod in told.pods}


def test_a_sandbox_is_told_with_its_network_before_it_is_ready(nri: Runtime, plugin: Plugin) -> None:
    sandbox = nri.run({"example.com/note": "yes"})
    assert plugin.happened() == [RUN]
    assert plugin.calls[-1] == (RUN if nri.options.dedicated_calls else "StateChange")
    (told,) = plugin.of(RUN)
    assert (told.pod.id, told.pod.name, told.pod.uid) == (sandbox.id, sandbox.name, sandbox.uid)
    assert told.pod.namespace == NAMESPACE
    assert told.pod.annotations["example.com/note"] == "yes"
    assert len(told.pod.ips) >= 1
    assert plugin.seen == [(RUN, netns(told.pod), True)]
    nri.stop(sandbox)
    nri.remove(sandbox)


def test_a_sandbox_in_the_network_of_the_host_has_none_of_its_own(nri: Runtime, plugin: Plugin) -> None:
    sandbox = nri.run(host_network=True)
    assert plugin.seen == [(RUN, "", False)]
    nri.stop(sandbox)
    nri.remove(sandbox)
    assert {path for _, path, _ in plugin.seen} == {""}


def test_the_network_is_there_when_a_stop_is_told_and_gone_when_a_removal_is(nri: Runtime, plugin: Plugin) -> None:
    sandbox = nri.run()
    (_, path, _) = plugin.seen[0]
    nri.stop(sandbox)
    assert plugin.seen[1:] == [(STOP, path, True)]
    nri.remove(sandbox)
    assert plugin.seen[-1] == (REMOVE, "", False)


def test_a_second_stop_is_not_told(nri: Runtime, plugin: Plugin) -> None:
    sandbox = nri.run()
    nri.stop(sandbox)
    nri.stop(sandbox)
    assert plugin.happened() == [RUN, STOP]
    nri.remove(sandbox)


def test_a_removal_stops_what_was_not_stopped(nri: Runtime, plugin: Plugin) -> None:
    sandbox = nri.run()
    nri.remove(sandbox)
    assert plugin.happened() == [RUN, STOP, REMOVE]
    assert plugin.seen[1][2]


def test_a_plugin_is_told_the_events_that_it_asked_for(nri: Runtime) -> None:
    with plugin_of(nri, events=1 << (pb.STOP_POD_SANDBOX - 1)) as plugin:
        sandbox = nri.run()
        nri.create(sandbox)
        nri.stop(sandbox)
        nri.remove(sandbox)
    assert plugin.happened() == [STOP]


def test_a_container_is_asked_for_with_its_pod_before_it_is_there(
    nri: Runtime, sandbox: Sandbox, plugin: Plugin
) -> None:
    container = nri.create(sandbox, "web")
    (told,) = plugin.of(CREATE)
    assert (told.container.id, told.container.name, told.container.pod_sandbox_id) == (container, "web", sandbox.id)
    assert told.pod.id == sandbox.id
    assert plugin.seen[-1][2]


def test_a_container_has_what_the_plugin_adds(nri: Runtime, sandbox: Sandbox, plugin: Plugin) -> None:
    long = "x" * 20_000  # more than a frame may carry
    plugin.replies[CREATE] = lambda _: adding({"NIC": "net1", "LONG": long})
    variables = nri.variables(nri.create(sandbox))
    assert (variables["NIC"], variables["LONG"]) == ("net1", long)


def test_a_container_that_is_refused_is_not_there_and_the_plugin_stays(
    nri: Runtime, sandbox: Sandbox, plugin: Plugin
) -> None:
    plugin.replies[CREATE] = lambda _: CallError(Code.UNKNOWN, "its device is not attached")
    for _ in range(3):
        with pytest.raises(Refused, match=r"failed to get NRI adjustment.*its device is not attached"):
            nri.create(sandbox)
    del plugin.replies[CREATE]
    container = nri.create(sandbox)
    assert len(plugin.of(CREATE)) == 4
    with plugin_of(nri, "second") as second:
        (told,) = second.of("Synchronize")
    assert [each.id for each in told.containers if each.pod_sandbox_id == sandbox.id] == [container]


def test_an_error_to_a_stop_changes_nothing(nri: Runtime, plugin: Plugin) -> None:
    plugin.replies |= dict.fromkeys((STOP, REMOVE), lambda _: CallError(Code.UNKNOWN, "not mine"))
    sandbox = nri.run()
    nri.stop(sandbox)
    nri.remove(sandbox)
    assert plugin.happened() == [RUN, STOP, REMOVE]
    assert not plugin.ended.is_set()


def test_plugins_are_told_in_the_order_of_their_numbers(nri: Runtime) -> None:
    order: list[str] = []
    late, early = plugin_of(nri, "late", "90"), plugin_of(nri, "early", "10")
    late.replies[RUN] = lambda _: order.append("late") or b""  # type: ignore[func-returns-value]  # None is false
    early.replies[RUN] = lambda _: order.append("early") or b""  # type: ignore[func-returns-value]  # as above
    with late, early:
        sandbox = nri.run()
    assert order == ["early", "late"]
    nri.stop(sandbox)
    nri.remove(sandbox)


def test_a_plugin_may_ask_for_a_change_of_nothing_at_any_time(plugin: Plugin) -> None:
    assert plugin.ask("UpdateContainers").code == Code.OK


def test_a_method_that_a_runtime_does_not_have_is_unimplemented(plugin: Plugin) -> None:
    assert plugin.ask("MakeCoffee").code == Code.UNIMPLEMENTED
