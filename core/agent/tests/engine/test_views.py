"""What the command line is shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from dragoman.engine.advertised import Advertised
from dragoman.engine.health import HealthBoard
from dragoman.engine.inventory import Degraded, NodeInventory
from dragoman.engine.views import allocation_views, device_views, plugin_views
from dragoman.model.publication import Publishing
from dragoman.plugins import PluginState, PluginStatus
from dragoman_hookspecs import Capacity, Device, DeviceError, Inventory, JsonObject
from dragoman_testkit.fakes.node import DRIVER, POOL, FakeNode, devices

from .sandboxworld import prepared, run


def test_a_manager_that_cannot_be_scanned_is_degraded_and_says_why() -> None:
    loaded = PluginStatus(name="dummy", type="dummy", state=PluginState.LOADED)
    broken = PluginStatus(name="ports", type="bridge-port", state=PluginState.LOADED)
    disabled = PluginStatus(name="off", type="off", state=PluginState.DISABLED, reason="the settings turn it off")
    writer = PluginStatus(name="metadata", state=PluginState.LOADED)
    degraded = {kind: Degraded(reason=f"{kind} broke", since=0.0) for kind in ("bridge-port", "off")}
    views = plugin_views([loaded, broken, disabled, writer], degraded)
    assert [(view["name"], view["state"], view["reason"]) for view in views] == [
        ("dummy", "loaded", ""),
        ("ports", "degraded", "bridge-port broke"),
        ("off", "disabled", "the settings turn it off"),
        ("metadata", "loaded", ""),
    ]


async def capacities(node: FakeNode, *found: Device) -> dict[str, JsonObject]:
    node.hooks.fakes["dummy"].inventory = Inventory(devices=found)
    inventory = NodeInventory(
        hooks=node.hooks, protected=node.links.protected, rows=node.ledger.allocations, clock=node.clock
    )
    scanning = asyncio.create_task(inventory.run())
    await node.clock.settle()
    scanning.cancel()
    advertised = Advertised(
        hooks=node.hooks,
        inventory=inventory,
        health=HealthBoard(hooks=node.hooks, inventory=inventory, clock=node.clock, driver=DRIVER),
        rows=node.ledger.allocations,
        rules=lambda: Publishing(node=POOL, driver=DRIVER),
    )
    return {view["device"]: view["capacity"] for view in device_views(advertised, node.ledger)}


async def test_a_capacity_that_is_no_amount_does_not_hide_the_other_devices(node: FakeNode) -> None:
    (odd,), (plain,) = devices("dummy0", shareable=True), devices("dummy1")
    listed = replace(odd, capacity={"bandwidth": Capacity(value="lots"), "queues": Capacity(value="4")})
    assert await capacities(node, listed, plain) == {
        "dummy0": {"bandwidth": {"total": "lots", "free": "lots"}, "queues": {"total": "4", "free": "4"}},
        "dummy1": {},
    }


async def test_what_is_free_of_a_capacity_is_written_as_the_capacity_is(node: FakeNode) -> None:
    (shared,) = devices("dummy0", shareable=True)
    values = {"buffer": Capacity(value="10Gi"), "bandwidth": Capacity(value="10G"), "queues": Capacity(value="4")}
    claim = node.claim("a", "dummy0@s1")
    assert claim.results is not None
    taken = {f"{DRIVER}/buffer": "4Gi", f"{DRIVER}/bandwidth": "2500M"}
    node.source.put(replace(claim, results=(replace(claim.results[0], consumed_capacity=taken),)))
    await node.prepare(claim)
    assert (await capacities(node, replace(shared, capacity=values)))["dummy0"] == {
        "buffer": {"total": "10Gi", "free": "6Gi"},
        "bandwidth": {"total": "10G", "free": "7500M"},
        "queues": {"total": "4", "free": "4"},
    }


async def test_why_a_device_is_not_in_its_pod_yet_is_the_failure_of_its_allocation_alone(node: FakeNode) -> None:
    claim, _ = await prepared(node, "a", "dummy0"), await prepared(node, "b", "dummy1")
    node.hooks.fail("attach_device", DeviceError("parent is down"), times=4)
    await run(node, node.sandbox(claim))

    def failures() -> list[str | None]:
        return [view["failure"] for view in allocation_views(node.ledger, node.sandboxes.problems())]

    waiting, other = failures()
    assert waiting is not None
    assert "parent is down" in waiting
    assert other is None
    await node.clock.advance(10)
    assert failures() == [None, None]
