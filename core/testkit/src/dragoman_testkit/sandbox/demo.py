"""``python -m dragoman_testkit.sandbox.demo``: the whole way of a device on one node, told and checked step by step.

Needs no cluster and no hardware, and no root where user namespaces are allowed. Exits with 0 if every step was as it
should be, with 1 if one differed, with 2 where the demo cannot run.
"""

from __future__ import annotations

import asyncio
import sys
import time

from dragoman.kubelet.environment import prepare_environment
from dragoman_hookspecs import DragomanError
from dragoman_testkit.sandbox import private


def main() -> int:
    """Run the demo in namespaces of its own; give the exit code."""
    try:
        private.enter()
    except DragomanError as error:
        sys.stderr.write(f"The demo cannot run: {error}\n")
        return 2
    prepare_environment()
    return asyncio.run(_run())


async def _run() -> int:
    # gRPC reads the environment when it is imported.
    from dragoman_testkit.sandbox import demo_crash, demo_objects, demo_steps, kernel  # noqa: PLC0415
    from dragoman_testkit.sandbox.demo_scene import Scene  # noqa: PLC0415
    from dragoman_testkit.sandbox.demo_story import Story  # noqa: PLC0415
    from dragoman_testkit.sandbox.node import SandboxNode, make_folder, remove_folder  # noqa: PLC0415
    from dragoman_testkit.sandbox.pod_life import Pauses  # noqa: PLC0415

    began, story, folder = time.monotonic(), Story(sys.stdout), make_folder()
    steps = (
        demo_steps.publish,
        demo_steps.attach,
        demo_steps.share,
        demo_steps.describe,
        demo_steps.refuse,
        demo_crash.crash,
        demo_steps.end,
    )
    try:
        link_kind = kernel.furnish(demo_objects.UPLINKS)
        story.title("Dragoman", f"a node in private namespaces; its files are in {folder}")
        settings = demo_objects.settings(link_kind)
        async with SandboxNode(folder, settings=settings, pauses=Pauses(container=0.2)) as node:
            try:
                scene = Scene(node, story, link_kind)
                for step in steps:
                    await step(scene)
            except Exception as error:  # noqa: BLE001  # whatever it is, it is told with the agent's log
                story.failure(error, node.describe_pods(), node.agent.log_tail(40))
                return 1
    finally:
        remove_folder(folder)
    story.end(time.monotonic() - began)
    return 0


if __name__ == "__main__":
    sys.exit(main())
