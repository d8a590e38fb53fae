"""What the steps of the demo look at: pods, claims, slices, the kernel."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects, kernel
from dragoman_testkit.sandbox.demo_story import Differs, Story
from dragoman_testkit.sandbox.kernel import LinkView
from dragoman_testkit.sandbox.node import SandboxNode


class Hold:
    """Holds pods between prepare and their sandbox, until they are let go."""

    def __init__(self) -> None:
        self._arrived: dict[str, asyncio.Event] = {}
        self._free: dict[str, asyncio.Event] = {}

    async def __call__(self, pod: JsonObject) -> None:
        """Hold the pod if that was asked for."""
        name = pod["metadata"]["name"]
        if name in self._free:
            self._arrived[name].set()
            await self._free[name].wait()

    def hold(self, *names: str) -> None:
        """Hold these pods when they come."""
        for name in names:
            self._arrived[name], self._free[name] = asyncio.Event(), asyncio.Event()

    async def arrived(self, name: str) -> None:
        """Wait until the pod is prepared and held."""
        async with asyncio.timeout(60):
            await self._arrived[name].wait()

    def let_go(self, name: str) -> None:
        """Let the pod go on."""
        self._free[name].set()


class Scene:
    """The node and the story that is told of it."""

    def __init__(self, node: SandboxNode, story: Story, link_kind: str) -> None:
        self.node = node
        self.story = story
        self.link_kind = link_kind
        self.hold = Hold()
        self.links_before = host_links()
        node.pods.leaders.before_sandbox = self.hold

    def apply(self, *objects: JsonObject) -> None:
        """Create objects."""
        for obj in objects:
            self.node.api.create(obj)

    def start_pod(self, name: str, pool: str, parameters: Mapping[str, Any]) -> None:
        """Create a template for a device of a pool, and a pod with a claim from it."""
        self.apply(demo_objects.template(name, pool, parameters), demo_objects.pod(name, name))

    async def running(self, *names: str) -> None:
        """Wait until the pods run."""
        await self.node.until(
            lambda: all(self.pod(name)["status"].get("phase") == "Running" for name in names),
            f"pod {', '.join(names)} runs",
        )

    def pod(self, name: str) -> JsonObject:
        """Read a pod, with an empty status at least."""
        return {"status": {}, **self.node.api.get("pods", name, "default")}

    def container_status(self, name: str) -> JsonObject:
        """Read the status of a pod's container."""
        statuses = self.pod(name)["status"].get("containerStatuses") or [{"state": {}}]
        status: JsonObject = statuses[0]
        return status

    def claim(self, pod: str) -> JsonObject:
        """Read the claim of a pod."""
        name = self.pod(pod)["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
        return self.node.api.get("resourceclaims", name, "default")

    def result(self, pod: str) -> JsonObject:
        """Read what the pod's claim was given."""
        result: JsonObject = self.claim(pod)["status"]["allocation"]["devices"]["results"][0]
        return result

    async def condition(self, pod: str, type_: str, status: str) -> JsonObject:
        """Wait until the device of a pod's claim has a condition, and give its status entry."""

        def entry() -> JsonObject:
            entries = self.claim(pod)["status"].get("devices") or [{}]
            found: JsonObject = entries[0]
            return found

        def holds() -> bool:
            return any((c["type"], c["status"]) == (type_, status) for c in entry().get("conditions") or ())

        await self.node.until(holds, f"condition {type_} of the claim of pod {pod} becomes {status}")
        return entry()

    def link(self, pod: str, name: str) -> LinkView:
        """Ask the kernel for a link in a pod. Raises ``Differs`` where there is none."""
        found = self.pod_links(pod)
        for link in found:
            if link.name == name:
                return link
        raise Differs(f"link {name} is in pod {pod}", name, [link.name for link in found])

    def pod_links(self, pod: str) -> Sequence[LinkView]:
        """Ask the kernel for the links in a pod that are not ``lo``."""
        path = self.node.pods.netns(pod)
        return [link for link in kernel.links(path) if link.name != "lo"]

    def sysctl(self, pod: str, interface: str, leaf: str) -> str:
        """Ask the kernel for an IPv4 sysctl of a link in a pod."""
        return kernel.sysctl(self.node.pods.netns(pod), "ipv4", interface, leaf)

    def show_host(self) -> None:
        """Show the links of the host, without the runtime's ends of pods' own networks."""
        views = [link for link in kernel.links() if not link.name.startswith("veth") and not _is_wire(link)]
        self.story.show("the host", lines(views))

    async def run(self, *arguments: str) -> str:
        """Run a command of ``dragoman`` as a user would, and give what it writes. Raises ``Differs`` if it fails."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "dragoman",
            *arguments,
            env={**os.environ, "DRAGOMAN_CONFIG": str(self.node.settings_file)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        if process.returncode:
            raise Differs(f"dragoman {' '.join(arguments)} works", 0, output.decode())
        return output.decode()


def host_links() -> list[str]:
    """Name the links of the host."""
    return sorted(link.name for link in kernel.links())


def lines(links: Iterable[LinkView]) -> list[str]:
    """Give links in aligned lines."""
    return [line for link in links for line in link.lines()]


def _is_wire(link: LinkView) -> bool:
    return link.name == "lo" or link.name.endswith("-wire")
