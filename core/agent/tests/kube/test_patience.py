"""A server that says nothing and an exec plugin that does not end cost so much time and no more, and are told of."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.kube.access import Access, api_client
from dragoman.kube.connecting import connected
from dragoman.kube.errors import ServerUnavailable
from dragoman.model.errors import Refused
from dragoman.patience import Patience

from .execplugin import kubeconfig


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(("quiet", "told"), [(0.0, 1), (60.0, 0)])
def test_a_silent_server_is_told_of_and_given_up(silent: str, quiet: float, told: int) -> None:
    said: list[str] = []
    patience = Patience(limit=0.2, quiet=quiet, tell=said.append)
    with (
        connected(Access(server=silent, patience=patience), manager="tests") as cluster,
        pytest.raises(ServerUnavailable),
    ):
        cluster.get("/version")
    assert said == ["the API server to answer about /version"] * told


async def test_what_work_raises_is_raised_and_what_ends_at_once_is_not_told_of() -> None:
    said: list[str] = []

    async def fail() -> None:
        raise TimeoutError("of the work itself")

    with pytest.raises(TimeoutError, match="of the work itself"):
        await Patience(quiet=0.0, tell=said.append).told("it", fail())
    await asyncio.sleep(0)
    assert said == []


async def test_an_exec_plugin_that_hangs_is_told_of_given_up_and_ended_with_what_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    said: list[str] = []

    def tell(what: str) -> None:
        said.append(what)
        assert select.select([reader], [], [], 60)[0], "the plugin has begun"
        os.read(reader, 100)

    file = kubeconfig(tmp_path, f'sh -c "sleep 1000 & echo begun; wait" > {pipe}; true')
    access = Access(kubeconfig=file, patience=Patience(limit=0.2, quiet=0.0, tell=tell))
    with pytest.raises(Refused, match=r"the kubeconfig's exec plugin gave no credentials within 0\.2 s"):
        await api_client(access, connections=1)
    assert said == ["the kubeconfig's exec plugin to give credentials"]
    assert select.select([reader], [], [], 60)[0], "nobody holds the pipe any more"
    assert os.read(reader, 1) == b""
    os.close(reader)
