"""Runs the steps of the demo on a node that is made for them."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from dragoman_testkit.sandbox import demo_crash, demo_objects, demo_steps, kernel
from dragoman_testkit.sandbox.demo_scene import Scene
from dragoman_testkit.sandbox.demo_story import Story
from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder
from dragoman_testkit.sandbox.pod_life import Pauses

Step = Callable[[Scene], Awaitable[None]]

STEPS: Sequence[Step] = (
    demo_steps.publish,
    demo_steps.attach,
    demo_steps.share,
    demo_steps.describe,
    demo_steps.refuse,
    demo_crash.crash,
    demo_steps.end,
)


def run(steps: Sequence[Step] = STEPS) -> int:
    """Run the steps in the namespaces of this process, which must be its own; give 0 or 1, the exit code."""
    began, story, folder = time.monotonic(), Story(sys.stdout), make_folder()
    story.title("Dragoman", f"a node in private namespaces; its files are in {folder}")
    try:
        all_well = asyncio.run(_run(steps, story, folder))
    finally:
        remove_folder(folder)
    if all_well:
        story.end(time.monotonic() - began)
    return 0 if all_well else 1


async def _run(steps: Sequence[Step], story: Story, folder: Path) -> bool:
    link_kind = kernel.furnish(demo_objects.UPLINKS)
    settings = demo_objects.settings(link_kind)
    async with SandboxNode(folder, settings=settings, pauses=Pauses(container=0.2)) as node:
        scene = Scene(node, story, link_kind)
        try:
            for step in steps:
                await step(scene)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is told with the agent's log
            story.failure(error, node.describe_pods(), node.agent.log_tail(40))
            return False
    return True
