"""A device manager and a writer whose hooks do what a test says, and gates that keep a hook busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from dragoman.hooks import Hooks, Limits
from dragoman.plugins import Sections, load_descriptors
from dragoman_hookspecs import (
    Allocation,
    Attached,
    Context,
    Device,
    DeviceManager,
    Inventory,
    Prepared,
    Record,
    Recovered,
    Recovery,
    Writer,
    WrittenMetadata,
    hookimpl,
)

NONE = Path("/nonexistent")
UNHURRIED = {limit.name: 60.0 for limit in fields(Limits)}
"""Limits that no hook passes because the machine is slow."""


class Scripted:
    """A plugin of which a test keeps hold.

    ``script``: hook to a function of the request, which replaces the answer. ``calls`` lists hooks and requests.
    """

    def __init__(self, context: Context, settings: Any) -> None:
        self.settings = settings
        self.script: dict[str, Callable[[Any], Any]] = {}
        self.calls: list[tuple[str, Any]] = []

    def answer(self, hook: str, request: Any, default: Any) -> Any:
        self.calls.append((hook, request))
        return self.script[hook](request) if hook in self.script else default


class Unattached(Scripted):
    """A manager with the hooks that it must have."""

    @hookimpl
    def discover_devices(self) -> Any:
        return self.answer("discover_devices", None, Inventory(devices=()))

    @hookimpl
    def setup_device(self, request: Any) -> Any:
        return self.answer("setup_device", request, Prepared())

    @hookimpl
    def free_device(self, request: Any) -> Any:
        return self.answer("free_device", request, None)

    @hookimpl
    def recover_devices(self, request: Any) -> Any:
        return self.answer("recover_devices", request, [Recovered(outcome=Recovery.INTACT) for _ in request.records])


class Plain(Unattached):
    """A manager that also attaches."""

    @hookimpl
    def attach_device(self, request: Any) -> Any:
        return self.answer("attach_device", request, Attached(interface="net0"))

    @hookimpl
    def detach_device(self, request: Any) -> Any:
        return self.answer("detach_device", request, {})


class Full(Plain):
    """A manager with all hooks that make sense without threads of their own."""

    @hookimpl
    def start(self) -> Any:
        return self.answer("start", None, None)

    @hookimpl
    def stop(self) -> Any:
        return self.answer("stop", None, None)

    @hookimpl
    def check_config(self, request: Any) -> Any:
        return self.answer("check_config", request, None)

    @hookimpl
    def plan_device(self, request: Any) -> Any:
        return self.answer("plan_device", request, {"planned": True})


class Watching(Plain):
    """A manager with both watches."""

    @hookimpl
    def watch_devices(self, request: Any) -> Any:
        return self.answer("watch_devices", request, None)

    @hookimpl
    def watch_health(self, request: Any) -> Any:
        return self.answer("watch_health", request, None)


class Files(Scripted):
    """A writer."""

    @hookimpl
    def write_metadata(self, request: Any) -> Any:
        return self.answer("write_metadata", request, WrittenMetadata())

    @hookimpl
    def remove_metadata(self, request: Any) -> Any:
        return self.answer("remove_metadata", request, None)


CLASSES: dict[str, type] = {
    "unattached": Unattached,
    "plain": Plain,
    "full": Full,
    "watching": Watching,
    "files": Files,
}


class Gate:
    """Keeps a hook busy until it is opened."""

    def __init__(self) -> None:
        self._entered = threading.Event()
        self._open = threading.Event()

    def __call__(self, _request: Any = None) -> Any:
        """Be the hook."""
        self._entered.set()
        self._open.wait(300)
        return Prepared()

    def open(self) -> None:
        self._open.set()

    async def entered(self) -> None:
        assert await asyncio.to_thread(self._entered.wait, 60)


class Node:
    """The facade over some plugins, and their objects by name."""

    def __init__(self, hooks: Hooks, objects: dict[str, Any]) -> None:
        self.hooks = hooks
        self.objects = objects

    def script(self, plugin: str, hook: str, function: Callable[[Any], Any]) -> None:
        self.objects[plugin].script[hook] = function


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.open()


@pytest.fixture
async def make() -> AsyncIterator[Callable[..., Node]]:
    """Make a node: ``make(dummy="plain")`` has one plugin of that name, which is also its type; numbers are limits."""
    made: list[Hooks] = []

    def node(*, concurrent: int = 1, sections: Sections | None = None, **options: Any) -> Node:
        classes = {name: CLASSES[options.pop(name)] for name in list(options) if isinstance(options[name], str)}
        limits = {name: options.pop(name) for name in list(options) if isinstance(options[name], float)}
        objects: dict[str, Any] = {}

        def descriptor(name: str, cls: type) -> Any:
            def create(context: Context, settings: Any) -> Any:
                objects[name] = cls(context, settings)
                return objects[name]

            if issubclass(cls, Files):
                return Writer(settings_key=name, create=create)
            return DeviceManager(type=name, settings_key=name, create=create, concurrent=concurrent)

        plugins = load_descriptors(
            [(name, descriptor(name, cls)) for name, cls in classes.items()],
            sections,
            context=lambda _: Context(node_name="n", driver_name="d", state_dir=NONE, cdi_dir=NONE),
        )
        assert len(plugins.loaded) == len(classes), plugins.statuses
        made.append(Hooks(plugins, Limits(**UNHURRIED | limits), **options))
        return Node(made[-1], objects)

    yield node
    for hooks in made:
        await hooks.stop()


def allocation(device: str = "dev0", share_id: str | None = None, claim: str = "uid-1") -> Allocation:
    return Allocation(
        claim_uid=claim,
        claim_namespace="ns",
        claim_name="claim",
        request="net",
        pool="node-1",
        device=Device(name=device, identity=f"id-{device}"),
        share_id=share_id,
    )


@pytest.fixture
def alloc() -> Callable[..., Allocation]:
    return allocation


@pytest.fixture
def record() -> Callable[..., Record]:
    return lambda *args, **named: Record(allocation=allocation(*args, **named))
