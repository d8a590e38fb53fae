from __future__ import annotations

import asyncio

import pytest

from dragoman.kube.client import KubeClient
from dragoman.kube.errors import ApiError
from dragoman.kube.versions import Api, Versions
from dragoman.model.errors import Unavailable
from dragoman_testkit.sandbox.apiserver import ApiServer


@pytest.mark.parametrize(
    ("served", "chosen"),
    [
        (("v1beta1", "v1beta2", "v1"), "v1"),
        (("v1beta1", "v1beta2"), "v1beta2"),
        (("v1beta1", "v1alpha3"), "v1beta1"),
    ],
)
async def test_the_newest_version_that_both_know_is_spoken(
    server: ApiServer, versions: Versions, served: tuple[str, ...], chosen: str
) -> None:
    server.serve_versions(served)
    api = await versions.api()
    assert (api.version, api.root) == (chosen, f"/apis/resource.k8s.io/{chosen}")


async def test_discovery_happens_once_for_concurrent_callers(server: ApiServer, versions: Versions) -> None:
    await asyncio.gather(*(versions.api() for _ in range(5)))
    assert [path for _, path in server.requests] == ["/apis/resource.k8s.io", "/version"]


@pytest.mark.parametrize("served", [(), ("v1alpha3",)])
async def test_a_server_without_a_usable_version_is_unavailable(
    server: ApiServer, versions: Versions, served: tuple[str, ...]
) -> None:
    server.serve_versions(served)
    with pytest.raises(Unavailable, match="v1 or v1beta2 or v1beta1 is needed"):
        await versions.api()
    server.serve_versions(("v1",))
    assert (await versions.api()).version == "v1"


async def test_a_version_that_is_not_served_any_more_is_discovered_anew(
    server: ApiServer, client: KubeClient, versions: Versions
) -> None:
    server.serve_versions(("v1beta1",))
    first = await versions.api()
    server.serve_versions(("v1", "v1beta2"))
    asked: list[str] = []

    async def send(api: Api) -> bytes:
        asked.append(api.version)
        return await client.get(f"{api.root}/resourceslices")

    assert b"ResourceSliceList" in await versions.call(send)
    assert asked == ["v1beta1", "v1"]
    assert (await versions.api()).epoch == first.epoch + 1


async def test_a_missing_object_does_not_cost_a_discovery(
    server: ApiServer, client: KubeClient, versions: Versions
) -> None:
    with pytest.raises(ApiError):
        await versions.call(lambda api: client.get(f"{api.root}/resourceslices/absent"))
    assert [path for _, path in server.requests].count("/apis/resource.k8s.io") == 1


async def test_a_server_that_hides_its_release_is_as_old_as_its_best_version_allows(
    server: ApiServer, versions: Versions
) -> None:
    server.serve_versions(("v1beta2", "v1beta1"))
    server.faults.fail(403, path="/version", reason="Forbidden")
    assert (await versions.api()).server == (1, 33)


async def test_discovery_that_is_refused_is_unavailable(server: ApiServer, versions: Versions) -> None:
    server.faults.fail(403, path="/apis", reason="Forbidden")
    with pytest.raises(Unavailable, match="cannot be read"):
        await versions.api()


async def test_a_server_that_is_asked_again_and_is_the_same_changes_nothing(
    server: ApiServer, versions: Versions
) -> None:
    told: list[Api] = []
    versions.on_other(told.append)
    first = await versions.api()
    assert (await versions.renew(), told) == (first, [])


async def test_a_server_of_another_release_is_told_of_and_begins_an_epoch(
    server: ApiServer, versions: Versions
) -> None:
    told: list[Api] = []
    versions.on_other(told.append)
    first = await versions.api()
    server.server_version = (1, 38)
    second = await versions.renew()
    assert ((second.version, second.server), second.epoch) == (("v1", (1, 38)), first.epoch + 1)
    assert told == [second] == [await versions.api()]


@pytest.mark.parametrize("known", [True, False])
async def test_a_server_that_was_away_is_told_of_once(server: ApiServer, versions: Versions, known: bool) -> None:
    told: list[Api] = []
    versions.on_other(told.append)
    if known:
        await versions.api()
    server.faults.fail(503, path="/version", count=2)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await versions.renew()
    assert told == []
    assert [await versions.renew(), await versions.renew()] == [*told, *told]
    assert len(told) == 1
