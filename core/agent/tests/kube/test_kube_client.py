from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.kube.access import Access
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError, ServerUnavailable, failure
from dragoman.kube.slice_cache import SliceList
from dragoman.model.errors import Unavailable
from dragoman_testkit.sandbox.apiserver import ApiServer, Cause

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


@contextmanager
def silent_server() -> Iterator[str]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_an_answer_is_raw_bytes_and_each_request_is_counted(server: ApiServer, client: KubeClient) -> None:
    server.create(NODE)
    assert b'"name": "n1"' in await client.get("/api/v1/nodes/n1")
    await client.get("/api/v1/nodes", {"fieldSelector": "metadata.name=n1"})
    assert client.requests == 2
    assert server.requests == [("get", "/api/v1/nodes/n1"), ("list", "/api/v1/nodes")]


@pytest.mark.parametrize("path", ["/apis/resource.k8s.io/v7/resourceslices", "/apis/unknown.example.com/v1/things"])
async def test_a_missing_object_and_a_path_that_is_not_served_are_told_apart(client: KubeClient, path: str) -> None:
    with pytest.raises(ApiError) as missing:
        await client.get("/api/v1/nodes/n1")
    with pytest.raises(ApiError) as unknown:
        await client.get(path)
    assert (missing.value.status, missing.value.reason, missing.value.not_served) == (404, "NotFound", False)
    assert (unknown.value.status, unknown.value.not_served) == (404, True)


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_an_answer_that_says_not_now_is_unavailable_and_keeps_retry_after(
    server: ApiServer, client: KubeClient, status: int
) -> None:
    server.faults.fail(status, message="overloaded", retry_after=7)
    with pytest.raises(ServerUnavailable, match="overloaded") as caught:
        await client.get("/version")
    assert (caught.value.status, caught.value.retry_after) == (status, 7.0)
    assert client.requests == 1


async def test_a_refusal_carries_its_causes(server: ApiServer, client: KubeClient) -> None:
    server.faults.fail(422, reason="Invalid", message="no", causes=[Cause("spec.x", "FieldValueInvalid", "bad")])
    with pytest.raises(ApiError) as caught:
        await client.request("POST", SLICES, body={"kind": "ResourceSlice"})
    assert [(c.field, c.reason, c.message) for c in caught.value.causes] == [("spec.x", "FieldValueInvalid", "bad")]


async def test_nobody_listening_is_unavailable() -> None:
    with socket.socket() as deaf:  # as long as it holds the port nobody else listens there
        deaf.bind(("127.0.0.1", 0))
        async with KubeClient(Access(server=f"http://127.0.0.1:{deaf.getsockname()[1]}")) as client:
            with pytest.raises(Unavailable, match="cannot be reached"):
                await client.get("/version")


async def test_a_server_that_fails_in_tls_is_unavailable_to_requests_and_watches(server: ApiServer) -> None:
    # It answers in plain text, which no TLS client understands.
    async with KubeClient(Access(server=server.url.replace("http:", "https:"))) as client:
        with pytest.raises(Unavailable, match=r"cannot be reached: .*SSL"):
            await client.get("/version")
        async with asyncio.timeout(60), client.watch(SLICES, {"watch": "true"}, silence=60) as events:
            with pytest.raises(Unavailable, match=r"cannot be reached: .*SSL"):
                await anext(aiter(events))


async def test_a_request_that_is_never_answered_is_unavailable() -> None:
    with silent_server() as url:
        async with KubeClient(Access(server=url), timeout=0.1) as client:
            with pytest.raises(Unavailable):
                await client.get("/version")


async def test_requests_that_wait_for_a_thread_are_bounded_too() -> None:
    with silent_server() as url:
        async with KubeClient(Access(server=url), timeout=0.1, threads=1) as client:
            results = await asyncio.gather(*(client.get("/version") for _ in range(3)), return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)


async def test_an_answer_that_is_not_the_expected_json_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        decode("list", b"<html>proxy</html>", SliceList)
    with pytest.raises(Unavailable, match="cannot be read"):
        decode("list", b'{"items": 4}', SliceList)


async def test_a_read_survives_that_the_server_closed_the_kept_connection(
    server: ApiServer, client: KubeClient
) -> None:
    await client.get("/version")
    await server.stop(for_now=True)
    await server.start()
    assert b"1.37" in await client.get("/version")


async def test_a_closed_client_says_so_at_once(server: ApiServer, client: KubeClient) -> None:
    await client.aclose()
    with pytest.raises(Unavailable, match="was closed"):
        await client.get("/version")
    assert server.requests == []


async def test_a_hundred_clients_with_watches_leave_no_thread_behind(server: ApiServer) -> None:
    others = set(threading.enumerate())  # those of former tests may wait for an answer still
    for _ in range(100):
        async with KubeClient(Access(server=server.url)) as client:
            await client.get("/version")
            async with client.watch(SLICES, {"watch": "true"}, silence=60):
                pass
    left = [thread for thread in set(threading.enumerate()) - others if thread.name.startswith("kube")]
    for thread in left:
        await asyncio.to_thread(thread.join, 60)
    assert not any(thread.is_alive() for thread in left)


async def test_stopping_ends_an_idle_watch_at_once(server: ApiServer) -> None:
    client = KubeClient(Access(server=server.url))
    await client.connect()
    seen: list[str] = []

    async def follow() -> None:
        async with client.watch(SLICES, {"watch": "true"}, silence=600) as events:
            seen.extend([event.type async for event in events])

    task = asyncio.create_task(follow())
    await server.until(lambda: bool(server.requests))
    await client.aclose()
    await task
    assert seen == []


@pytest.mark.parametrize("what", ["request", "watch"])
def test_a_process_with_a_pending_call_ends_without_waiting_for_it(what: str, tmp_path: Path) -> None:
    script = tmp_path / "pending.py"
    script.write_text(
        textwrap.dedent("""
        import asyncio, sys
        from dragoman.kube.access import Access
        from dragoman.kube.client import KubeClient

        async def follow(client):
            async with client.watch("/version", {}, silence=3600) as events:
                async for event in events:
                    pass

        async def main():
            client = KubeClient(Access(server=sys.argv[1]), timeout=3600)
            await client.connect()
            call = follow(client) if sys.argv[2] == "watch" else client.get("/version")
            task = asyncio.ensure_future(call)
            while not client.requests:
                await asyncio.sleep(0)
            task.cancel()

        asyncio.run(main())
        """)
    )
    with silent_server() as url:
        done = subprocess.run([sys.executable, str(script), url, what], timeout=100, check=False)
    assert done.returncode == 0


async def test_a_kubeconfig_names_server_and_token(server: ApiServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        textwrap.dedent(f"""
        apiVersion: v1
        kind: Config
        current-context: c
        contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
        clusters: [{{name: k, cluster: {{server: "{server.url}"}}}}]
        users: [{{name: u, user: {{token: secret}}}}]
        """)
    )
    async with KubeClient(Access(kubeconfig=config)) as client:
        assert b"1.37" in await client.get("/version")
    assert server.authorizations == ["Bearer secret"]


def test_a_refusal_that_names_nothing_names_the_request() -> None:
    plain = failure("GET /apis/a/v1/things", 404, {}, b"404 page not found")
    about = failure(
        "GET /x", 404, {}, b'{"reason": "NotFound", "message": "things \\"a\\" not found", "details": {"kind": "t"}}'
    )
    silent = failure("GET /x", 302, {}, b"")
    assert str(plain) == "GET /apis/a/v1/things: the API server answered 404: 404 page not found"
    assert str(about) == 'the API server answered 404 NotFound: things "a" not found'
    assert str(silent) == "GET /x: the API server answered 302"
