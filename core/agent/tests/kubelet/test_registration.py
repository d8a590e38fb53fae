from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from dragoman.kubelet._proto import registration_pb2 as messages
from dragoman.kubelet.registration import RegistrationState, Retry
from dragoman_testkit.fakes.clock import VirtualClock

QUICK = Retry(interval=0.001, timeout=0.05, attempts=3)


async def get_info(rig: Any, authority: str = "localhost") -> Any:
    return await rig.call(rig.registration, messages, "Registration.GetInfo", messages.InfoRequest(), authority)


async def notify(rig: Any, registered: bool, error: str = "") -> None:
    status = messages.RegistrationStatus(plugin_registered=registered, error=error)
    await rig.call(rig.registration, messages, "Registration.NotifyRegistrationStatus", status)


def sockets_below(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*.sock"))


def inode(path: Path) -> int:
    """Tell a file from others at its place: a link keeps its number, which would else be given to the next one."""
    number = path.stat().st_ino
    kept = path.parents[1] / f"inode-{number}"
    if not kept.exists():
        kept.hardlink_to(path)
    return number


async def announced(edge: Any, attempt: int = 1) -> RegistrationState:
    state: RegistrationState = await edge.registration.wait(lambda state: state.attempts == attempt)
    return state


async def registered(edge: Any) -> RegistrationState:
    state: RegistrationState = await edge.registration.wait(lambda state: state.registered)
    return state


async def refused_away(edge: Any) -> RegistrationState:
    state: RegistrationState = await edge.registration.wait(lambda state: not state.registered)
    return state


async def used_up(edge: Any) -> RegistrationState:
    state: RegistrationState = await edge.registration.wait(lambda state: "used up" in state.reason)
    return state


@pytest.mark.parametrize("form", ["localhost", "percent-encoded path"])
async def test_the_kubelet_learns_name_socket_and_services_under_either_authority(rig: Any, form: str) -> None:
    async with rig.serving() as edge:
        edge.register()
        await announced(edge)
        authority = form if form == "localhost" else str(rig.registration).replace("/", "%2F")
        info = await get_info(rig, authority)
    assert (info.type, info.name, info.endpoint) == ("DRAPlugin", "nic.example.com", str(rig.dra))
    assert list(info.supported_versions) == [
        "v1.DRAPlugin",
        "v1beta1.DRAPlugin",
        "v1.DRAResourceHealth",
        "v1alpha1.DRAResourceHealth",
    ]


async def test_dra_socket_listens_before_the_registration_socket_appears(rig: Any) -> None:
    async with rig.serving() as edge:
        assert rig.dra.is_socket()
        assert not rig.registration.exists()
        edge.register()
        await announced(edge)
        assert rig.registration.is_socket()


async def test_it_is_ready_only_once_the_kubelet_said_yes(rig: Any) -> None:
    async with rig.serving() as edge:
        assert edge.registration.value.reason == "not announced to the kubelet yet"
        edge.register()
        waiting = await announced(edge)
        assert not waiting.registered
        assert waiting.reason == "attempt 1 of 10: no answer of the kubelet yet"
        await get_info(rig)
        await notify(rig, registered=True)
        assert edge.registration.value == RegistrationState(registered=True, attempts=1, asked=1, reason="")


async def test_a_kubelet_that_restarts_registers_the_same_socket_again(rig: Any) -> None:
    async with rig.serving() as edge:
        edge.register()
        await announced(edge)
        before = inode(rig.registration)
        for _ in range(3):
            await get_info(rig)
            await notify(rig, registered=True)
        assert edge.registration.value.registered
        assert inode(rig.registration) == before


async def test_an_attempt_without_answer_ends_at_its_time_out_and_the_socket_returns_after_the_interval(
    rig: Any,
) -> None:
    clock = VirtualClock()
    edge = rig.edge(clock, Retry(interval=1, timeout=5, attempts=10))
    await edge.serve()
    edge.register()
    await clock.advance(4.9)
    first = inode(rig.registration)
    assert edge.registration.value.attempts == 1
    await clock.advance(0.1)
    while rig.registration.exists():
        await clock.settle()
    await clock.advance(0.9)
    assert not rig.registration.exists()
    while edge.registration.value.attempts == 1:
        await clock.advance(0.1)
    await clock.settle()
    assert inode(rig.registration) != first
    await edge.stop()


async def test_a_kubelet_that_has_asked_gets_the_full_time_to_decide(rig: Any) -> None:
    clock = VirtualClock()
    edge = rig.edge(clock, Retry(interval=1, timeout=5, attempts=2))
    await edge.serve()
    edge.register()
    await clock.advance(4)
    await get_info(rig)
    await clock.advance(4)
    assert edge.registration.value.attempts == 1
    await notify(rig, registered=True)
    assert edge.registration.value.registered
    await edge.stop()


async def test_a_no_makes_the_socket_anew_and_its_reason_is_kept_until_the_yes(rig: Any, real_clock: Any) -> None:
    edge = rig.edge(real_clock, Retry(interval=0, timeout=60, attempts=10))
    await edge.serve()
    edge.register()
    await announced(edge)
    first = inode(rig.registration)
    await notify(rig, registered=False, error="no such type")
    await announced(edge, 2)
    await edge.registration.wait(lambda _state: rig.registration.exists())
    assert inode(rig.registration) != first
    await notify(rig, registered=True)
    assert (await registered(edge)).attempts == 2
    await edge.stop()


async def test_a_no_after_a_yes_starts_a_new_round(rig: Any, real_clock: Any) -> None:
    edge = rig.edge(real_clock, Retry(interval=0, timeout=60, attempts=10))
    await edge.serve()
    edge.register()
    await announced(edge)
    await notify(rig, registered=True)
    first = inode(rig.registration)
    seen = asyncio.create_task(refused_away(edge))
    await notify(rig, registered=False, error="already registered")
    assert (await seen).reason == "the kubelet refused: already registered"
    await edge.registration.wait(lambda state: state.reason.startswith("attempt 1 of 10"))
    await get_info(rig)
    assert inode(rig.registration) != first
    await edge.stop()


async def test_used_up_attempts_leave_it_up_with_a_reason_and_the_kubelet_can_still_come(
    rig: Any, real_clock: Any
) -> None:
    edge = rig.edge(real_clock, QUICK)
    await edge.serve()
    edge.register()
    state = await used_up(edge)
    assert (state.registered, state.attempts) == (False, 3)
    assert state.reason == "3 attempts used up; attempt 3 of 3: no answer of the kubelet yet; waiting for the kubelet"
    await notify(rig, registered=True)
    assert (await registered(edge)).reason == ""
    await edge.stop()


async def test_after_used_up_attempts_a_call_of_the_kubelet_starts_a_new_round(rig: Any, real_clock: Any) -> None:
    edge = rig.edge(real_clock, QUICK)
    await edge.serve()
    edge.register()
    await used_up(edge)
    begun = asyncio.create_task(announced(edge, 1))  # the attempt may be over before the answer is here
    await get_info(rig)
    await begun
    await edge.stop()


async def test_after_used_up_attempts_a_change_in_the_folder_starts_a_new_round(rig: Any, real_clock: Any) -> None:
    edge = rig.edge(real_clock, QUICK)
    await edge.serve()
    edge.register()
    await used_up(edge)
    (rig.registration.parent / "another-driver").write_text("")
    await announced(edge, 1)
    await edge.stop()


@pytest.mark.parametrize("loss", ["socket", "folder"])
async def test_a_wiped_registry_brings_the_socket_back_and_registers_again(rig: Any, loss: str) -> None:
    clock = VirtualClock()
    edge = rig.edge(clock)
    await edge.serve()
    edge.register()
    await clock.settle()
    await notify(rig, registered=True)
    rig.registration.unlink()
    if loss == "folder":
        rig.registration.parent.rmdir()
    await clock.advance(1)
    assert edge.registration.value.attempts == 1
    assert not edge.registration.value.registered
    await notify(rig, registered=True)
    assert edge.registration.value.registered
    await edge.stop()


async def test_the_socket_of_a_dead_agent_is_replaced(rig: Any) -> None:
    rig.registration.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(rig.registration))
    async with rig.serving() as edge:
        edge.register()
        await announced(edge)
        assert (await get_info(rig)).name == "nic.example.com"


async def test_a_registry_that_cannot_be_written_is_told_as_the_reason_and_tried_again(
    rig: Any, root: Path, real_clock: Any
) -> None:
    blocked = root / "plugins_registry"
    blocked.write_text("not a folder")
    edge = rig.edge(real_clock, Retry(interval=0.001, timeout=60, attempts=3))
    await edge.serve()
    edge.register()
    assert str(blocked) in (await used_up(edge)).reason
    blocked.unlink()
    await edge.registration.wait(lambda state: state.reason == "attempt 1 of 3: no answer of the kubelet yet")
    await get_info(rig)
    await edge.stop()


async def test_two_agents_of_a_rolling_update_have_their_own_sockets(rig: Any, root: Path, real_clock: Any) -> None:
    edges = [rig.edge(real_clock, pod_uid=uid) for uid in ("uid-a", "uid-b")]
    for edge in edges:
        await edge.serve()
        edge.register()
        await announced(edge)
    sockets = sockets_below(root)
    assert sockets == [
        "dra-uid-a.sock",
        "dra-uid-b.sock",
        "nic.example.com-uid-a-reg.sock",
        "nic.example.com-uid-b-reg.sock",
    ]
    await edges[0].stop()
    assert sockets_below(root) == sockets[1::2]
    await edges[1].stop()
