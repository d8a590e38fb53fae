"""Claims in all shapes that the API allows, from the API server into the pod and back."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from dragoman.kubelet._proto import dra_v1_pb2 as dra
from dragoman.kubelet.rpc import call
from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.kubelet import ContainerSpec, PodSpec
from dragoman_testkit.sandbox.kubelet.connection import dra_channel
from dragoman_testkit.sandbox.node import DRIVER
from tests.e2e import objects
from tests.e2e.objects import config, request
from tests.e2e.trial import MakeTrial, Trial, eventually

OTHER = "other.example.com"


def allocated(
    trial: Trial, name: str, results: Sequence[JsonObject], reserved: Sequence[JsonObject], **devices: Any
) -> ClaimRef:
    """Make a claim as a scheduler leaves it, for what the sandbox's own scheduler does not do."""
    requests = [request(result["request"]) for result in results]
    made = trial.api.create(objects.claim(name, objects.devices(requests)))
    allocation = {"devices": {"results": list(results), **devices}}
    trial.api.update_status({**made, "status": {"allocation": allocation, "reservedFor": list(reserved)}})
    return ClaimRef(uid=made["metadata"]["uid"], namespace="default", name=name)


def result(device: str, **more: Any) -> JsonObject:
    return {"request": "net", "driver": DRIVER, "pool": "sandbox", "device": device, **more}


def pods(*uids: str) -> list[JsonObject]:
    return [{"resource": "pods", "name": f"pod-{uid[:4]}", "uid": uid} for uid in uids]


async def ask(trial: Trial, method: str, *claims: ClaimRef) -> Any:
    """Call the driver as a kubelet does, past the checks of the stand-in."""
    channel = dra_channel(trial.node.kubelet.root / "plugins" / DRIVER / "dra.sock")
    try:
        messages = [dra.Claim(uid=claim.uid, namespace=claim.namespace, name=claim.name) for claim in claims]
        kind = getattr(dra, f"Node{method}ResourcesRequest")
        answer = await call(channel, dra.DESCRIPTOR, f"DRAPlugin.Node{method}Resources")(
            kind(claims=messages), timeout=60
        )
        return answer.claims
    finally:
        await channel.close(None)


async def test_a_claim_without_template_serves_one_pod_after_the_other(trial: Trial) -> None:
    trial.apply(objects.claim("nic", objects.devices([request()], [config({"podIfName": "net1"})])))
    for name in ("first", "second"):
        trial.apply(objects.pod(name, claims={"nic": "nic"}))
        await trial.running(name)
        assert "net1" in trial.pod_links(name)
        trial.delete_pod(name)
        await trial.ended(name)


async def test_the_first_alternative_that_is_there_is_taken_with_its_own_parameters(trial: Trial) -> None:
    trial.apply(objects.device_class("none", objects.manager_is("nobody")))
    alternatives = [
        {"name": "best", "deviceClassName": "none"},
        {"name": "good", "deviceClassName": "uplink"},
        {"name": "poor", "deviceClassName": "dummy"},
    ]
    names = [config({"podIfName": name}, f"net/{name}") for name in ("good", "poor")]
    spec = objects.devices([{"name": "net", "firstAvailable": alternatives}], [config({"mtu": 1300}, "net"), *names])
    uses = {"app": [{"name": "nic", "request": "net"}]}
    trial.apply(objects.template("choosy", spec), objects.pod("choosy", templates={"nic": "choosy"}, containers=uses))
    await trial.running("choosy")
    assert trial.pod_links("choosy")["good"].mtu == 1300
    (given,) = trial.results(trial.claim_of("choosy"))
    assert given["request"] == "net/good"
    trial.api.delete("deviceclasses", "none")


async def test_each_request_of_a_claim_reaches_the_container_that_names_it(trial: Trial) -> None:
    spec = objects.devices(
        [request("pair", "dummy", count=2), request("up", "uplink")],
        [config({"mtu": 1400}), config({"podIfName": "up0"}, "up")],
    )
    uses = {
        "one": [{"name": "nics", "request": "pair"}],
        "two": [{"name": "nics", "request": "up"}],
        "all": [{"name": "nics"}],
    }
    trial.apply(objects.template("many", spec), objects.pod("many", templates={"nics": "many"}, containers=uses))
    await trial.running("many")
    links = trial.pod_links("many")
    assert {link.mtu for link in links.values()} == {1400}
    assert len(links) == 3
    assert "up0" in links
    told = {name: await metadata(trial, "many", name) for name in uses}
    assert told["one"] == {"pair": sorted(links.keys() - {"up0"})}
    assert told["two"] == {"up": ["up0"]}
    assert told["all"] == {**told["one"], **told["two"]}


async def metadata(trial: Trial, pod: str, container: str) -> dict[str, list[str]]:
    """Read what a container is told: interfaces by request."""
    command = (sys.executable, "-m", "dragoman_metadata.cli", "show", "-o", "json")
    document = json.loads(await trial.node.pods.container(pod, container).exec(*command))
    return {
        entry["name"]: sorted(device["networkData"]["interfaceName"] for device in entry["devices"])
        for entry in document["requests"]
    }


async def test_a_shared_device_gives_each_claim_a_link_until_none_is_left(trial: Trial) -> None:
    for number in range(5):
        trial.start_pod(f"share{number}", {"podIfName": "net1"}, request=request(device_class_name="uplink"))
    running = [f"share{number}" for number in range(4)]
    await trial.running(*running)
    shares = {trial.results(trial.claim_of(name))[0]["shareID"] for name in running}
    assert len(shares) == 4
    assert len({trial.pod_links(name)["net1"].mac for name in running}) == 4
    views = {view["device"]: view for view in await trial.agent.ask("devices")}
    assert views["uplink0-mv"]["capacity"]["links"] == {"total": "4", "free": "0"}
    trial.delete_pod("share0")
    await trial.running("share4")


async def test_what_a_class_locks_no_claim_changes(trial: Trial) -> None:
    trial.apply(objects.device_class("locked", objects.manager_is("dummy"), {"mtu": 1350, "locked": ["mtu"]}))
    trial.start_pod("obedient", {"podIfName": "net1"}, request=request(device_class_name="locked"))
    trial.start_pod("greedy", {"mtu": 9000}, request=request(device_class_name="locked"))
    await trial.running("obedient")
    assert trial.pod_links("obedient")["net1"].mtu == 1350
    await trial.until(lambda: bool(trial.events("greedy", "FailedPrepare")), "the claim is refused")
    message = trial.events("greedy", "FailedPrepare")[0]
    assert "mtu: is locked by the device class" in message
    assert trial.claim_of("greedy")["metadata"]["name"] in message
    trial.api.delete("deviceclasses", "locked")


async def test_devices_of_other_drivers_in_a_claim_are_left_to_these(trial: Trial) -> None:
    theirs = {"request": "their", "driver": OTHER, "pool": "elsewhere", "device": "gpu0"}
    parameters = [
        {"source": "FromClaim", "requests": [], "opaque": {"driver": OTHER, "parameters": {"podIfName": 7}}},
        {"source": "FromClaim", "requests": [], "opaque": {"driver": DRIVER, "parameters": {"mtu": 1400}}},
    ]
    mixed = allocated(trial, "mixed", [theirs, result("dummy0")], pods("p1"), config=parameters)
    foreign = allocated(trial, "foreign", [theirs], pods("p2"))
    answers = await ask(trial, "Prepare", mixed, foreign)
    assert [device.device_name for device in answers[mixed.uid].devices] == ["dummy0"]
    assert (answers[foreign.uid].error, len(answers[foreign.uid].devices)) == ("", 0)
    assert {row["uid"] for row in await trial.agent.ask("allocations")} == {mixed.uid}
    answers = await ask(trial, "Unprepare", mixed, foreign)
    assert {answer.error for answer in answers.values()} == {""}


async def test_admin_access_observes_and_holds_nothing(trial: Trial) -> None:
    trial.start_pod("owner", {"podIfName": "net1"})
    await trial.running("owner")
    device = trial.device_of("owner")
    admin = allocated(trial, "admin", [result(device, adminAccess=True)], pods("p1"))
    answers = await ask(trial, "Prepare", admin)
    assert answers[admin.uid].error == ""
    assert not any("guard" in name for device in answers[admin.uid].devices for name in device.cdi_device_ids)
    rows = {row["uid"]: row for row in await trial.agent.ask("allocations")}
    assert rows[admin.uid]["adminAccess"]
    assert rows[admin.uid]["attachment"] is None
    trial.delete_pod("owner")
    await trial.ended("owner")
    trial.start_pod("next", {"podIfName": "net1"})
    await trial.running("next")
    assert trial.device_of("next") == device
    assert (await ask(trial, "Unprepare", admin))[admin.uid].error == ""
    assert "net1" in trial.pod_links("next")


async def test_one_bad_claim_of_a_batch_costs_the_others_nothing(trial: Trial) -> None:
    good = allocated(trial, "good", [result("dummy0")], pods("p1"))
    bad = allocated(trial, "bad", [result("dummy77")], pods("p1"))
    gone = ClaimRef(uid=str(uuid.uuid4()), namespace="default", name="gone")
    stale = ClaimRef(uid=str(uuid.uuid4()), namespace="default", name="good")
    answers = await ask(trial, "Prepare", bad, gone, stale, good)
    assert len(answers) == 4
    assert [device.device_name for device in answers[good.uid].devices] == ["dummy0"]
    assert "dummy77" in answers[bad.uid].error
    assert "default/gone does not exist" in answers[gone.uid].error
    assert "made again" in answers[stale.uid].error
    answers = await ask(trial, "Unprepare", bad, gone, stale, good)
    assert [answer.error for answer in answers.values()] == [""] * 4


async def test_a_device_that_was_given_away_twice_stays_with_its_first_claim(trial: Trial) -> None:
    first = allocated(trial, "first", [result("dummy0")], pods("p1"))
    second = allocated(trial, "second", [result("dummy0")], pods("p2"))
    assert (await ask(trial, "Prepare", first))[first.uid].error == ""
    error = (await ask(trial, "Prepare", second))[second.uid].error
    assert f"still held by claim default/first (uid {first.uid}" in error
    assert (await ask(trial, "Unprepare", second))[second.uid].error == ""
    assert [row["uid"] for row in await trial.agent.ask("allocations")] == [first.uid]
    assert (await ask(trial, "Unprepare", first))[first.uid].error == ""


async def test_a_claim_that_was_made_again_waits_for_the_device_of_its_namesake(trial: Trial) -> None:
    trial.odd.play(free_device="block")
    ref = allocated(trial, "nic", [result("odd0")], pods("p1"))
    assert (await ask(trial, "Prepare", ref))[ref.uid].error == ""
    trial.api.delete("resourceclaims", "nic", "default")
    again = allocated(trial, "nic", [result("odd0")], pods("p2"))
    leaving = asyncio.create_task(ask(trial, "Unprepare", ref))
    await eventually(lambda: trial.odd.calls("free_device") == 1, "the old claim is being unprepared")
    trial.api.requests.clear()
    coming = asyncio.create_task(ask(trial, "Prepare", again))
    await eventually(lambda: READ in trial.api.requests, "both calls are in progress")
    trial.odd.play()
    assert (await leaving)[ref.uid].error == ""
    assert (await coming)[again.uid].error == ""
    assert [row["uid"] for row in await trial.agent.ask("allocations")] == [again.uid]
    assert (await ask(trial, "Unprepare", again))[again.uid].error == ""


READ = ("get", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic")
"""What a prepare asks before it waits for others."""


async def test_pods_of_a_group_get_what_is_reserved_for_the_group(trial: Trial) -> None:
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "team", "uid": str(uuid.uuid4())}
    ref = allocated(trial, "nic", [result("dummy0")], [group])
    spec = PodSpec(
        uid=str(uuid.uuid4()),
        namespace="default",
        name="member",
        claims=[("nic", ref)],
        containers=[ContainerSpec(name="app", claims=[("nic", None)])],
        group_uid=group["uid"],
    )
    runtime, kubelet = trial.node.runtime, trial.node.kubelet
    await kubelet.prepare_pod(spec)
    sandbox = await runtime.run_sandbox(uid=spec.uid, namespace="default", name="member")
    try:
        container = await runtime.create_container(sandbox, "app", cdi_devices=kubelet.cdi_devices(spec, "app"))
        await runtime.start_container(container)
        (row,) = await trial.agent.ask("allocations")
        assert (row["attachment"], row["pods"]) == ("ATTACHED", ["member"])
    finally:
        await runtime.stop_sandbox(sandbox)
        await kubelet.unprepare_pod(spec)
        await runtime.remove_sandbox(sandbox)


async def test_claims_of_pods_that_were_deleted_by_force_are_freed_after_a_while(make_trial: MakeTrial) -> None:
    trial = await make_trial(orphans={"graceTime": 0.5})
    await trial.start()
    slices, runtime, kubelet = trial.slice_versions(), trial.node.runtime, trial.node.kubelet
    specs = [pod_of(trial, f"dummy{number}") for number in range(2)]
    for spec in specs:
        await kubelet.prepare_pod(spec)
    sandbox = await runtime.run_sandbox(uid=specs[0].uid, namespace="default", name=specs[0].name)
    assert len(trial.guards()) == 1
    await trial.agent.kill()
    await runtime.kill_sandbox(sandbox)
    kubelet.pods.clear()
    await trial.start()
    assert trial.guards() == []
    # Their claims are still there, so that somebody may unprepare them.
    assert [row["state"] for row in await trial.agent.ask("allocations")] == ["PREPARED", "PREPARED"]
    for claim in trial.api.list("resourceclaims"):
        trial.api.delete("resourceclaims", claim["metadata"]["name"], "default")

    async def are_free() -> bool:
        return bool(await trial.agent.ask("allocations") == [])

    await eventually(are_free, "the devices are free")
    await trial.clean()
    assert trial.slice_versions() == slices


def pod_of(trial: Trial, device: str) -> PodSpec:
    """Make a claim of a device, and a pod for it that has no object any more."""
    uid = str(uuid.uuid4())
    ref = allocated(trial, f"of-{device}", [result(device)], pods(uid))
    return PodSpec(uid=uid, namespace="default", name=f"pod-{uid[:4]}", claims=[("nic", ref)])
