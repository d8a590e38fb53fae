"""``python -m tests.cluster``: a node to play with, kept until it is taken down."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from loguru import logger

from dragoman.kubelet.environment import prepare_environment
from tests.cluster import agent as agents
from tests.cluster import build, cgroups, objects, runtime
from tests.cluster.agent import Agent
from tests.cluster.node import Node
from tests.cluster.spaces import Spaces
from tests.cluster.tools import Failed, environment
from tests.cluster.waiting import until

DISK = Path("/tmp/dragoman-cluster")


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
    for name, what in (("kubectl", "talk to it"), ("exec", "run a program on it"), ("dragoman", "ask its agent")):
        words.add_parser(name, help=what, add_help=False, prefix_chars="\0").add_argument("rest", nargs="*")
    given = parser.parse_args()
    try:
        sys.exit(_do(given))
    except Failed as error:
        sys.exit(str(error))


def _do(given: argparse.Namespace) -> int:
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
            return _on_node(str(build.programs() / "kubectl"), f"--kubeconfig={DISK / 'admin.kubeconfig'}", *given.rest)
        case "dragoman":
            return _on_node(sys.executable, "-m", "dragoman", "--config", str(DISK / "agent.yaml"), *given.rest)
        case "exec":
            return _on_node(*given.rest)
    return 0


def _up(*, with_agent: bool) -> None:
    if DISK.exists():
        raise Failed(f"{DISK} is there: a node runs, or did not end well; python -m tests.cluster down")
    DISK.mkdir()
    node = Node(DISK, lease=False)
    node.start()
    agents.install(node)
    for pool in agents.POOLS:
        node.api.apply(objects.device_class(pool))
    if with_agent:
        Agent(node).start()
    _say(f"Kubernetes {build.version()} runs; its logs are in {DISK / 'logs'}")
    _say("Classes: " + ", ".join(agents.POOLS) + ". Next: python -m tests.cluster kubectl get resourceslices")


def _down() -> None:
    state = DISK / "state.json"
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
        command, at=Path.cwd(), env=environment()
    )
    return process.wait()


def _quietly() -> None:
    """Have the agent's code here log nothing, and gRPC, which looks once, when it is imported, only what is broken."""
    logger.remove()
    prepare_environment()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
