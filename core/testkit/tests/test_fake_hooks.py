from __future__ import annotations

import asyncio

import pytest

from dragoman.hooks import PluginMissing
from dragoman_hookspecs import (
    Allocation,
    Device,
    DeviceError,
    Health,
    HealthReport,
    Inventory,
    Netns,
    Parameters,
    Prepared,
    Record,
    Recovery,
)
from dragoman_testkit.fakes.hooks import Call, FakeHooks, FakeManager

DEVICE = Device(name="dummy0", identity="tag:dummy0", link="dummy0")
NETNS = Netns(path="/run/netns/a", cookie="1:2")


def allocation(device: Device = DEVICE, share_id: str | None = None) -> Allocation:
    return Allocation(
        claim_uid="c1",
        claim_namespace="default",
        claim_name="claim",
        request="nic",
        pool="node",
        device=device,
        share_id=share_id,
        parameters=Parameters(pod_if_name="net1", addresses=("10.0.0.1/24",)),
    )


async def test_a_device_goes_through_the_world_and_leaves_nothing() -> None:
    hooks = FakeHooks(FakeManager(inventory=Inventory(devices=(DEVICE,))))
    assert (await hooks.discover_devices("dummy")).devices == (DEVICE,)
    plan = await hooks.plan_device("dummy", allocation())
    prepared = await hooks.setup_device("dummy", allocation(), plan)
    record = Record(allocation=allocation(), plan=plan, prepared=prepared)
    attached = await hooks.attach_device("dummy", record, NETNS)
    assert (attached.interface, attached.ips) == ("net1", ("10.0.0.1/24",))
    assert hooks.set_up == {("dummy", "dummy0", "")}
    assert hooks.attached == {("dummy", "dummy0", ""): "/run/netns/a"}
    await hooks.detach_device("dummy", record, NETNS)
    await hooks.free_device("dummy", record)
    assert (hooks.set_up, hooks.attached) == (set(), {})
    assert [call.hook for call in hooks.calls] == [
        "discover_devices",
        "plan_device",
        "setup_device",
        "attach_device",
        "detach_device",
        "free_device",
    ]


async def test_a_scripted_failure_hits_the_named_device_as_often_as_asked_before_or_after_the_effect() -> None:
    hooks = FakeHooks(FakeManager())
    hooks.fail("setup_device", DeviceError("before"), device="dummy0")
    hooks.fail("setup_device", DeviceError("after"), device="dummy0", after=True)
    await hooks.setup_device("dummy", allocation(Device(name="dummy1", identity="x")), {})
    with pytest.raises(DeviceError, match="before"):
        await hooks.setup_device("dummy", allocation(), {})
    assert hooks.set_up == {("dummy", "dummy1", "")}
    with pytest.raises(DeviceError, match="after"):
        await hooks.setup_device("dummy", allocation(), {})
    assert ("dummy", "dummy0", "") in hooks.set_up
    await hooks.setup_device("dummy", allocation(), {})


async def test_a_held_hook_waits_for_its_gate() -> None:
    hooks = FakeHooks(FakeManager())
    gate = hooks.hold("setup_device")
    task = asyncio.create_task(hooks.setup_device("dummy", allocation(), {}))
    await asyncio.sleep(0)
    assert hooks.calls == [Call("setup_device", "dummy", "dummy0")]
    assert not hooks.set_up
    gate.set()
    await task
    assert hooks.set_up


async def test_an_answer_of_the_test_replaces_the_default() -> None:
    hooks = FakeHooks(FakeManager(answers={"setup_device": lambda _allocation, plan: Prepared(state=plan)}))
    assert await hooks.setup_device("dummy", allocation(), {"vf": 3}) == Prepared(state={"vf": 3})


async def test_recovery_tells_what_is_in_the_world_from_what_was_lost() -> None:
    hooks = FakeHooks(FakeManager())
    prepared = await hooks.setup_device("dummy", allocation(share_id="s1"), {})
    records = [
        Record(allocation=allocation(share_id="s1"), prepared=prepared),
        Record(allocation=allocation(share_id="s2"), prepared=prepared),
    ]
    outcomes = [answer.outcome for answer in await hooks.recover_devices("dummy", records)]
    assert outcomes == [Recovery.INTACT, Recovery.RESTORED]


async def test_hints_and_health_reach_the_callbacks() -> None:
    hooks = FakeHooks(FakeManager(health=True))
    heard: list[object] = []
    hooks.on_change(heard.append)
    hooks.on_health(lambda type_, reports: heard.append((type_, reports)))
    report = HealthReport(device="dummy0", health=Health.UNHEALTHY)
    hooks.hint("dummy")
    hooks.report("dummy", report)
    hooks.health_failed("dummy")
    assert heard == ["dummy", ("dummy", (report,)), ("dummy", None)]
    assert hooks.has_health("dummy")


async def test_managers_come_in_name_order_of_their_distributions_and_a_missing_one_is_named() -> None:
    hooks = FakeHooks(FakeManager(type="b"), FakeManager(type="a"), FakeManager(type="c", distribution="aardvark"))
    assert [info.type for info in hooks.managers()] == ["c", "a", "b"]
    with pytest.raises(PluginMissing, match="sr-iov"):
        await hooks.discover_devices("sr-iov")
