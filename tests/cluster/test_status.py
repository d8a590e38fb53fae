"""What others read of a claim's devices: its status, the pod's, events, and the kubelet's pod-resources socket."""

from __future__ import annotations

import json

import grpc

from dragoman.kubelet._proto import podresources_pb2
from tests.cluster import borrowed, build, files
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import LENDERS
from tests.cluster.objects import claim, config, container, of_claim, of_template, pod, request, template

NET1: Object = {"podIfName": "net1", "addresses": ["192.0.2.10/24", "2001:db8::10/64"], "mac": "02:00:00:00:00:10"}
TOLD = build.minor() >= 36
"""Whether a kubelet tells which share a pod has."""
SHARE = template("share", request("net", "shared"), config=[config({"podIfName": "net1"})])


def test_the_claim_tells_conditions_data_and_network_data_of_its_device(case: Case) -> None:
    case.create(claim("nic", request("net", "uplink"), config=[config(NET1)]), pod("red", of_claim("nic")))
    case.running("red")
    entry = case.until(lambda: attached(case.claim("nic")), "the status says that the device is attached")
    assert conditions(entry) == {"Ready": ("True", "Prepared"), "NetworkReady": ("True", "Attached")}
    assert entry["networkData"]["interfaceName"] == "net1"
    assert entry["networkData"]["hardwareAddress"] == "02:00:00:00:00:10"
    assert {"192.0.2.10/24", "2001:db8::10/64"} <= set(entry["networkData"]["ips"])
    result = case.claim("nic")["status"]["allocation"]["devices"]["results"][0]
    assert (entry["driver"], entry["pool"], entry["device"]) == (DRIVER, files.NODE, result["device"])
    data = entry["data"]
    assert (data["manager"], data["pool"], data["config"]["podIfName"]) == ("macvlan", "uplink", "net1")


def test_a_device_that_left_its_pod_is_told_no_longer(case: Case) -> None:
    case.create(claim("nic", request("net", "lab")), pod("red", of_claim("nic")))
    case.running("red")
    case.until(lambda: attached(case.claim("nic")), "the status says that the device is attached")
    case.delete("red")
    case.until(lambda: not case.rows(), "the device is free")
    assert case.agent.status()["pendingStatus"] == 0
    # They go with the allocation, which the cluster takes back once it has seen the pod's end.
    case.until(lambda: not entries(case.claim("nic")), "the status says nothing of the device")


def test_shares_of_one_device_have_entries_of_their_own_with_what_they_consume(case: Case) -> None:
    case.create(SHARE, pod("red", of_template("share")), pod("blue", of_template("share")))
    case.running("red", "blue")
    for name in ("red", "blue"):
        entry = case.until(lambda name=name: attached(case.claim_of(name, "share")), f"the share of {name} is told")  # type: ignore[misc]  # mypy cannot infer it
        (result,) = case.claim_of(name, "share")["status"]["allocation"]["devices"]["results"]
        assert entry["shareID"] == result["shareID"] == entry["data"]["shareID"]
        assert entry["data"]["consumedCapacity"] == result["consumedCapacity"]


def test_the_kubelet_tells_the_devices_of_a_pod_on_its_socket(case: Case) -> None:
    case.create(SHARE, claim("nic", request("net", "lab")), pod("red", of_claim("nic"), of_template("share")))
    case.running("red")
    told = {
        (device.claim_name, resource.driver_name, resource.pool_name, resource.device_name, resource.share_id)
        for device in pod_resources(case, "red")
        for resource in device.claim_resources
    }
    claims = [case.claim_of("red", name) for name in ("nic", "share")]
    assert told == {
        (each["metadata"]["name"], DRIVER, files.NODE, result["device"], result.get("shareID", "") if TOLD else "")
        for each in claims
        for result in each["status"]["allocation"]["devices"]["results"]
    }


def test_the_pod_shows_the_health_of_its_device_and_no_new_pod_gets_it(case: Case) -> None:
    name = LENDERS[1]
    selector = [{"cel": {"expression": f'device.attributes["{DRIVER}"].ifName == "{name}"'}}]
    asked = request("net", "borrowed", selectors=selector)
    # A kubelet before 1.36 shows the health of a claim only where pod and claim have one name for it.
    case.create(claim("nic", asked), template("other", asked))
    case.create(pod("red", of_claim("nic"), containers=[container("app", {"name": "nic", "request": "net"})]))
    case.running("red")
    case.until(lambda: health(case, "red", "nic/net")["health"] == "Healthy", "the device is shown healthy")
    borrowed.complain(case.agent.complaints, {name: "its cable is out"})
    try:
        case.until(lambda: health(case, "red", "nic/net")["health"] == "Unhealthy", "the device is shown unhealthy")
        if build.minor() >= 36:
            assert health(case, "red", "nic/net")["message"] == "its cable is out"
        case.delete("red")
        case.create(pod("blue", of_template("other")))
        case.event("blue", "FailedScheduling")
        assert case.pod("blue")["status"]["phase"] == "Pending"
    finally:
        borrowed.complain(case.agent.complaints, {})
    # Good news count after they have stood for a while.
    case.running("blue")


def test_the_status_is_told_too_where_parameters_were_not_sent_in_canonical_form(case: Case) -> None:
    made = claim("nic", request("net", "lab"), config=[config({"podIfName": "net1"})])
    # As json.dumps writes it, and so every client in Python.
    case.api.raw("POST", case.api.path("ResourceClaim"), text=json.dumps(made))
    case.create(pod("red", of_claim("nic")))
    case.running("red")
    case.until(lambda: attached(case.claim("nic")), "the status says that the device is attached")
    case.delete("red")
    case.until(lambda: not case.rows(), "the device is free")
    case.until(lambda: not entries(case.claim("nic")), "the status says nothing of the device")


def test_an_event_tells_why_a_pod_waits(case: Case) -> None:
    case.create(claim("nic", request("net", "lab")), pod("first", of_claim("nic")))
    case.running("first")
    case.create(pod("second", of_claim("nic")))
    event = case.event("second", "DeviceNotAttached", f"{case.namespace}/first")
    assert event["type"] == "Warning"
    assert event["involvedObject"]["uid"] == case.pod("second")["metadata"]["uid"]
    assert event["source"] == {"component": DRIVER, "host": files.NODE}


def test_parameters_that_cannot_be_are_refused_with_their_path_where_the_user_looks(case: Case) -> None:
    case.create(claim("nic", request("net", "lab"), config=[config({"podIfName": "net1", "mtuu": 9000})]))
    case.create(pod("red", of_claim("nic")))
    case.event("red", "FailedPrepareDynamicResources", "mtuu")
    assert case.rows() == []


def entries(claim: Object) -> list[Object]:
    """Give the entries of the claim's status."""
    found: list[Object] = claim["status"].get("devices", [])
    return found


def attached(claim: Object) -> Object | None:
    """Give the one entry, once it tells that the device is attached."""
    found = entries(claim)
    ready = [entry for entry in found if conditions(entry).get("NetworkReady") == ("True", "Attached")]
    return ready[0] if len(found) == 1 and ready else None


def conditions(entry: Object) -> dict[str, tuple[str, str]]:
    """Give status and reason of each condition."""
    return {each["type"]: (each["status"], each["reason"]) for each in entry.get("conditions", ())}


def health(case: Case, name: str, resource: str) -> Object:
    """Give what the pod's status tells of the one device of a claim or of its request."""
    (status,) = case.pod(name)["status"]["containerStatuses"]
    for each in status.get("allocatedResourcesStatus", ()):
        if each["name"] == f"claim:{resource}":
            (shown,) = each["resources"]
            assert isinstance(shown, dict)
            return {"health": "Unknown"} | shown
    return {"health": "not shown"}


def pod_resources(case: Case, name: str) -> list[podresources_pb2.DynamicResource]:
    """Ask the kubelet for what the containers of a pod have."""
    socket = case.node.spaces.path("/var/lib/kubelet/pod-resources/kubelet.sock")
    asked = podresources_pb2.GetPodResourcesRequest(pod_name=name, pod_namespace=case.namespace)
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        get = channel.unary_unary(
            "/v1.PodResourcesLister/Get",
            request_serializer=podresources_pb2.GetPodResourcesRequest.SerializeToString,
            response_deserializer=podresources_pb2.GetPodResourcesResponse.FromString,
        )
        answer = get(asked, timeout=60)
    return [each for inside in answer.pod_resources.containers for each in inside.dynamic_resources]
