"""The kubelet stand-in's claims, health and pod resources, against the real edge."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman.kubelet._proto import dra_v1_pb2, health_v1_pb2, podresources_pb2, registration_pb2
from dragoman.kubelet.listener import Listener
from dragoman.kubelet.podresources import PodResourcesClient
from dragoman.kubelet.rpc import service
from dragoman.model.claims import ClaimRef, PrepareAnswer, PreparedDevice
from dragoman_hookspecs import Health, HealthReport
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.kubelet import ContainerSpec, FakeKubelet, PodSpec, PrepareFailed, UnprepareFailed
from dragoman_testkit.sandbox.kubelet.health import HealthCache


def pod(name: str, *refs: ClaimRef, containers: tuple[ContainerSpec, ...] = ()) -> PodSpec:
    claims = tuple((f"nic{number}", ref) for number, ref in enumerate(refs))
    return PodSpec(uid=f"uid-{name}", namespace="team", name=name, claims=claims, containers=containers)


def device(name: str, *ids: str, requests: tuple[str, ...] = ("uplink",), share: str | None = None) -> PreparedDevice:
    return PreparedDevice(requests=requests, pool="node-7", device=name, cdi_device_ids=ids, share_id=share)


def answer(rig: Any, **devices: tuple[PreparedDevice, ...]) -> None:
    rig.claims.answers |= {f"uid-{name}": PrepareAnswer(devices=found) for name, found in devices.items()}
    rig.claims.errors |= {f"uid-{name}": "" for name in devices}


def methods(kubelet: FakeKubelet) -> list[tuple[str, tuple[str, ...]]]:
    return [(method, uids) for _driver, method, uids in kubelet.calls]


async def test_claims_of_a_pod_are_one_batch_and_are_prepared_once_in_a_life(
    rig: Any, kubelet: Any, cluster: Any
) -> None:
    refs = [cluster.add(name, "web", "db") for name in ("two", "one")]
    answer(rig, one=(device("a"),), two=(device("b"),))
    async with rig.registered(kubelet):
        await kubelet.prepare_pod(pod("web", *refs))
        await kubelet.prepare_pod(pod("web", *refs))
        await kubelet.prepare_pod(pod("db", refs[1]))
        assert methods(kubelet) == [("NodePrepareResources", ("uid-two", "uid-one"))]


async def test_unprepare_comes_with_the_last_pod_of_a_claim(rig: Any, kubelet: Any, cluster: Any) -> None:
    ref = cluster.add("one", "web", "db")
    answer(rig, one=(device("a"),))
    async with rig.registered(kubelet):
        for name in ("web", "db"):
            await kubelet.prepare_pod(pod(name, ref))
        await kubelet.unprepare_pod(pod("web", ref))
        assert len(kubelet.calls) == 1
        await kubelet.unprepare_pod(pod("db", ref))
        await kubelet.unprepare_pod(pod("db", ref))
        assert methods(kubelet)[1:] == [("NodeUnprepareResources", ("uid-one",))]


async def test_a_new_life_keeps_devices_and_prepares_again_for_the_next_sandbox(
    rig: Any, kubelet: Any, cluster: Any
) -> None:
    web = pod("web", cluster.add("one", "web"), containers=(ContainerSpec(name="app", claims=(("nic0", None),)),))
    answer(rig, one=(device("a", "nic.example.com/nic=a"),))
    async with rig.registered(kubelet) as edge:
        await kubelet.prepare_pod(web)
        await kubelet.restart()
        assert kubelet.cdi_devices(web, "app") == ["nic.example.com/nic=a"]
        await edge.registration.wait(lambda state: state.asked == 2)
        await kubelet.registered("nic.example.com")
        assert kubelet.calls == []
        await kubelet.prepare_pod(web)
        assert methods(kubelet) == [("NodePrepareResources", ("uid-one",))]
        assert kubelet.cdi_devices(web, "app") == ["nic.example.com/nic=a"]


async def test_one_failed_claim_fails_the_pod_with_its_text_and_all_are_sent_again(
    rig: Any, kubelet: Any, cluster: Any
) -> None:
    refs = [cluster.add(name, "web") for name in ("good", "bad")]
    answer(rig, good=(device("a"),))
    rig.claims.answers["uid-bad"] = PrepareAnswer(error="vlan 5000 is not in 0-4094")
    async with rig.registered(kubelet):
        for _ in range(2):
            with pytest.raises(PrepareFailed, match=r"claim team/bad: vlan 5000 is not in 0-4094"):
                await kubelet.prepare_pod(pod("web", *refs))
    assert methods(kubelet) == [("NodePrepareResources", ("uid-good", "uid-bad"))] * 2


async def test_a_pod_whose_prepare_failed_can_be_deleted(rig: Any, kubelet: Any, cluster: Any) -> None:
    web = pod("web", cluster.add("one", "web"))
    rig.claims.answers["uid-one"] = PrepareAnswer(error="no such device")
    rig.claims.errors["uid-one"] = ""
    async with rig.registered(kubelet):
        with pytest.raises(PrepareFailed):
            await kubelet.prepare_pod(web)
        await kubelet.unprepare_pod(web)
    assert [ref.uid for ref in rig.claims.unprepared[0]] == ["uid-one"]
    assert kubelet.pods == {}


async def test_a_claim_under_two_names_of_a_pod_counts_as_skipped(rig: Any, kubelet: Any, cluster: Any) -> None:
    ref = cluster.add("one", "web")
    answer(rig, one=(device("a"),))
    async with rig.registered(kubelet):
        with pytest.raises(PrepareFailed, match="skipped 1"):
            await kubelet.prepare_pod(pod("web", ref, ref))


async def test_a_failed_unprepare_refuses_new_pods_until_it_succeeded(rig: Any, kubelet: Any, cluster: Any) -> None:
    ref = cluster.add("one", "web", "db")
    answer(rig, one=(device("a"),))
    async with rig.registered(kubelet):
        await kubelet.prepare_pod(pod("web", ref))
        rig.claims.errors["uid-one"] = "a is busy"
        with pytest.raises(UnprepareFailed, match="a is busy"):
            await kubelet.unprepare_pod(pod("web", ref))
        with pytest.raises(PrepareFailed, match="being unprepared"):
            await kubelet.prepare_pod(pod("db", ref))
        rig.claims.errors["uid-one"] = ""
        await kubelet.unprepare_pod(pod("web", ref))
        await kubelet.prepare_pod(pod("db", ref))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("missing", "claim team/bad: not found"),
        ("replaced", "another UID, uid-new"),
        ("not reserved", "is not allowed to use ResourceClaim bad"),
        ("not allocated", "not allocated"),
        ("driver", "driver other.example.com is not registered"),
    ],
)
async def test_a_claim_that_cannot_be_used_is_refused_before_anything_is_sent(
    rig: Any, kubelet: Any, cluster: Any, fault: str, told: str
) -> None:
    refs = [cluster.add("good", "web"), cluster.add("bad", "web")]
    claim = cluster.claims["team", "bad"]
    match fault:
        case "missing":
            cluster.claims.pop(("team", "bad"))
        case "replaced":
            claim["metadata"]["uid"] = "uid-new"
        case "not reserved":
            claim["status"]["reservedFor"] = []
        case "not allocated":
            claim["status"].pop("allocation")
        case "driver":
            cluster.add("bad", "web", driver="other.example.com")
    async with rig.registered(kubelet):
        with pytest.raises(PrepareFailed, match=told):
            await kubelet.prepare_pod(pod("web", *refs))
    assert kubelet.calls == []


async def test_the_same_name_with_a_new_uid_waits_for_the_old_claim(rig: Any, kubelet: Any, cluster: Any) -> None:
    answer(rig, one=(device("a"),))
    async with rig.registered(kubelet):
        old = cluster.add("one", "web")
        await kubelet.prepare_pod(pod("web", old))
        cluster.add("one", "db")
        cluster.claims["team", "one"]["metadata"]["uid"] = "uid-new"
        new = ClaimRef(uid="uid-new", namespace="team", name="one")
        with pytest.raises(PrepareFailed, match="older claim of that name, uid-one"):
            await kubelet.prepare_pod(pod("db", new))


async def test_a_container_gets_the_ids_of_its_requests_only(rig: Any, kubelet: Any, cluster: Any) -> None:
    containers = (
        ContainerSpec(name="one", claims=(("nic0", "uplink"),)),
        ContainerSpec(name="all", claims=(("nic0", None),)),
        ContainerSpec(name="none"),
    )
    web = pod("web", cluster.add("one", "web"), containers=containers)
    found = (device("a", "x/nic=a", "x/guard=a"), device("b", "x/nic=b", requests=("back",)), device("c", "x/nic=c"))
    answer(rig, one=(*found, device("d", "x/nic=d", requests=())))
    async with rig.registered(kubelet):
        await kubelet.prepare_pod(web)
    assert kubelet.cdi_devices(web, "one") == ["x/nic=a", "x/guard=a", "x/nic=c", "x/nic=d"]
    assert kubelet.cdi_devices(web, "all") == ["x/nic=a", "x/guard=a", "x/nic=b", "x/nic=c", "x/nic=d"]
    assert kubelet.cdi_devices(web, "none") == []


async def test_pod_status_shows_health_by_first_cdi_id_or_by_name(rig: Any, kubelet: Any, cluster: Any) -> None:
    spec = ContainerSpec(name="app", claims=(("nic0", "uplink"), ("nic0", None)))
    web = pod("web", cluster.add("one", "web"), containers=(spec,))
    answer(rig, one=(device("a", "x/nic=a", "x/guard=a"), device("b", requests=("back",))))
    rig.healths.latest = [
        HealthReport(device="a", health=Health.UNHEALTHY, message="link down"),
        HealthReport(device="b", health=Health.HEALTHY),
    ]
    async with rig.registered(kubelet):
        await kubelet.prepare_pod(web)
        while len(kubelet.health()) < 2:  # noqa: ASYNC110 - the stand-in has no event for health
            await asyncio.sleep(0.005)
        first = {"resourceID": "x/nic=a", "health": "Unhealthy", "message": "link down"}
        second = {"resourceID": "nic.example.com/node-7/b", "health": "Healthy"}
        assert kubelet.pod_status(web) == {
            "app": [
                {"name": "claim:nic0/uplink", "resources": [first]},
                {"name": "claim:nic0", "resources": [first, second]},
            ]
        }
    while kubelet.health():  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.005)
    unknown = {"resourceID": "x/nic=a", "health": "Unknown"}
    assert kubelet.pod_status(web)["app"][0]["resources"] == [unknown]


async def test_a_report_ages_to_unknown_after_its_own_time() -> None:
    messages = health_v1_pb2
    clock = VirtualClock()
    cache = HealthCache(clock, default_timeout=30)
    identity = messages.DeviceIdentifier(pool_name="node-7", device_name="a")
    item = messages.DeviceHealth(device=identity, health=messages.HEALTHY, health_check_timeout_seconds=45)
    cache.update("nic", messages.NodeWatchResourcesResponse(devices=[item]))
    await clock.advance(45)
    assert cache.read(("nic", "node-7", "a")) == ("Healthy", "")
    await clock.advance(0.1)
    assert cache.read(("nic", "node-7", "a")) == ("Unknown", "")


async def test_pod_resources_name_each_device_once_and_their_ids_add_up(
    root: Path, rig: Any, kubelet: Any, cluster: Any, real_clock: Any
) -> None:
    web = pod(
        "web",
        cluster.add("one", "web"),
        containers=(ContainerSpec(name="app", claims=(("nic0", None),)), ContainerSpec(name="log")),
    )
    answer(rig, one=(device("a", "x/nic=a"), device("p", "x/nic=p", share="s-1")))
    socket = root / "pod-resources" / "kubelet.sock"
    client = PodResourcesClient(socket, real_clock, timeout=10)
    async with rig.registered(kubelet):
        assert await client.devices_of("team", "web") == []
        await kubelet.prepare_pod(web)
        found = await client.devices_of("team", "web")
        raw = await rig.call(
            socket, podresources_pb2, "PodResourcesLister.List", podresources_pb2.ListPodResourcesRequest()
        )
    assert [(item.claim_name, item.driver, item.device, item.share_id) for item in found] == [
        ("one", "nic.example.com", "a", ""),
        ("one", "nic.example.com", "p", "s-1"),
    ]
    resources = raw.pod_resources[0].containers[0].dynamic_resources[0].claim_resources
    assert [[cdi.name for cdi in resource.cdi_devices] for resource in resources] == [
        ["x/nic=a"],
        ["x/nic=a", "x/nic=p"],
    ]


async def test_an_answer_for_a_claim_that_was_not_asked_fails_the_pod(root: Path, kubelet: Any, cluster: Any) -> None:
    async def stray(_request: Any, _context: Any) -> Any:
        response = dra_v1_pb2.NodePrepareResourcesResponse()
        response.claims["uid-stray"].error = ""
        return response

    async def get_info(_request: Any, _context: Any) -> Any:
        return registration_pb2.PluginInfo(
            type="DRAPlugin", name="stray.example.com", supported_versions=["v1.DRAPlugin"]
        )

    async def notify(_request: Any, _context: Any) -> Any:
        return registration_pb2.RegistrationStatusResponse()

    # Without an endpoint the registration socket serves both.
    services = [
        service(dra_v1_pb2.DESCRIPTOR, "DRAPlugin", {"NodePrepareResources": stray, "NodeUnprepareResources": stray}),
        service(
            registration_pb2.DESCRIPTOR,
            "Registration",
            {"GetInfo": get_info, "NotifyRegistrationStatus": notify},
        ),
    ]
    plugin = Listener(root / "plugins_registry" / "stray.sock", services, own_folder=False)
    await plugin.open()
    await kubelet.registered("stray.example.com")
    with pytest.raises(PrepareFailed, match="unknown claim UID uid-stray"):
        await kubelet.prepare_pod(pod("web", cluster.add("one", "web", driver="stray.example.com")))
    await plugin.close(0)
