"""The kubelet stand-in's registration, against the real edge and against plugins that misbehave."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from dragoman.kubelet._proto import registration_pb2 as messages
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.rpc import service
from dragoman.model.claims import ClaimRef, PrepareAnswer
from dragoman_testkit.sandbox.kubelet import FakeKubelet, PodSpec, Timings
from dragoman_testkit.sandbox.kubelet.plugins import Backoff


def pod(ref: ClaimRef) -> PodSpec:
    return PodSpec(uid="uid-web", namespace="team", name="web", claims=(("nic0", ref),))


class Plugin:
    """A registration socket that answers as the test says, and notes what the kubelet decided."""

    def __init__(self, root: Path, name: str = "odd", **info: Any) -> None:
        self.root = root
        self.info = {"type": "DRAPlugin", "name": name, "endpoint": str(root / "odd.sock"), **info}
        self.info.setdefault("supported_versions", ["v1.DRAPlugin"])
        self.notified = asyncio.Queue[tuple[bool, str]]()
        self.asked = asyncio.Queue[str]()
        self.faults = 0
        self.hang: asyncio.Event | None = None
        methods = {"GetInfo": self.get_info, "NotifyRegistrationStatus": self.notify}
        handlers = [service(messages.DESCRIPTOR, "Registration", methods)]
        self.listener = Listener(root / "plugins_registry" / f"{name}-reg.sock", handlers, own_folder=False)

    async def get_info(self, _request: Any, context: Any) -> Any:
        self.asked.put_nowait(context.peer())
        if self.hang:
            await self.hang.wait()
        return messages.PluginInfo(**self.info)

    async def notify(self, request: Any, context: Any) -> Any:
        self.notified.put_nowait((request.plugin_registered, request.error))
        if self.faults:
            self.faults -= 1
            await context.abort(grpc.StatusCode.INTERNAL, "cannot now")
        return messages.RegistrationStatusResponse()

    @asynccontextmanager
    async def there(self) -> AsyncIterator[Plugin]:
        await self.listener.open()
        try:
            yield self
        finally:
            await self.listener.close(0)


async def test_the_agent_is_registered_and_forgotten_when_it_stops(rig: Any, kubelet: Any, cluster: Any) -> None:
    assert await cluster.wipes.get() is None
    async with rig.registered(kubelet) as edge:
        assert edge.registration.value.asked == 1
        cluster.forget_wipes()
    await kubelet.deregistered("nic.example.com")
    assert await cluster.wipes.get() == "nic.example.com"


async def test_a_new_life_of_the_kubelet_registers_the_running_agent_again(
    rig: Any, kubelet: Any, cluster: Any
) -> None:
    assert await cluster.wipes.get() is None
    async with rig.registered(kubelet) as edge:
        cluster.forget_wipes()
        await kubelet.restart()
        await edge.registration.wait(lambda state: state.asked == 2)
        await kubelet.registered("nic.example.com")
        assert await cluster.wipes.get() is None
        assert edge.registration.value.registered


async def test_a_connection_that_is_lost_for_too_long_wipes_the_slices_without_deregistering(
    root: Path, rig: Any, kubelet: Any, cluster: Any
) -> None:
    edge = rig.edge()
    await edge.serve()
    async with Plugin(root, "nic.example.com", endpoint=str(rig.dra)).there() as plugin:
        await kubelet.registered("nic.example.com")
        cluster.forget_wipes()
        await edge.stop()
        assert await cluster.wipes.get() == "nic.example.com"
        edge = rig.edge()
        await edge.serve()
        await kubelet.registered("nic.example.com")
        assert plugin.asked.qsize() == 1
        await edge.stop()


async def test_of_two_instances_the_latest_is_called_until_it_leaves(
    root: Path, rig: Any, kubelet: Any, cluster: Any
) -> None:
    refs = [cluster.add(name, "web") for name in ("one", "two", "three")]
    newer = type(rig)(root)
    for claims in (rig.claims, newer.claims):
        claims.answers = {ref.uid: PrepareAnswer() for ref in refs}
    async with rig.registered(kubelet, pod_uid="a"):
        await kubelet.prepare_pod(pod(refs[0]))
        async with newer.registered(kubelet, pod_uid="b"):
            await kubelet.connected(root / "plugins" / "nic.example.com" / "dra-b.sock")
            await kubelet.prepare_pod(pod(refs[1]))
        await kubelet.disconnected(root / "plugins" / "nic.example.com" / "dra-b.sock")
        await kubelet.prepare_pod(pod(refs[2]))
    assert [[ref.name for ref in batch] for batch in rig.claims.prepared] == [["one"], ["three"]]
    assert [[ref.name for ref in batch] for batch in newer.claims.prepared] == [["two"]]


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"type": "CSIPlugin"}, "no handler for plugin type 'CSIPlugin'"),
        ({"supported_versions": []}, "offers none of"),
        ({"supported_versions": ["v1.DRAResourceHealth"]}, "offers none of"),
        ({"supported_versions": ["k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"]}, "offers none of"),
    ],
    ids=["type", "no version", "health only", "full service name"],
)
async def test_a_plugin_that_does_not_fit_is_told_so_and_tried_again(
    root: Path, kubelet: Any, info: dict[str, Any], told: str
) -> None:
    async with Plugin(root, **info).there() as plugin:
        for _ in range(2):
            registered, error = await plugin.notified.get()
            assert not registered
            assert told in error
        assert told in kubelet.registration_errors[plugin.listener.path]


async def test_the_same_endpoint_is_not_registered_twice(root: Path, rig: Any, kubelet: Any) -> None:
    async with rig.registered(kubelet):
        plugin = Plugin(root, "second")
        plugin.info |= {"name": "nic.example.com", "endpoint": str(rig.dra)}
        async with plugin.there():
            registered, error = await plugin.notified.get()
    assert not registered
    assert "already registered" in error


async def test_a_yes_that_the_plugin_does_not_take_undoes_the_registration(root: Path, rig: Any, kubelet: Any) -> None:
    plugin = Plugin(root, "nic.example.com", endpoint=str(rig.dra))
    plugin.faults = 2
    async with rig.serving(), plugin.there():
        for _ in range(3):
            assert await plugin.notified.get() == (True, "")
        await kubelet.registered("nic.example.com")


async def test_only_visible_sockets_are_plugins_and_a_dead_one_does_not_hold_up_the_others(
    root: Path, rig: Any, kubelet: Any
) -> None:
    registry = root / "plugins_registry"
    (registry / "a-file").write_text("")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(registry / "dead.sock"))
    async with Plugin(root, ".hidden").there() as hidden, rig.registered(kubelet):
        assert hidden.asked.empty()


async def test_the_kubelet_dials_with_the_escaped_path_as_authority_and_accepts_folders(
    root: Path, kubelet: Any
) -> None:
    plugin = Plugin(root / "plugins_registry", "inside")
    async with plugin.there():
        await plugin.asked.get()
        assert await plugin.notified.get() == (True, "")
    assert kubelet.registration_errors == {}


async def test_a_plugin_that_does_not_answer_get_info_in_time_is_given_up_and_tried_again(
    root: Path, cluster: Any, real_clock: Any
) -> None:
    hasty = FakeKubelet(
        root, "node-7", real_clock, cluster.read, timings=Timings(reconcile=0.005, first_backoff=0.005, get_info=0.5)
    )
    plugin = Plugin(root)
    plugin.hang = asyncio.Event()
    await hasty.start()
    async with plugin.there():
        for _ in range(2):
            await plugin.asked.get()
        assert "DEADLINE_EXCEEDED" in hasty.registration_errors[plugin.listener.path]
        plugin.hang.set()
        assert await plugin.notified.get() == (True, "")
    await hasty.stop()


def test_the_back_off_doubles_up_to_its_limit() -> None:
    backoff = Backoff(first=0.5, longest=122)
    waits = []
    for _ in range(10):
        backoff.failed(now=1000)
        waits.append(backoff.due - 1000)
    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]
