"""Start with retries, stop in reverse, and other settings while the agent runs."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dragoman.hooks import Hooks, Limits, PluginFault
from dragoman.plugins import PluginState, Sections, load_descriptors
from dragoman_hookspecs import (
    Context,
    DeviceManager,
    Fault,
    InvalidConfig,
    Inventory,
    Prepared,
    Writer,
    WrittenMetadata,
    hookimpl,
)


class Sleeper:
    """Time that passes when a test says so; ``asked`` lists the pauses."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._waiting: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        event = asyncio.Event()
        self._waiting.put_nowait(event)
        await event.wait()

    async def wake(self) -> None:
        (await self._waiting.get()).set()


async def test_plugins_start_in_order_and_stop_in_reverse(make: Any) -> None:
    node = make(one="full", two="full", three="full")
    order: list[tuple[str, str]] = []
    for name in node.objects:
        for hook in ("start", "stop"):
            node.script(name, hook, lambda _, what=(name, hook): order.append(what))
    await node.hooks.start()
    await node.hooks.stop()
    assert order == [
        ("one", "start"),
        ("two", "start"),
        ("three", "start"),
        ("three", "stop"),
        ("two", "stop"),
        ("one", "stop"),
    ]


async def test_a_start_that_raises_is_tried_again_with_growing_pauses_and_the_others_go_on(
    make: Any, alloc: Any
) -> None:
    sleeper = Sleeper()
    node = make(bad="full", good="full", sleeper=sleeper)
    changed: asyncio.Queue[str] = asyncio.Queue()
    late: list[str] = []
    node.hooks.on_change(changed.put_nowait)
    node.hooks.on_late_start(late.append)
    attempts = iter([OSError("no card"), OSError("no card"), OSError("no card"), None])

    def start(_request: Any) -> None:
        if error := next(attempts):
            raise error

    node.script("bad", "start", start)
    await node.hooks.start()
    bad, good = node.hooks.statuses()
    assert (bad.state, good.state) == (PluginState.DEGRADED, PluginState.LOADED)
    assert "OSError: no card" in bad.reason
    with pytest.raises(PluginFault, match=r"it is not started: start of plugin bad .* raised OSError: no card"):
        await node.hooks.setup_device("bad", alloc(), {})
    assert await node.hooks.setup_device("good", alloc(), {}) == Prepared()
    for _ in range(3):
        await sleeper.wake()
    assert await changed.get() == "bad"
    assert late == ["bad"]  # so that its devices are recovered
    assert sleeper.asked == [1, 2, 4]
    assert [status.state for status in node.hooks.statuses()] == [PluginState.LOADED, PluginState.LOADED]
    assert await node.hooks.setup_device("bad", alloc(), {}) == Prepared()


async def test_a_plugin_that_never_started_is_not_stopped_nor_tried_again_after_stop(make: Any) -> None:
    sleeper = Sleeper()
    node = make(bad="full", sleeper=sleeper)

    def start(_request: Any) -> None:
        raise OSError

    node.script("bad", "start", start)
    await node.hooks.start()
    await node.hooks.stop()
    assert [hook for hook, _ in node.objects["bad"].calls] == ["start"]


async def test_a_stop_that_raises_does_not_keep_the_others_from_stopping(make: Any) -> None:
    node = make(one="full", two="full")

    def stop(_request: Any) -> None:
        raise OSError

    node.script("two", "stop", stop)
    await node.hooks.start()
    await node.hooks.stop()
    assert [hook for hook, _ in node.objects["one"].calls] == ["start", "stop"]


async def test_plugins_serve_again_when_they_are_started_again(make: Any, alloc: Any) -> None:
    node = make(dummy="full")
    for _ in range(3):
        await node.hooks.start()
        assert await node.hooks.setup_device("dummy", alloc(), {}) == Prepared()
        await node.hooks.stop()
    assert [hook for hook, _ in node.objects["dummy"].calls] == ["start", "setup_device", "stop"] * 3


async def test_a_stop_that_was_cut_short_is_made_up_for_by_start_and_nothing_starts_twice(make: Any) -> None:
    node = make(one="full", two="full")
    begun, release = threading.Event(), threading.Event()

    def hang(_: Any) -> None:
        begun.set()
        release.wait(60)

    node.script("two", "stop", hang)
    await node.hooks.start()
    stopping = asyncio.create_task(node.hooks.stop())
    assert await asyncio.to_thread(begun.wait, 60)
    stopping.cancel()
    await asyncio.wait({stopping})
    release.set()
    await node.hooks.start()
    assert [hook for hook, _ in node.objects["one"].calls] == ["start"]
    assert [hook for hook, _ in node.objects["two"].calls] == ["start", "stop", "start"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    count: int = 1

    def __post_init__(self) -> None:
        if self.count > 100:
            raise InvalidConfig.at("count", "is too large")


class Recreated:
    """Has no ``apply_settings``; ``log`` tells what happened to which object."""

    log: list[str]

    def __init__(self, context: Context, settings: Size) -> None:
        if settings.count == 13:
            raise OSError("unlucky")
        self.count = settings.count

    @hookimpl
    def start(self) -> None:
        self.log.append(f"start {self.count}")
        if self.count == 66:
            raise OSError("no start")

    @hookimpl
    def stop(self) -> None:
        self.log.append(f"stop {self.count}")

    @hookimpl
    def discover_devices(self) -> Inventory:
        self.log.append(f"discover {self.count}")
        return Inventory(devices=())

    @hookimpl
    def setup_device(self, request: Any) -> Prepared:
        return Prepared()

    @hookimpl
    def free_device(self, request: Any) -> None:
        return None

    @hookimpl
    def recover_devices(self, request: Any) -> list[Any]:
        return []


class Applying(Recreated):
    """Takes other settings by its hook."""

    @hookimpl
    def apply_settings(self, request: Any) -> None:
        if request.new.count == 13:
            raise OSError("unlucky")
        self.log.append(f"apply {request.old.count} {request.new.count}")
        self.count = request.new.count


class Files:
    def __init__(self, context: Context, settings: Size) -> None:
        self.count = settings.count

    @hookimpl
    def write_metadata(self, request: Any) -> WrittenMetadata:
        return WrittenMetadata()

    @hookimpl
    def remove_metadata(self, request: Any) -> None:
        return None


def section(count: int, **more: Any) -> Sections:
    return Sections(managers={"m": {"count": count, **more}})


@pytest.fixture(params=[Recreated, Applying])
def cls(request: pytest.FixtureRequest) -> Any:
    request.param.log = []
    return request.param


def hooks_of(cls: type, sections: Sections, *, sleeper: Sleeper | None = None) -> Hooks:
    none = Path("/nonexistent")
    plugins = load_descriptors(
        [
            ("m", DeviceManager(type="m", settings_key="m", settings=Size, create=cls)),
            ("w", Writer(settings_key="w", settings=Size, create=Files)),
        ],
        sections,
        context=lambda _: Context(node_name="n", driver_name="d", state_dir=none, cdi_dir=none),
    )
    return Hooks(plugins, Limits(), inline=True, sleeper=sleeper)


async def test_other_settings_go_through_the_hook_where_there_is_one() -> None:
    Applying.log = []
    hooks = hooks_of(Applying, section(1))
    await hooks.start()
    applied = await hooks.apply_settings(section(2))
    assert (applied.changed, applied.recreated, applied.failures) == (("m",), (), {})
    await hooks.discover_devices("m")
    assert Applying.log == ["start 1", "apply 1 2", "discover 2"]


async def test_other_settings_stop_create_and_start_where_there_is_no_hook() -> None:
    Recreated.log = []
    hooks = hooks_of(Recreated, section(1))
    await hooks.start()
    applied = await hooks.apply_settings(section(2))
    assert (applied.changed, applied.recreated, applied.failures) == (("m",), ("m",), {})
    await hooks.discover_devices("m")
    assert Recreated.log == ["start 1", "stop 1", "start 2", "discover 2"]


@pytest.mark.parametrize(("count", "reason"), [(13, "unlucky"), (101, "deviceManagerConfigs.m.count: is too large")])
async def test_settings_that_are_refused_keep_the_old_ones_and_are_reported(cls: Any, count: int, reason: str) -> None:
    hooks = hooks_of(cls, section(1))
    await hooks.start()
    applied = await hooks.apply_settings(Sections(managers={"m": {"count": count}}, others={"w": {"count": 5}}))
    assert reason in applied.failures["m"]
    assert applied.changed == ("w",)
    await hooks.discover_devices("m")
    assert cls.log == ["start 1", "discover 1"]
    again = await hooks.apply_settings(section(3))
    assert again.changed == ("m", "w")


async def test_settings_that_did_not_change_touch_nothing(cls: Any) -> None:
    hooks = hooks_of(cls, section(1))
    await hooks.start()
    applied = await hooks.apply_settings(Sections(managers={"m": {}}))
    assert applied.changed == ()
    assert cls.log == ["start 1"]


async def test_turning_a_manager_off_and_on_leaves_its_object_alone(cls: Any) -> None:
    hooks = hooks_of(cls, section(1))
    await hooks.start()
    await hooks.apply_settings(section(1, enabled=False))
    assert not hooks.manager("m").enabled
    assert hooks.statuses()[0].state is PluginState.DISABLED
    await hooks.apply_settings(section(1))
    assert hooks.manager("m").enabled
    assert hooks.statuses()[0].state is PluginState.LOADED
    assert cls.log == ["start 1"]


async def test_other_settings_before_the_start_begin_nothing(cls: Any) -> None:
    hooks = hooks_of(cls, section(1))
    assert (await hooks.apply_settings(section(2))).changed == ("m",)
    assert cls.log == []
    await hooks.start()
    assert cls.log == ["start 2"]


async def test_a_plugin_that_could_not_start_is_made_anew_for_other_settings(cls: Any) -> None:
    sleeper = Sleeper()
    hooks = hooks_of(cls, section(66), sleeper=sleeper)
    await hooks.start()
    applied = await hooks.apply_settings(section(2))
    assert applied.recreated == ("m",)
    assert cls.log == ["start 66", "start 2"]
    assert hooks.statuses()[0].state is PluginState.LOADED
    await hooks.stop()
    assert cls.log == ["start 66", "start 2", "stop 2"]


async def test_an_object_made_anew_that_does_not_start_is_tried_again() -> None:
    Recreated.log = []
    sleeper = Sleeper()
    hooks = hooks_of(Recreated, section(1), sleeper=sleeper)
    await hooks.start()
    applied = await hooks.apply_settings(section(66))
    assert applied.recreated == ("m",)
    assert hooks.statuses()[0].state is PluginState.DEGRADED
    await hooks.stop()


async def test_a_plugin_whose_settings_were_refused_at_start_is_loaded_when_they_are_good(cls: Any) -> None:
    hooks = hooks_of(cls, section(101))
    await hooks.start()
    assert hooks.managers() == []
    assert hooks.statuses()[0].state is PluginState.INVALID_SETTINGS
    assert (await hooks.apply_settings(section(102))).changed == ()
    applied = await hooks.apply_settings(section(7))
    assert (applied.changed, applied.recreated) == (("m",), ("m",))
    assert [status.state for status in hooks.statuses()] == [PluginState.LOADED, PluginState.LOADED]
    await hooks.discover_devices("m")
    assert cls.log == ["start 7", "discover 7"]


async def test_all_faults_of_all_sections_are_found_before_anything_is_applied() -> None:
    plugins = load_descriptors(
        [
            ("m", DeviceManager(type="m", settings_key="m", settings=Size, create=Recreated)),
            ("w", Writer(settings_key="w", settings=Size, create=Files)),
        ],
        context=lambda _: Context(node_name="n", driver_name="d", state_dir=Path("/x"), cdi_dir=Path("/x")),
    )
    with pytest.raises(InvalidConfig) as caught:
        plugins.check(
            Sections(managers={"m": {"count": "1", "enabled": "no"}, "other": {"x": 1}}, others={"w": {"counts": 1}})
        )
    assert caught.value.faults == (
        Fault("deviceManagerConfigs.m.enabled", "must be true or false"),
        Fault("deviceManagerConfigs.m.count", 'must be a whole number, not "1"'),
        Fault("pluginConfigs.w.counts", "is not a known key; did you mean count?"),
    )
