from __future__ import annotations

import math
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kubelet._proto import health_v1_pb2, health_v1alpha1_pb2
from dragoman.kubelet.health import short_message, timeout_seconds
from dragoman.kubelet.rpc import call
from dragoman_hookspecs import Health, HealthReport
from dragoman_testkit.fakes.clock import VirtualClock

VERSIONS = pytest.mark.parametrize("messages", [health_v1_pb2, health_v1alpha1_pb2], ids=["v1", "v1alpha1"])
UP = HealthReport(device="dummy0", health=Health.HEALTHY)
DOWN = HealthReport(device="dummy0", health=Health.UNHEALTHY, message="link down", timeout=45.9)
LOST = HealthReport(device="dummy1", health=Health.UNKNOWN, timeout=0.2)


def watch(channel: grpc.aio.Channel, messages: Any) -> Any:
    return call(channel, messages.DESCRIPTOR, "DRAResourceHealth.NodeWatchResources")(
        messages.NodeWatchResourcesRequest()
    )


def flat(response: Any) -> list[tuple[str, str, int, int, str]]:
    return [
        (item.device.pool_name, item.device.device_name, item.health, item.health_check_timeout_seconds, item.message)
        for item in response.devices
    ]


@VERSIONS
async def test_a_stream_begins_with_all_devices_and_follows_each_change(rig: Any, messages: Any) -> None:
    rig.healths.latest = [UP, LOST]
    async with rig.serving(), rig.channel(rig.dra) as channel:
        stream = watch(channel, messages)
        first = flat(await stream.read())
        rig.healths.streams[0].put_nowait([DOWN])
        second = flat(await stream.read())
        stream.cancel()
    assert first == [("node-7", "dummy0", messages.HEALTHY, 30, ""), ("node-7", "dummy1", messages.UNKNOWN, 1, "")]
    assert second == [("node-7", "dummy0", messages.UNHEALTHY, 45, "link down")]


async def test_one_healthy_device_has_the_smallest_useful_bytes_of_the_protocol(rig: Any) -> None:
    rig.healths.latest = [UP]
    async with rig.serving(), rig.channel(rig.dra) as channel:
        stream = watch(channel, health_v1_pb2)
        response = await stream.read()
        stream.cancel()
    assert response.devices[0].last_updated_time > 1_700_000_000
    response.devices[0].last_updated_time = 0
    response.devices[0].device.pool_name = "node-a"
    assert response.SerializeToString().hex() == "0a160a100a066e6f64652d61120664756d6d79301001201e"


async def test_streams_of_both_versions_each_get_everything(rig: Any) -> None:
    rig.healths.latest = [UP]
    async with rig.serving(), rig.channel(rig.dra) as channel:
        streams = [watch(channel, messages) for messages in (health_v1_pb2, health_v1alpha1_pb2, health_v1_pb2)]
        assert {len((await stream.read()).devices) for stream in streams} == {1}
        for queue in rig.healths.streams:
            queue.put_nowait([DOWN, LOST])
        assert {len((await stream.read()).devices) for stream in streams} == {2}
        for stream in streams:
            stream.cancel()


@VERSIONS
async def test_a_node_without_devices_keeps_the_stream_open(rig: Any, messages: Any) -> None:
    async with rig.serving(), rig.channel(rig.dra) as channel:
        stream = watch(channel, messages)
        assert flat(await stream.read()) == []
        rig.healths.streams[0].put_nowait([UP])
        assert len(flat(await stream.read())) == 1
        stream.cancel()


async def test_a_cancelled_stream_lets_its_source_go_at_once(rig: Any) -> None:
    async with rig.serving(), rig.channel(rig.dra) as channel:
        stream = watch(channel, health_v1_pb2)
        await stream.read()
        stream.cancel()
        await rig.healths.closed.get()


async def test_a_source_that_fails_does_not_end_the_stream_and_is_asked_again(rig: Any) -> None:
    clock = VirtualClock()
    edge = rig.edge(clock)
    await edge.serve()
    async with rig.channel(rig.dra) as channel:
        stream = watch(channel, health_v1_pb2)
        await stream.read()
        rig.healths.streams[0].put_nowait(RuntimeError("monitor died"))
        await rig.healths.closed.get()
        rig.healths.latest = [UP]
        await clock.advance(5)
        assert len(flat(await stream.read())) == 1
        stream.cancel()
    await edge.stop()


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(30.0, 30), (0.0, 1), (-5.0, 1), (0.99, 1), (1.99, 1), (math.inf, 2**31 - 1), (math.nan, 1)],
)
def test_time_outs_are_whole_seconds_of_at_least_one(timeout: float, seconds: int) -> None:
    assert timeout_seconds(timeout) == seconds


@given(st.text(st.characters(codec="utf-8"), max_size=1500))
@settings(derandomize=True, max_examples=80, deadline=None)
def test_a_message_is_cut_at_a_character_and_only_if_it_must_be(message: str) -> None:
    cut = short_message(message)
    assert len(cut.encode()) <= 1024
    if len(message.encode()) <= 1024:
        assert cut == message
    else:
        assert cut.endswith("...")
        assert message.startswith(cut[:-3])
        assert len(cut.encode()) > 1024 - 4


@pytest.mark.parametrize("letter", ["x", "é", "漢", "🛜"])
def test_a_long_message_of_wide_characters_stays_readable(letter: str) -> None:
    size = len(letter.encode())
    assert short_message(letter * 1025) == letter * (1021 // size) + "..."


def test_a_message_with_bytes_of_a_file_name_is_readable() -> None:
    assert short_message("bad \udcff name") == "bad ? name"
