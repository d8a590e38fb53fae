"""What a newcomer compares, over a real control socket: agents of former releases, and pods that end meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dragoman.control import surroundings
from dragoman.control.handover import LockRequest
from dragoman.control.server import Call, ControlServer, Handler
from dragoman.model.errors import OtherSurroundings, Refused, Unavailable
from dragoman.model.records import AttachmentRow
from dragoman_hookspecs import DeviceError, Netns

from .agent_process import rows

HOST, CONTAINER = (
    Netns(path="/proc/thread-self/ns/net", cookie="4:1"),
    Netns(path="/proc/thread-self/ns/net", cookie="4:2"),
)
POD = Netns(path="/run/netns/cni-1", cookie="4:7")


@dataclass
class Eyes:
    """Sees namespaces, but may not look at some; with its first look, ``ends`` are no more for ``others`` either."""

    own: Netns = HOST
    seen: set[Netns] = field(default_factory=lambda: {POD})
    forbidden: frozenset[Netns] = frozenset()
    ends: frozenset[Netns] = frozenset()
    others: tuple[Eyes, ...] = ()

    async def own_netns(self) -> Netns:
        return self.own

    async def same_netns(self, namespace: Netns) -> bool:
        if namespace in self.forbidden:
            raise DeviceError(f"cannot look at the network namespace {namespace.path}: Permission denied")
        for other in (self, *self.others):
            other.seen -= self.ends
        return namespace in self.seen


@dataclass
class Holder:
    """An active agent with the device of one pod."""

    eyes: Eyes = field(default_factory=Eyes)
    active: bool = True
    pod: Netns = POD
    given: int = 0

    def attachments(self) -> tuple[AttachmentRow, ...]:
        if not self.active:
            raise Unavailable("this agent is passive (process 9 is taking over); ask again")
        return (rows(self.pod.path, self.pod.cookie)[1],)

    def former(self) -> Mapping[str, Handler]:
        async def handover(_: Call) -> object:
            self.given += 1
            return {"released": True}

        return {"handover": handover}

    def handlers(self) -> Mapping[str, Handler]:
        return {**self.former(), **surroundings.handlers(self.eyes, self.attachments)}


@asynccontextmanager
async def listening(folder: Path, handlers: Mapping[str, Handler]) -> AsyncIterator[Path]:
    server = ControlServer(folder / "control.sock", handlers)
    await server.publish()
    try:
        yield folder / "control.sock"
    finally:
        await server.close()


async def ask(folder: Path, holder: Holder, eyes: Eyes, handlers: Mapping[str, Handler] | None = None) -> None:
    async with listening(folder, holder.handlers() if handlers is None else handlers) as path:
        (await LockRequest(path, "0.2.0", eyes).ask()).close()


async def test_a_newcomer_that_sees_the_same_gets_the_lock(tmp_path: Path) -> None:
    holder = Holder()
    await ask(tmp_path, holder, Eyes())
    assert holder.given == 1


@pytest.mark.parametrize(
    ("eyes", "differs"),
    [
        (Eyes(own=CONTAINER), "in another network namespace"),
        (Eyes(seen=set()), "/run/netns/cni-1 of pod default/web, "),
        (Eyes(seen={Netns(path=POD.path, cookie="4:8")}), "/run/netns/cni-1 of pod default/web, "),
    ],
    ids=["network", "no path", "another namespace at the path"],
)
async def test_a_newcomer_that_sees_something_else_does_not_ask_for_the_lock(
    tmp_path: Path, eyes: Eyes, differs: str
) -> None:
    holder = Holder()
    with pytest.raises(OtherSurroundings, match=differs):
        await ask(tmp_path, holder, eyes)
    assert holder.given == 0


async def test_a_namespace_of_a_process_that_is_not_seen_asks_for_the_process_namespace_of_the_host(
    tmp_path: Path,
) -> None:
    process = Netns(path="/proc/4711/ns/net", cookie="4:9")
    with pytest.raises(OtherSurroundings, match=r"/proc/4711/ns/net of pod default/web, .*: run it .*hostPID: true"):
        await ask(tmp_path, Holder(eyes=Eyes(seen={process}), pod=process), Eyes())


async def test_a_holder_of_a_former_release_is_asked_for_the_lock_all_the_same(tmp_path: Path) -> None:
    holder = Holder()
    await ask(tmp_path, holder, Eyes(own=CONTAINER, seen=set()), holder.former())
    assert holder.given == 1


async def test_a_pod_that_ends_while_the_newcomer_looks_is_not_missed(tmp_path: Path) -> None:
    holder = Holder()
    await ask(tmp_path, holder, Eyes(ends=frozenset({POD}), others=(holder.eyes,)))
    assert holder.given == 1


async def test_a_namespace_that_the_holder_may_not_look_at_is_not_asked_of_the_newcomer(tmp_path: Path) -> None:
    holder = Holder(eyes=Eyes(forbidden=frozenset({POD})))
    await ask(tmp_path, holder, Eyes(seen=set()))
    assert holder.given == 1


async def test_a_newcomer_that_may_not_look_does_not_ask_for_the_lock_and_says_why(tmp_path: Path) -> None:
    holder = Holder()
    with pytest.raises(DeviceError, match="Permission denied"):
        await ask(tmp_path, holder, Eyes(forbidden=frozenset({POD})))
    assert holder.given == 0


async def test_a_holder_that_is_not_active_now_is_to_be_asked_again(tmp_path: Path) -> None:
    holder = Holder(active=False)
    with pytest.raises(Refused, match=r"this agent is passive .*; ask again"):
        await ask(tmp_path, holder, Eyes())
    assert holder.given == 0


async def test_an_answer_that_cannot_be_read_is_no_leave_to_take_over(tmp_path: Path) -> None:
    async def strange(_: Call) -> object:
        return {"pid": "seven"}

    holder = Holder()
    with pytest.raises(Refused, match="cannot be read"):
        await ask(tmp_path, holder, Eyes(), {**holder.former(), "surroundings": strange})
    assert holder.given == 0


async def test_fields_of_a_later_release_are_no_hindrance(tmp_path: Path) -> None:
    async def later(_: Call) -> object:
        return {"pid": 7, "network": HOST.cookie, "living": [], "user": "4:3"}

    holder = Holder()
    await ask(tmp_path, holder, Eyes(), {**holder.former(), "surroundings": later})
    assert holder.given == 1
