"""``python -m tests.cluster``: a node to play with, kept until it is taken down."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from loguru import logger

from dragoman.kubelet.environment import prepare_environment
from tests.cluster import agent as agents
from tests.cluster import build, cgroups, image, objects, runtime
from tests.cluster.agent import Agent
from tests.cluster.node import Node
from tests.cluster.spaces import Spaces
from tests.cluster.tools import Failed, environment
from tests.cluster.waiting import until

DISK = Path("/tmp/dragoman-cluster")
_FORWARDED: Mapping[str, str] = {
    "kubectl": "talk to it",
    "exec": "run a program on it",
    "dragoman": "ask its agent, or its API server",
}


def main() -> None:
    """Do what the words say."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("build", help="get all programs, and start nothing")
    up = words.add_parser("up", help="start a node, with the agent and a class for each of its pools")
    up.add_argument("--no-agent", action="store_true", help="with everything but the agent")
    words.add_parser("down", help="end it; nothing is left")
    words.add_parser("record", help="write the golden files of the tests of the wire anew, from a node of its own")
    words.add_parser("bench", help="measure the agent on a node of its own")
    for name, what in _FORWARDED.items():
        words.add_parser(name, help=what)
    # What follows these words is for the program, also its --help and --.
    given = parser.parse_args(sys.argv[1:2] if _FORWARDED.keys() & sys.argv[1:2] else None)
    try:
        sys.exit(_do(given, sys.argv[2:]))
    except Failed as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _do(given: argparse.Namespace, rest: Sequence[str]) -> int:
    match given.word:
        case "build":
            _say(f"{build.programs()}\n{runtime.installed()}")
        case "up":
            _up(with_agent=not given.no_agent)
        case "down":
            _down()
        case "record":
            _quietly()
            from tests.cluster import record  # noqa: PLC0415  # see _quietly

            record.record()
        case "bench":
            _quietly()
            from tests.cluster import bench  # noqa: PLC0415  # see _quietly

            return bench.bench()
        case "kubectl":
            return _on_node(str(build.programs() / "kubectl"), *rest)
        case "dragoman":
            settings = ["--config", str(DISK / "agent.yaml")] if (DISK / "agent.yaml").exists() else []
            return _on_node(sys.executable, "-m", "dragoman", *settings, *rest)
        case "exec":
            return _on_node(*rest)
    return 0


def _up(*, with_agent: bool) -> None:
    if DISK.exists():
        raise Failed(f"{DISK} is there: a node runs, or did not end well; python -m tests.cluster down")
    DISK.mkdir()
    node = None
    try:
        node = Node(DISK, lease=False)
        _start(node, with_agent=with_agent)
    except BaseException as error:
        if isinstance(error, AssertionError) and (DISK / "state.json").exists():
            raise Failed(f"{error}\nThe logs are in {DISK / 'logs'}; python -m tests.cluster down ends it") from error
        if node:
            node.stop()
        _down()
        raise
    _say(f"Kubernetes {build.version()} runs; its logs are in {DISK / 'logs'}")
    _say("Classes: " + ", ".join(agents.POOLS) + f". There is no registry: the image of all pods is {image.BUSYBOX}")
    _say(f"Next: python -m tests.cluster kubectl apply -f {DISK / 'example.yaml'}")


def _start(node: Node, *, with_agent: bool) -> None:
    node.start()
    agents.install(node)
    for pool in agents.POOLS:
        node.api.apply(objects.device_class(pool))
    parameters = objects.config({"podIfName": "net1", "addresses": ["192.0.2.10/24"]}, "net")
    example = [
        objects.template("example", objects.request("net", agents.POOLS[0]), config=[parameters]),
        objects.pod("example", objects.of_template("example")),
    ]
    (DISK / "example.yaml").write_text(yaml.safe_dump_all(example, sort_keys=False))
    if with_agent:
        Agent(node).start()


def _down() -> None:
    state = DISK / "state.json"
    if not DISK.exists():
        _say("no node runs")
    if state.exists():
        known = json.loads(state.read_text())
        process = Path(f"/proc/{known['pid']}")
        if process.exists() and str(DISK) in (process / "cmdline").read_text():
            os.kill(known["pid"], signal.SIGKILL)
            until(lambda: not process.exists(), "the node has ended")
        cgroups.remove([Path(folder) for folder in known["cgroups"]])
    shutil.rmtree(DISK, ignore_errors=True)


def _on_node(*command: str) -> int:
    state = DISK / "state.json"
    if not state.exists():
        raise Failed("no node runs: python -m tests.cluster up")
    process: subprocess.Popen[bytes] = Spaces(json.loads(state.read_text())["pid"]).start(
        command, at=Path.cwd(), env=environment(KUBECONFIG=str(DISK / "admin.kubeconfig"))
    )
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        # Ctrl-C is for the program, which hears it as well.
        with contextlib.suppress(KeyboardInterrupt):
            code = process.wait()
            return code if code >= 0 else 128 - code


def _quietly() -> None:
    """Have the agent's code here log nothing, and gRPC, which looks once, when it is imported, only what is broken."""
    logger.remove()
    prepare_environment()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
