"""All pods of the node: a life for each one that the API server names."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.pod_life import Leaders, PodLife
from dragoman_testkit.sandbox.runtime import FakeSandbox
from dragoman_testkit.sandbox.runtime_container import FakeContainer


class Pods:
    """Leads the pods until ``run`` is cancelled; then their lives end where they are."""

    def __init__(self, leaders: Leaders) -> None:
        self.leaders = leaders
        self._lives: dict[str, tuple[PodLife, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Begin a life for each pod that appears. Raises what a life raises: a fault of the sandbox."""
        api = self.leaders.api
        try:
            while True:
                self._begin_and_forget()
                await api.changed(api.version)
        finally:
            tasks = [task for _, task in self._lives.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def sandbox(self, pod: str, namespace: str = "default") -> FakeSandbox:
        """Find the sandbox of a pod. Raises ``LookupError``."""
        for life, _ in self._lives.values():
            metadata = life.pod["metadata"]
            if (metadata["namespace"], metadata["name"]) == (namespace, pod) and life.sandbox:
                return life.sandbox
        raise LookupError(f"pod {namespace}/{pod} has no sandbox here")

    def container(self, pod: str, container: str = "", namespace: str = "default") -> FakeContainer:
        """Find a running container of a pod, its first one by default. Raises ``LookupError``."""
        for found in self.sandbox(pod, namespace).containers:
            if found.running and found.name == (container or found.name):
                return found
        raise LookupError(f"no container{f' {container}' if container else ''} of pod {namespace}/{pod} runs")

    def netns(self, pod: str, namespace: str = "default") -> Path:
        """Give the handle of a pod's network namespace. Raises ``LookupError``."""
        path = self.sandbox(pod, namespace).netns_path
        if path is None:
            raise LookupError(f"pod {namespace}/{pod} is in the host's network")
        return path

    def _begin_and_forget(self) -> None:
        for uid in [uid for uid, (_, task) in self._lives.items() if task.done()]:
            self._lives.pop(uid)[1].result()
        for pod in self.leaders.api.list("pods"):
            if pod["metadata"]["uid"] not in self._lives and self._is_ours(pod):
                life = PodLife(pod, self.leaders)
                self._lives[pod["metadata"]["uid"]] = life, asyncio.create_task(life.run())

    def _is_ours(self, pod: JsonObject) -> bool:
        node: str = pod["spec"].get("nodeName", self.leaders.node_name)
        return node == self.leaders.node_name
