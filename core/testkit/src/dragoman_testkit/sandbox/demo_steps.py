"""The steps of the demo while the agent lives: publish, attach, share, describe, refuse, and leave nothing."""

from __future__ import annotations

import asyncio
import sys

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects
from dragoman_testkit.sandbox.demo_scene import Scene, host_links, lines
from dragoman_testkit.sandbox.node import DRIVER

_LISTEN = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 4096))
s.settimeout(60)
text, peer = s.recvfrom(99)
s.sendto(b"heard", peer)
print(text.decode(), "from", peer[0])
"""
_SPEAK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.1)
for _ in range(600):
    s.sendto(b"hello", (sys.argv[1], 4096))
    try:
        print(s.recv(99).decode())
        break
    except OSError:
        pass
"""


async def publish(scene: Scene) -> None:
    """Start the agent; its devices appear in the API server."""
    story, node = scene.story, scene.node
    story.step("The agent starts, and publishes what the node has")
    scene.show_host()
    status = await node.agent.start()
    await node.until(lambda: len(_devices(scene)) == 7, "7 devices are published")
    runtime = f"{status['nri']['runtimeName']} {status['nri']['runtimeVersion']}"
    story.check(
        f"the agent is registered with the kubelet and connected to the runtime, {runtime}", status["ready"], True
    )
    story.show("$ dragoman devices", (await scene.run("devices")).splitlines())
    published = {device["name"]: _pool(device) for device in _devices(scene)}
    expected = {f"dummy{index}": "lab" for index in range(4)}
    expected |= {"uplink0-mv0": "uplink", "uplink0-mv1": "uplink", "uplink1-mv": "shared"}
    story.check("the ResourceSlices name 7 devices in three pools", published, expected)
    scene.apply(
        demo_objects.device_class("lab", {"mtu": 1400}),
        demo_objects.device_class("uplink"),
        demo_objects.device_class("shared"),
    )


async def attach(scene: Scene) -> None:
    """Two pods get devices of their own."""
    story = scene.story
    story.step("Two pods get a device of their own")
    story.say("Each claim asks a class for one device and says how it shall look in the pod; red's class adds an MTU.")
    route = {"destination": "198.51.100.0/24", "gateway": "192.0.2.1"}
    sysctl = {"forwarding": "1"}
    scene.start_pod(
        "red",
        "lab",
        {"podIfName": "net1", "addresses": ["192.0.2.10/24"], "routes": [route], "interfaceSysctlIPv4": sysctl},
    )
    scene.start_pod(
        "green",
        "uplink",
        {"podIfName": "lan", "addresses": ["203.0.113.20/24"], "routes": [{"destination": "198.51.100.0/24"}]},
    )
    await scene.running("red", "green")
    for name in ("red", "green"):
        story.show(f"pod {name}, device {scene.result(name)['device']}", lines(scene.pod_links(name)))
    red, green = scene.link("red", "net1"), scene.link("green", "lan")
    forwarding = scene.sysctl("red", "net1", "forwarding")
    story.show("pod red, sysctl", [f"net.ipv4.conf.net1.forwarding = {forwarding}"])
    story.check(
        f"pod red has its {scene.link_kind} link as net1: up, address, route and sysctl of the claim, MTU of the class",
        (red.kind, red.up, red.mtu, list(red.addresses), list(red.routes), forwarding),
        (scene.link_kind, True, 1400, ["192.0.2.10/24"], ["198.51.100.0/24 via 192.0.2.1"], "1"),
    )
    story.check(
        "pod green has its macvlan link as lan: up, with address and route",
        (green.kind, green.up, list(green.addresses), list(green.routes)),
        ("macvlan", True, ["203.0.113.20/24"], ["198.51.100.0/24"]),
    )
    entry = await scene.condition("red", "NetworkReady", "True")
    seen = {"interfaceName": "net1", "hardwareAddress": red.mac, "ips": ["192.0.2.10/24"]}
    story.check(
        "the claim's status tells the same: NetworkReady, with what the kernel shows", entry["networkData"], seen
    )


async def share(scene: Scene) -> None:
    """Two claims get shares of one device."""
    story = scene.story
    story.step("Two pods share one uplink")
    story.say("uplink1 is one device that several claims may have; it has room for four links.")
    for index, name in enumerate(("blue", "cyan")):
        scene.start_pod(name, "shared", {"podIfName": "net1", "addresses": [f"192.0.2.{index + 31}/24"]})
    await scene.running("blue", "cyan")
    for name in ("blue", "cyan"):
        story.show(f"pod {name}, share {scene.result(name)['shareID']}", lines([scene.link(name, "net1")]))
    results = [scene.result(name) for name in ("blue", "cyan")]
    story.check("both claims have the same device", {result["device"] for result in results}, {"uplink1-mv"})
    story.check("with a share of its own each", len({result["shareID"] for result in results}), 2)
    views: list[JsonObject] = await scene.node.agent.ask("devices")
    left = next(view["capacity"]["links"] for view in views if view["device"] == "uplink1-mv")
    story.check("2 of 4 links are left", left, {"total": "4", "free": "2"})
    blue, cyan = (scene.node.pods.container(name) for name in ("blue", "cyan"))
    listening = asyncio.create_task(blue.exec(sys.executable, "-c", _LISTEN, "192.0.2.31"))
    answer = await cyan.exec(sys.executable, "-c", _SPEAK, "192.0.2.31")
    heard = (answer.strip(), (await listening).strip())
    story.check("and they reach each other over it: pod blue hears hello", heard, ("heard", "hello from 192.0.2.32"))


async def describe(scene: Scene) -> None:
    """A container reads what it was given."""
    story = scene.story
    story.step("A container is told what it got")
    story.say("The files are mounted into the container; dragoman-metadata reads them without any agent or API server.")
    command = (sys.executable, "-m", "dragoman_metadata.cli", "show", "--pod-claim", "nic")
    container = scene.node.pods.container("red")
    story.show("pod red $ dragoman-metadata show --pod-claim nic", (await container.exec(*command)).splitlines())
    interface = (await container.exec(*command, "--get", "interface")).strip()
    pool = (await container.exec(*command, "--get", "pool")).strip()
    mac = (await container.exec(*command, "--get", "mac")).strip()
    story.check("interface and MAC are those of the kernel", (interface, mac), ("net1", scene.link("red", "net1").mac))
    story.check("the pool of the slices is the node's", pool, scene.node.name)


async def refuse(scene: Scene) -> None:
    """A claim with bad parameters is refused before anything is made."""
    story, node = scene.story, scene.node
    story.step("A claim with bad parameters is refused")
    before = host_links()
    bad = {"podIfName": "a-name-of-far-too-many-letters", "vlan": 5000, "adresses": ["192.0.2.66/24"]}
    scene.start_pod("gray", "lab", bad)
    await node.until(lambda: bool(_events(scene, "gray")), "the refusal is told as an event")
    message = _events(scene, "gray")[0]["message"]
    story.show("pod gray, event FailedPrepareDynamicResources", [message])
    story.check("the event names every fault by its key", [key for key in bad if key in message], list(bad))
    story.check("no link was made", host_links(), before)
    node.api.delete("pods", "gray", "default", grace_seconds=None)
    await node.until(lambda: not _exists(scene, "gray"), "pod gray is gone")


async def end(scene: Scene) -> None:
    """All pods end, and nothing is left."""
    story, node = scene.story, scene.node
    story.step("The pods end, and nothing is left")
    slices = _slice_versions(scene)
    await node.drain()
    await node.until(lambda: _slice_versions(scene) == slices, "the slices are as before")
    story.check("no link but those of the beginning", host_links(), scene.links_before)
    scene.show_host()
    story.check("no network namespace", list(node.netns_dir.iterdir()), [])
    story.check("no row in the ledger", await node.agent.ask("allocations"), [])
    files = [path.name for folder in (node.cdi_dir, node.state_dir) for path in folder.rglob("*.json")]
    story.check("no CDI spec, guard or metadata file", files, [])
    story.check("no claim in the API server", node.api.list("resourceclaims"), [])
    story.check("the agent ends with code 0", await node.agent.terminate(), 0)
    story.check("and its slices stay, untouched, for the next one", _slice_versions(scene), slices)


def _devices(scene: Scene) -> list[JsonObject]:
    return [d for slice_ in scene.node.api.list("resourceslices") for d in slice_["spec"].get("devices") or ()]


def _pool(device: JsonObject) -> str:
    attributes = device["attributes"]
    value: str = (attributes.get("pool") or attributes.get(f"{DRIVER}/pool") or {}).get("string", "")
    return value


def _slice_versions(scene: Scene) -> dict[str, str]:
    return {s["metadata"]["uid"]: s["metadata"]["resourceVersion"] for s in scene.node.api.list("resourceslices")}


def _events(scene: Scene, pod: str) -> list[JsonObject]:
    events = scene.node.api.list("events", "default")
    return [
        event
        for event in events
        if event["reason"].startswith("FailedPrepare") and event["involvedObject"]["name"] == pod
    ]


def _exists(scene: Scene, pod: str) -> bool:
    return any(found["metadata"]["name"] == pod for found in scene.node.api.list("pods"))
