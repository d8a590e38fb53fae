"""What an agent does until it ends itself, and what became of the cluster meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .life import Life
from .world import NIC, World

DEVICES = (NIC, "dummy0", "up0-mv0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One way of devices.

    ``setting`` puts claims and pods into the world. ``lead_up``, if any, is an earlier life that is killed in the midst
    of the calls of hooks that it ``holds``. ``act`` is the life whose boundaries are counted from when it is armed.
    ``meanwhile`` is what the cluster does before the next life. ``going`` names claims that the kubelet gives back
    after that.
    """

    setting: Callable[[World], None]
    act: Callable[[Life], Awaitable[None]]
    lead_up: Callable[[Life], Awaitable[None]] | None = None
    holds: frozenset[str] = frozenset()
    meanwhile: Callable[[World], None] = lambda _: None
    going: frozenset[str] = frozenset()


def one_claim(world: World) -> None:
    """One claim of three devices; its pod does not run yet."""
    world.claim("a", *DEVICES)


def one_pod(world: World) -> None:
    """One claim of three devices, and its pod."""
    world.start_pod(world.claim("a", *DEVICES))


def pod_ends(world: World) -> None:
    """The pod ends while no agent is there."""
    world.end_pod(world.named("a"))


def pod_stops(world: World) -> None:
    """The runtime has stopped the pod, whatever its plugin said; the namespace is still there."""
    world.running.discard("a")


async def prepare(life: Life) -> None:
    """The kubelet asks for a claim."""
    await life.take()
    life.arm()
    await prepared(life, "a")


async def attach(life: Life) -> None:
    """The runtime starts the pod."""
    await life.take()
    await prepared(life, "a")
    life.arm()
    await life.run_sandbox(life.world.named("a"))


async def detach(life: Life) -> None:
    """The runtime stops the pod."""
    await life.take()
    await attached(life, "a")
    life.arm()
    await life.stop_sandbox(life.world.named("a"))


async def free(life: Life) -> None:
    """The kubelet gives the claim back."""
    await life.take()
    await prepared(life, "a")
    life.arm()
    await unprepared(life, "a")


async def free_attached(life: Life) -> None:
    """The kubelet gives the claim back, and nobody has told that the pod stops."""
    await life.take()
    await attached(life, "a")
    life.arm()
    await unprepared(life, "a")


async def recover(life: Life) -> None:
    """A life begins."""
    life.arm()
    await life.take()


def all_unfinished(world: World) -> None:
    """A claim for each thing that can be unfinished."""
    world.claim("preparing", "dummy1")
    world.claim("freeing", "dummy2")
    for name, devices in {
        "attached": ("dummy0",),
        "attaching": (NIC,),
        "detaching": ("up0-mv1",),
        "gone": ("dummy3",),
    }.items():
        world.start_pod(world.claim(name, *devices))


UNFINISHED = frozenset(
    {
        "after setup_device dummy1",
        "before free_device dummy2",
        f"after attach_device {NIC}",
        "before detach_device up0-mv1",
    }
)


async def leave_all_unfinished(life: Life) -> None:
    """Begin all of it, and be killed in the midst of it."""
    await life.take()
    await prepared(life, "freeing")
    for name in ("attached", "detaching", "gone"):
        await attached(life, name)
    await prepared(life, "attaching")
    tasks = [
        asyncio.ensure_future(each)
        for each in (
            prepared(life, "preparing"),
            unprepared(life, "freeing"),
            life.run_sandbox(life.world.named("attaching")),
            life.stop_sandbox(life.world.named("detaching")),
        )
    ]
    held = asyncio.ensure_future(life.boundaries.all_held.wait())
    await asyncio.wait({held, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    assert held.done(), "something was not held, and has ended"


def one_pod_ended_and_one_stopped(world: World) -> None:
    """While the agent is away one pod ends, another one is stopped."""
    world.end_pod(world.named("gone"))
    world.running.discard("detaching")


class Newcomer:
    """Another agent that asked for the lock."""

    def __init__(self) -> None:
        self._gone = asyncio.Event()

    @property
    def lost(self) -> bool:
        """Whether it is gone."""
        return self._gone.is_set()

    async def wait_lost(self) -> None:
        """Wait until it is gone."""
        await self._gone.wait()

    def lose(self) -> None:
        """Be gone."""
        self._gone.set()


def three_claims(world: World) -> None:
    """One claim is in a pod, one is asked for and one is given back while the agents hand over."""
    one_pod(world)
    world.claim("b", "dummy1")
    world.claim("c", "dummy2")


async def serve(life: Life) -> None:
    """Be the active agent of three claims."""
    await life.take()
    await attached(life, "a")
    await prepared(life, "c")


async def give_up(life: Life, newcomer: Newcomer | None = None) -> None:
    """Hand over in the midst of two calls of the kubelet."""
    tasks = [asyncio.ensure_future(prepared(life, "b")), asyncio.ensure_future(unprepared(life, "c"))]
    await asyncio.sleep(0)
    await life.handover.hand_over(newcomer or Newcomer(), "a newcomer")
    await asyncio.gather(*tasks)


async def serve_and_give_up(life: Life) -> None:
    """Hand over, with the boundaries of that counted."""
    await serve(life)
    life.arm()
    await give_up(life)


async def prepared(life: Life, name: str) -> None:
    """Have a claim prepared."""
    answer = await life.prepare(life.world.named(name))
    assert not answer.error, answer.error
    assert len(answer.devices) == len(life.world.named(name).results or ())


async def attached(life: Life, name: str) -> None:
    """Have a claim prepared and its pod started."""
    await prepared(life, name)
    await life.run_sandbox(life.world.named(name))


async def unprepared(life: Life, name: str) -> None:
    """Give a claim back."""
    error = await life.unprepare(life.world.named(name).ref)
    assert not error, error


SCENARIOS = {
    "prepare": Scenario(setting=one_claim, act=prepare),
    "prepare-given-up": Scenario(setting=one_claim, act=prepare, going=frozenset({"a"})),
    "attach": Scenario(setting=one_pod, act=attach),
    "attach-pod-gone": Scenario(setting=one_pod, act=attach, meanwhile=pod_ends),
    "detach": Scenario(setting=one_pod, act=detach, meanwhile=pod_stops),
    "free": Scenario(setting=one_claim, act=free, going=frozenset({"a"})),
    "free-attached": Scenario(setting=one_pod, act=free_attached, meanwhile=pod_stops, going=frozenset({"a"})),
    "recovery": Scenario(
        setting=all_unfinished,
        lead_up=leave_all_unfinished,
        holds=UNFINISHED,
        act=recover,
        meanwhile=one_pod_ended_and_one_stopped,
        going=frozenset({"freeing"}),
    ),
    "handover-give-up": Scenario(setting=three_claims, act=serve_and_give_up, going=frozenset({"c"})),
    "handover-take": Scenario(setting=three_claims, act=recover, going=frozenset({"c"})),
}
