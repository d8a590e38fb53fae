"""The step of the demo in which the agent dies between prepare and attach, and comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.demo_scene import Scene, lines


async def crash(scene: Scene) -> None:
    """SIGKILL while two pods are prepared; the sandbox of one starts while there is no agent."""
    story, node = scene.story, scene.node
    story.step("The agent is killed between prepare and attach, and comes back")
    scene.hold.hold("amber", "violet")
    for pool, name, address in (("uplink", "amber", "192.0.2.41/24"), ("lab", "violet", "192.0.2.42/24")):
        scene.start_pod(name, pool, {"podIfName": "net1", "addresses": [address]})
    for name in ("amber", "violet"):
        await scene.hold.arrived(name)
    story.say("Pods amber and violet are prepared: their links wait on the host, no sandbox has started.")
    scene.show_host()
    macs = {name: scene.link(name, link).mac for name, link in (("red", "net1"), ("green", "lan"))}

    pid = node.agent.pid
    await node.agent.kill()
    story.show(f"$ kill -KILL {pid}", ["the agent is gone"])
    scene.hold.let_go("violet")
    await node.until(lambda: "waiting" in scene.container_status("violet")["state"], "the container of violet waits")
    waiting = scene.container_status("violet")["state"]["waiting"]
    story.say("Pod violet's sandbox starts with nobody there to attach its device. Its container is held by the guard:")
    story.show(f"pod violet, container app waits: {waiting['reason']}", [waiting["message"]])
    story.check("the container of violet cannot be created", waiting["reason"], "CreateContainerError")
    story.check("the guard is what is missing", "/guard=" in waiting["message"], True)
    story.check("its device is not in the pod", [link.name for link in scene.pod_links("violet")], ["eth0"])
    kept = {name: scene.link(name, link).mac for name, link in (("red", "net1"), ("green", "lan"))}
    story.check("pods red and green do not notice", kept, macs)

    status = await node.agent.start()
    story.check(f"the agent is back, with process id {node.agent.pid}", status["ready"], True)
    await scene.running("violet")
    story.show("pod violet", lines([scene.link("violet", "net1")]))
    restarts = scene.container_status("violet")["restartCount"]
    story.check("violet's sandbox was repaired and its container started by itself, with no restart", restarts, 0)
    scene.hold.let_go("amber")
    await scene.running("amber")
    story.show("pod amber", lines([scene.link("amber", "net1")]))
    story.check("amber starts as if nothing had been", scene.container_status("amber")["restartCount"], 0)
    addresses = [list(scene.link(name, "net1").addresses) for name in ("violet", "amber")]
    story.check("each has its own address", addresses, [["192.0.2.42/24"], ["192.0.2.41/24"]])
    story.show("what the agent knows", _allocations(await node.agent.ask("allocations")))


def _allocations(rows: Iterable[JsonObject]) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: str(row["pods"])):
        who = f"{row['pods'][0]:<8} {row['device']:<12} {row['state']:<9} {row['attachment'] or '-':<9}"
        yield f"{who} {row['interface'] or '-':<6} {'share ' + row['share'] if row['share'] else ''}".rstrip()
