from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from dragoman.kubelet._proto import dra_v1_pb2, dra_v1beta1_pb2
from dragoman.kubelet.rpc import call
from dragoman.model.claims import PrepareAnswer, PreparedDevice
from dragoman_testkit.fakes.clock import VirtualClock

VERSIONS = pytest.mark.parametrize("messages", [dra_v1_pb2, dra_v1beta1_pb2], ids=["v1", "v1beta1"])
VF = PreparedDevice(
    requests=("uplink",), pool="node-7", device="vf-3", cdi_device_ids=("nic.example.com/nic=a", "nic.example.com/g=b")
)


def claim(messages: Any, uid: str) -> Any:
    return messages.Claim(uid=uid, namespace="team", name=f"name-of-{uid}")


async def prepare(rig: Any, messages: Any, *uids: str) -> Any:
    request = messages.NodePrepareResourcesRequest(claims=[claim(messages, uid) for uid in uids])
    return (await rig.call(rig.dra, messages, "DRAPlugin.NodePrepareResources", request)).claims


async def unprepare(rig: Any, messages: Any, *uids: str) -> Any:
    request = messages.NodeUnprepareResourcesRequest(claims=[claim(messages, uid) for uid in uids])
    return (await rig.call(rig.dra, messages, "DRAPlugin.NodeUnprepareResources", request)).claims


@VERSIONS
async def test_prepare_hands_claims_on_and_devices_back(rig: Any, messages: Any) -> None:
    rig.claims.answers = {"u1": PrepareAnswer(devices=(VF,)), "u2": PrepareAnswer()}
    async with rig.serving():
        answers = await prepare(rig, messages, "u1", "u2")
    assert [(ref.uid, ref.namespace, ref.name) for ref in rig.claims.prepared[0]] == [
        ("u1", "team", "name-of-u1"),
        ("u2", "team", "name-of-u2"),
    ]
    device = answers["u1"].devices[0]
    assert (list(device.request_names), device.pool_name, device.device_name) == (["uplink"], "node-7", "vf-3")
    assert list(device.cdi_device_ids) == ["nic.example.com/nic=a", "nic.example.com/g=b"]
    assert set(answers) == {"u1", "u2"}
    assert not answers["u2"].devices
    assert not answers["u2"].error


async def test_share_ids_travel_in_v1_only_and_are_absent_without_a_share(rig: Any) -> None:
    share = PreparedDevice(requests=(), pool="node-7", device="p0", cdi_device_ids=(), share_id="s-1")
    rig.claims.answers = {"u1": PrepareAnswer(devices=(share, VF))}
    async with rig.serving():
        new = (await prepare(rig, dra_v1_pb2, "u1"))["u1"].devices
        old = (await prepare(rig, dra_v1beta1_pb2, "u1"))["u1"].devices
    assert new[0].share_id == "s-1"
    assert not new[1].HasField("share_id")
    assert dra_v1_pb2.Device.FromString(old[0].SerializeToString()).HasField("share_id") is False


@VERSIONS
async def test_every_claim_of_a_batch_has_its_own_answer(rig: Any, messages: Any) -> None:
    rig.claims.answers = {
        "good": PrepareAnswer(devices=(VF,)),
        "bad": PrepareAnswer(error="vf-4 is held by claim team/other", devices=(VF,)),
        "never asked": PrepareAnswer(),
    }
    rig.claims.errors = {"good": "", "bad": "vf-4 is busy", "never asked": ""}
    async with rig.serving():
        prepared = await prepare(rig, messages, "good", "bad", "forgotten")
        unprepared = await unprepare(rig, messages, "good", "bad", "forgotten")
    assert set(prepared) == set(unprepared) == {"good", "bad", "forgotten"}
    assert prepared["good"].devices
    assert (prepared["bad"].error, len(prepared["bad"].devices)) == ("vf-4 is held by claim team/other", 0)
    assert prepared["forgotten"].error == (
        "prepare of claim team/name-of-forgotten: the driver gave no answer for it; see the agent's log"
    )
    assert [unprepared[uid].error for uid in ("good", "bad")] == ["", "vf-4 is busy"]
    assert "name-of-forgotten" in unprepared["forgotten"].error


@VERSIONS
async def test_a_uid_that_comes_twice_is_handled_and_answered_once(rig: Any, messages: Any) -> None:
    rig.claims.answers = {"u1": PrepareAnswer(devices=(VF,))}
    rig.claims.errors = {"u1": ""}
    async with rig.serving():
        assert list(await prepare(rig, messages, "u1", "u1")) == ["u1"]
        assert list(await unprepare(rig, messages, "u1", "u1")) == ["u1"]
    assert [len(batch) for batch in (*rig.claims.prepared, *rig.claims.unprepared)] == [1, 1]


@VERSIONS
async def test_an_exception_of_the_handler_is_an_error_of_each_claim(rig: Any, messages: Any) -> None:
    rig.claims.fault = RuntimeError("ledger is closed")
    async with rig.serving():
        prepared = await prepare(rig, messages, "u1", "u2")
        unprepared = await unprepare(rig, messages, "u1", "u2")
    for answers in (prepared, unprepared):
        assert {uid: "RuntimeError: ledger is closed" in answer.error for uid, answer in answers.items()} == {
            "u1": True,
            "u2": True,
        }


@VERSIONS
async def test_an_empty_batch_succeeds_even_when_the_handler_fails(rig: Any, messages: Any) -> None:
    rig.claims.fault = RuntimeError("ledger is closed")
    async with rig.serving():
        assert not await prepare(rig, messages)
        assert not await unprepare(rig, messages)


async def test_an_error_text_with_bytes_of_a_file_name_is_sent_all_the_same(rig: Any) -> None:
    rig.claims.answers = {"u1": PrepareAnswer(error="cannot read \udcff.json")}
    rig.claims.errors = {"u1": "cannot remove \udcff.json"}
    async with rig.serving():
        assert (await prepare(rig, dra_v1_pb2, "u1"))["u1"].error == "cannot read ?.json"
        assert (await unprepare(rig, dra_v1_pb2, "u1"))["u1"].error == "cannot remove ?.json"


@VERSIONS
async def test_the_work_goes_on_when_the_kubelets_deadline_ends_the_call(rig: Any, messages: Any) -> None:
    started, go_on, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def gate() -> None:
        started.set()
        await go_on.wait()
        finished.set()

    rig.claims.gate = gate
    async with rig.serving(), rig.channel(rig.dra) as channel:
        method = call(channel, messages.DESCRIPTOR, "DRAPlugin.NodePrepareResources")
        running = method(messages.NodePrepareResourcesRequest(claims=[claim(messages, "u1")]))
        await started.wait()
        running.cancel()
        assert await running.code() is grpc.StatusCode.CANCELLED
        # A second call shows that the server has seen the cancellation.
        rig.claims.gate = None
        await method(messages.NodePrepareResourcesRequest())
        go_on.set()
        await finished.wait()


async def test_calls_run_beside_each_other(rig: Any) -> None:
    waiting, everybody = 0, asyncio.Event()

    async def gate() -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 16:
            everybody.set()
        await everybody.wait()

    rig.claims.gate = gate
    rig.claims.answers = {f"u{number}": PrepareAnswer(devices=(VF,)) for number in range(16)}
    async with rig.serving():
        results = await asyncio.gather(*(prepare(rig, dra_v1_pb2, f"u{number}") for number in range(16)))
    assert [list(answers) for answers in results] == [[f"u{number}"] for number in range(16)]


async def test_each_call_has_an_id_of_its_own_in_the_log_from_begin_to_end(rig: Any, records: list[Any]) -> None:
    async with rig.serving():
        await prepare(rig, dra_v1_pb2, "u1")
        await unprepare(rig, dra_v1beta1_pb2, "u1")
        await prepare(rig, dra_v1_pb2)
    lines = [(record["extra"].get("request"), record["message"].split(" after")[0]) for record in records]
    assert [line for line in lines if line[0]] == [
        ("prepare-1", "call prepare-1 begins: claim team/name-of-u1"),
        ("prepare-1", "call prepare-1 ends"),
        ("unprepare-2", "call unprepare-2 begins: claim team/name-of-u1"),
        ("unprepare-2", "call unprepare-2 ends"),
        ("prepare-3", "call prepare-3 begins: no claims"),
        ("prepare-3", "call prepare-3 ends"),
    ]


async def test_an_idle_connection_is_served_after_the_socket_was_made_again(rig: Any) -> None:
    clock = VirtualClock()
    edge = rig.edge(clock)
    await edge.serve()
    async with rig.channel(rig.dra) as channel:
        method = call(channel, dra_v1_pb2.DESCRIPTOR, "DRAPlugin.NodePrepareResources")
        await method(dra_v1_pb2.NodePrepareResourcesRequest())
        rig.dra.unlink()
        await clock.advance(1)
        assert rig.dra.is_socket()
        await method(dra_v1_pb2.NodePrepareResourcesRequest())
        assert channel.get_state() is grpc.ChannelConnectivity.READY
    await edge.stop()
