"""The node that ``dragoman sandbox`` keeps, and what is asked of it over its socket."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import yaml

from dragoman.control.server import Call, ControlServer, Handler
from dragoman.kubelet.environment import prepare_environment
from dragoman.settings.loading import check_file
from dragoman_hookspecs import DragomanError, JsonObject
from dragoman_testkit.sandbox import demo_objects, kernel, play_check
from dragoman_testkit.sandbox.apiserver import ApiFault
from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder
from dragoman_testkit.sandbox.play_apply import Applying

KINDS: Mapping[str, Sequence[str]] = {
    "pods": ("pod", "po"),
    "resourceclaims": ("resourceclaim", "claims", "claim"),
    "resourceclaimtemplates": ("resourceclaimtemplate", "templates", "template"),
    "deviceclasses": ("deviceclass", "classes", "class"),
    "resourceslices": ("resourceslice", "slices", "slice"),
    "events": ("event",),
    "nodes": ("node",),
    "namespaces": ("namespace", "ns"),
}
"""Names of the API, with others that people use."""

_CLUSTER_WIDE = frozenset({"deviceclasses", "resourceslices", "nodes", "namespaces"})

_OF_THE_SANDBOX = frozenset({"driverName", "nodeName", "podUid", "kubernetes", "paths"})
"""Settings of a node that would lead the agent out of the sandbox, to the node's own ledger or cluster."""

_WELL = frozenset({"loaded", "disabled", "blocked"})

_WELCOME = """
A node is running; its files are in {folder}. In another terminal:

    export DRAGOMAN_CONFIG={folder}/settings.yaml

    dragoman devices                                     what the node has
    dragoman sandbox apply -f {folder}/example.yaml
    dragoman sandbox get pods                            also claims, slices, classes, events; -o yaml
    dragoman sandbox exec example -- ip address          what the pod sees
    dragoman sandbox exec example -- dragoman-metadata show
    dragoman allocations                                 who has what
    dragoman sandbox host -- ip link                     what its host sees; so also dragoman pools and explain
    dragoman sandbox agent kill                          and start again: pods do not notice
    dragoman sandbox delete pod example

Ctrl-C ends the pods and the agent, and removes everything."""


class NotThere(DragomanError):
    """What was asked for is not in the sandbox, or the API server refuses it."""


def keep(given: Path | None) -> None:
    """Keep a node until SIGINT or SIGTERM. Raises ``DragomanError``."""
    prepare_environment()
    settings = demo_objects.settings(kernel.furnish(demo_objects.UPLINKS))
    if given is not None:
        taken, passed_over = read_settings(given)
        if passed_over:
            click.echo(f"Note: {given}: {', '.join(passed_over)}: not taken, the sandbox has its own", err=True)
        settings = {"logging": settings["logging"], **taken}
    folder = make_folder()
    try:
        asyncio.run(_keep(folder, settings))
    finally:
        remove_folder(folder)


def read_settings(file: Path) -> tuple[JsonObject, Sequence[str]]:
    """Read settings for a sandbox, and name those of the node itself that are passed over. Raises ``DragomanError``."""
    raw = check_file(file).raw
    return {key: raw[key] for key in raw if key not in _OF_THE_SANDBOX}, sorted(_OF_THE_SANDBOX.intersection(raw))


async def _keep(folder: Path, settings: JsonObject) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with SandboxNode(folder, settings=settings) as node:
        classes = [*(pool["name"] for pool in settings.get("pools") or ()), demo_objects.ANY]
        for name in dict.fromkeys(classes):
            node.api.create(demo_objects.device_class(name))
        (folder / "example.yaml").write_text(_example(classes[0]))
        server = ControlServer(folder / "sandbox.sock", Requests(node).handlers())
        await server.publish()
        try:
            await node.agent.start()
            click.echo(_WELCOME.format(folder=folder))
            for status in await node.agent.ask("plugins"):
                if status["state"] not in _WELL:
                    click.echo(f"\nPlugin {status['name']} is {status['state']}: {status['reason']}")
            await _either(stopped.wait(), node.run())
            click.echo("\nending the pods and the agent …")
            if node.agent.pid is None:
                await node.agent.start()
            await node.drain()
        finally:
            await server.close()


async def _either(*awaitables: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _example(class_name: str) -> str:
    parameters = {"podIfName": "net1", "addresses": ["192.0.2.10/24"]}
    objects = [demo_objects.template("example", class_name, parameters), demo_objects.pod("example", "example")]
    return yaml.safe_dump_all(objects, sort_keys=False)


class Requests:
    """Answers what the command asks."""

    def __init__(self, node: SandboxNode) -> None:
        self._node = node
        self._applying = Applying(node.api)

    def handlers(self) -> Mapping[str, Handler]:
        """Give the methods by name."""
        return {
            "apply": self._apply,
            "delete": self._delete,
            "get": self._get,
            "container": self._container,
            "host": self._host,
            "agent": self._agent,
        }

    async def _apply(self, call: Call) -> list[str]:
        objects: Sequence[JsonObject] = call.params["objects"]
        for obj in objects:
            if faults := play_check.faults(obj):
                raise NotThere(f"{play_check.named(obj)} is refused: {'; '.join(faults)}")
        return [self._put(obj) for obj in objects]

    async def _delete(self, call: Call) -> str:
        plural, name = _plural(call.params["kind"]), call.params["name"]
        namespace = "" if plural in _CLUSTER_WIDE else call.params["namespace"]
        try:
            self._node.api.delete(plural, name, namespace, grace_seconds=None)
        except ApiFault as fault:
            raise NotThere(fault.message) from fault
        if plural == "pods":
            await self._node.until(lambda: not self._objects(plural, name), f"pod {name} is gone")
        return f"{plural}/{name} deleted"

    async def _get(self, call: Call) -> JsonObject:
        plural, name = _plural(call.params["kind"]), call.params.get("name")
        found = self._objects(plural, name)
        if name and not found:
            raise NotThere(f"there is no {plural}/{name}")
        return {"kind": plural, "objects": found}

    async def _container(self, call: Call) -> JsonObject:
        try:
            found = self._node.pods.container(call.params["pod"], call.params["container"], call.params["namespace"])
        except LookupError as error:
            raise NotThere(str(error)) from error
        return {"pid": found.pid, "env": found.env}

    async def _host(self, call: Call) -> JsonObject:
        return {"pid": os.getpid()}

    async def _agent(self, call: Call) -> str:
        agent, what = self._node.agent, call.params["what"]
        if what == "log":
            return "\n".join(agent.log_tail(40))
        if (agent.pid is None) is not (what == "start"):
            raise NotThere("the agent does not run" if agent.pid is None else f"the agent runs, as process {agent.pid}")
        if what == "start":
            await agent.start()
            return f"the agent runs, as process {agent.pid}"
        if what == "kill":
            await agent.kill()
            return "the agent is gone"
        return f"the agent ended with code {await agent.terminate()}"

    def _put(self, obj: JsonObject) -> str:
        metadata, plural = obj["metadata"], _plural(obj["kind"])
        namespace = "" if plural in _CLUSTER_WIDE else metadata.get("namespace") or "default"
        what = f"{obj['kind'].lower()}/{metadata.get('name') or metadata['generateName']}"
        try:
            return f"{what} {self._applying.write(obj, plural, namespace)}"
        except ApiFault as fault:
            raise NotThere(fault.message) from fault

    def _objects(self, plural: str, name: str | None) -> list[JsonObject]:
        return [obj for obj in self._node.api.list(plural) if name in (None, obj["metadata"]["name"])]


def _plural(kind: str) -> str:
    for plural, others in KINDS.items():
        if kind.lower() in (plural, *others):
            return plural
    raise NotThere(f"the sandbox knows no kind {kind}; it knows {', '.join(KINDS)}")
