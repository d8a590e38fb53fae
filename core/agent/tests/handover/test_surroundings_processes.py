"""A newcomer among other namespaces than the active agent: it ends with a sentence, and nothing was given up for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_hookspecs import Netns
from dragoman_kit import netns

from .processes import Agents, Process

pytestmark = pytest.mark.kernel

OTHER_NETWORK = ("unshare", "--net")
OWN_MOUNTS = ("unshare", "--mount")


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Netns]:
    """Give the namespace of a pod with a path that a runtime would have mounted."""
    folder = tmp_path / "netns"
    folder.mkdir()
    path = str(folder / "cni-1")
    yield netns.create(path)
    netns.remove(path)


def without(folder: Path) -> tuple[str, ...]:
    """Give what runs a command where the folder is an empty one."""
    return (*OWN_MOUNTS, "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(folder))


async def serving(agents: Agents, pod: Netns) -> Process:
    agent = await agents.start("old")
    await agent.ask("attach", {"path": pod.path, "cookie": pod.cookie})
    return agent


async def test_a_newcomer_in_another_network_namespace_ends_and_the_active_agent_gave_up_nothing(
    agents: Agents, pod: Netns
) -> None:
    old = await serving(agents, pod)
    code, told = await (await agents.start("new", until="started", under=OTHER_NETWORK)).ends()
    assert code == 1
    assert f"this agent is in another network namespace than the active one (process {old.pid}), so " in told
    assert "hostNetwork: true" in told
    assert await old.ask("state") == ["active", ""]


async def test_a_newcomer_that_does_not_see_the_namespace_of_a_running_pod_ends_and_names_it(
    agents: Agents, pod: Netns
) -> None:
    old = await serving(agents, pod)
    folder = Path(pod.path).parent
    code, told = await (await agents.start("new", until="started", under=without(folder))).ends()
    assert code == 1
    assert f"does not see the network namespace {pod.path} of pod default/web, " in told
    assert f"mount {folder} of the host into it, with mountPropagation: HostToContainer" in told
    assert await old.ask("state") == ["active", ""]


async def test_a_newcomer_with_mounts_of_its_own_that_sees_the_pods_takes_over(agents: Agents, pod: Netns) -> None:
    old = await serving(agents, pod)
    new = await agents.start("new", under=OWN_MOUNTS)
    assert [await old.state(), await new.state()] == ["passive", "active"]


async def test_a_newcomer_need_not_see_the_namespace_of_a_pod_that_has_ended(agents: Agents, pod: Netns) -> None:
    old = await serving(agents, pod)
    netns.remove(pod.path)
    new = await agents.start("new", under=without(Path(pod.path).parent))
    assert [await old.state(), await new.state()] == ["passive", "active"]


async def test_after_one_that_was_refused_the_next_newcomer_takes_over(agents: Agents, pod: Netns) -> None:
    old = await serving(agents, pod)
    await (await agents.start("wrong", until="started", under=OTHER_NETWORK)).ends()
    new = await agents.start("right")
    assert [await old.state(), await new.state()] == ["passive", "active"]
