from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from dragoman.kubelet._proto import dra_v1_pb2, health_v1_pb2, registration_pb2
from dragoman.kubelet.environment import GRPC_ENVIRONMENT, prepare_environment
from dragoman.kubelet.rpc import call
from dragoman.model.claims import PrepareAnswer

REQUEST = dra_v1_pb2.NodePrepareResourcesRequest(claims=[dra_v1_pb2.Claim(uid="u1", namespace="team", name="one")])


async def test_registration_goes_first_then_running_calls_end_then_the_dra_socket_goes(rig: Any) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def gate() -> None:
        started.set()
        await go_on.wait()

    rig.claims.gate = gate
    rig.claims.answers = {"u1": PrepareAnswer()}
    edge = rig.edge()
    await edge.serve()
    edge.register()
    await edge.registration.wait(lambda state: state.attempts == 1)
    async with rig.channel(rig.dra) as channel:
        running = call(channel, dra_v1_pb2.DESCRIPTOR, "DRAPlugin.NodePrepareResources")(REQUEST)
        await started.wait()
        stopping = asyncio.create_task(edge.stop())
        await edge.registration.wait(lambda state: state.reason == "the agent is stopping")
        assert not rig.registration.exists()
        assert rig.dra.is_socket()
        go_on.set()
        assert list((await running).claims) == ["u1"]
        await stopping
    assert not rig.dra.exists()


async def test_a_call_that_does_not_end_cannot_hold_up_the_stop(rig: Any, records: list[Any]) -> None:
    started, forever = asyncio.Event(), asyncio.Event()

    async def gate() -> None:
        started.set()
        await forever.wait()

    rig.claims.gate = gate
    edge = rig.edge()
    await edge.serve()
    async with rig.channel(rig.dra) as channel:
        running = call(channel, dra_v1_pb2.DESCRIPTOR, "DRAPlugin.NodePrepareResources")(REQUEST)
        await started.wait()
        await edge.stop(drain=0.01)
        running.cancel()
    assert not rig.dra.exists()
    assert any("1 calls of the kubelet still run" in record["message"] for record in records)
    forever.set()


async def test_an_open_health_stream_ends_in_order_and_does_not_hold_up_the_stop(rig: Any) -> None:
    edge = rig.edge()
    await edge.serve()
    async with rig.channel(rig.dra) as channel:
        stream = call(channel, health_v1_pb2.DESCRIPTOR, "DRAResourceHealth.NodeWatchResources")(
            health_v1_pb2.NodeWatchResourcesRequest()
        )
        await stream.read()
        await edge.stop()
        await rig.healths.closed.get()
        assert await stream.code() is grpc.StatusCode.OK


async def test_sockets_that_another_agent_has_put_there_stay(rig: Any) -> None:
    old, new = rig.edge(), rig.edge()
    for edge in (old, new):
        await edge.serve()
    old.register()
    await old.registration.wait(lambda state: state.attempts == 1)
    new.register()
    await new.registration.wait(lambda state: state.attempts == 1)
    await old.stop()
    assert rig.dra.is_socket()
    info = await rig.call(rig.registration, registration_pb2, "Registration.GetInfo", registration_pb2.InfoRequest())
    assert info.name == "nic.example.com"
    await new.stop()
    assert not rig.dra.exists()
    assert not rig.registration.exists()


async def test_stopping_before_anything_was_started_is_fine(rig: Any) -> None:
    await rig.edge().stop()


def test_the_environment_of_grpc_is_set_unless_the_operator_has_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRPC_ENABLE_FORK_SUPPORT", raising=False)
    monkeypatch.setenv("GRPC_VERBOSITY", "DEBUG")
    prepare_environment()
    import os  # noqa: PLC0415 - read after the change

    assert os.environ["GRPC_ENABLE_FORK_SUPPORT"] == GRPC_ENVIRONMENT["GRPC_ENABLE_FORK_SUPPORT"] == "false"
    assert os.environ["GRPC_VERBOSITY"] == "DEBUG"
