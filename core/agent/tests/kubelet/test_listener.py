from __future__ import annotations

import asyncio
import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from dragoman.kubelet._proto import registration_pb2 as messages
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.rpc import call, service
from dragoman.kubelet.sockets import SocketFailed, temporary_socket
from dragoman_testkit.fakes.clock import VirtualClock


def listener_at(path: Path) -> Listener:
    async def get_info(_request: Any, _context: Any) -> Any:
        return messages.PluginInfo(name="it")

    async def notify(_request: Any, _context: Any) -> Any:
        return messages.RegistrationStatusResponse()

    methods = {"GetInfo": get_info, "NotifyRegistrationStatus": notify}
    return Listener(path, [service(messages.DESCRIPTOR, "Registration", methods)], own_folder=True)


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def bound_in(folder: Path) -> list[str]:
    """Name the sockets that are bound in a folder, also those whose file is gone."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return [line.split()[-1] for line in lines if f" {folder}/" in line]


async def answers(rig: Any, path: Path) -> bool:
    info = await rig.call(path, messages, "Registration.GetInfo", messages.InfoRequest())
    return bool(info.name == "it")


async def test_socket_and_folder_are_closed_to_others_and_nothing_else_is_left_beside(rig: Any, root: Path) -> None:
    path = root / "sub" / "x.sock"
    listener = listener_at(path)
    await listener.open()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750
    assert names_in(path.parent) == ["x.sock"]
    assert await answers(rig, path)
    await listener.close(0)
    assert names_in(path.parent) == []


async def test_what_a_dead_process_left_is_replaced(rig: Any, root: Path) -> None:
    path = root / "x.sock"
    for stale in (path, temporary_socket(path, 1), temporary_socket(path, 8)):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(stale))
    listener = listener_at(path)
    await listener.open()
    assert names_in(root) == ["x.sock"]
    assert await answers(rig, path)
    await listener.close(0)


@pytest.mark.parametrize("loss", ["removed", "folder removed", "replaced"])
async def test_a_lost_socket_is_made_again_within_a_second_and_old_connections_go_on(
    rig: Any, root: Path, loss: str
) -> None:
    path = root / "sub" / "x.sock"
    listener = listener_at(path)
    clock = VirtualClock()
    await listener.open()
    keeper = asyncio.create_task(listener.keep(clock))
    async with rig.channel(path) as channel:
        get_info = call(channel, messages.DESCRIPTOR, "Registration.GetInfo")
        await get_info(messages.InfoRequest())
        path.unlink()
        if loss == "folder removed":
            path.parent.rmdir()
        if loss == "replaced":
            path.write_text("somebody else's")
        assert listener.lost()
        await clock.advance(1)
        assert not listener.lost()
        assert (await get_info(messages.InfoRequest())).name == "it"
    assert await answers(rig, path)
    keeper.cancel()
    await listener.close(0)


async def test_a_socket_that_cannot_be_made_now_is_made_once_it_can(rig: Any, root: Path) -> None:
    path = root / "sub" / "x.sock"
    listener = listener_at(path)
    clock = VirtualClock()
    await listener.open()
    keeper = asyncio.create_task(listener.keep(clock))
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("in the way")
    await clock.advance(3)
    assert listener.lost()
    path.parent.unlink()
    await clock.advance(1)
    assert await answers(rig, path)
    keeper.cancel()
    await listener.close(0)


async def test_servers_of_lost_sockets_do_not_pile_up(rig: Any, root: Path) -> None:
    path = root / "x.sock"
    listener = listener_at(path)
    async with rig.channel(path) as first:
        for _ in range(8):
            path.unlink(missing_ok=True)
            await listener.open()
            await call(first, messages.DESCRIPTOR, "Registration.GetInfo")(messages.InfoRequest(), wait_for_ready=True)
    assert await answers(rig, path)
    await listener.close(0)
    assert names_in(root) == []


async def test_a_file_that_others_put_in_place_is_not_removed_at_the_end(root: Path) -> None:
    path = root / "x.sock"
    listener = listener_at(path)
    await listener.open()
    path.unlink()
    path.write_text("somebody else's")
    await listener.close(0)
    assert path.read_text() == "somebody else's"


async def test_a_folder_in_the_way_of_the_socket_is_named_and_trying_again_and_again_leaves_nothing_behind(
    rig: Any, root: Path
) -> None:
    path = root / "x.sock"
    path.mkdir()
    listener = listener_at(path)
    for _ in range(4):
        with pytest.raises(SocketFailed, match=str(path)):
            await listener.open()
        assert bound_in(root) == []
    assert names_in(root) == ["x.sock"]
    path.rmdir()
    await listener.open()
    assert await answers(rig, path)
    await listener.close(0)
