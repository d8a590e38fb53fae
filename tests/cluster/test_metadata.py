"""What a container is told of its devices, read as a workload reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_metadata import NoMetadata, read_claim, read_template_claim
from dragoman_metadata.model import BASE, NetworkData
from tests.cluster import build, files
from tests.cluster.agent import DRIVER, Agent
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.objects import (
    FOREVER,
    claim,
    config,
    container,
    device_class,
    first_available,
    of_claim,
    of_template,
    pod,
    request,
    subrequest,
    template,
)
from tests.cluster.tools import Failed

NET1: Object = {"podIfName": "net1", "addresses": ["192.0.2.10/24"]}
OTHER_DRIVER = "other.dragoman.dev"
OTHER: Object = {
    "driverName": OTHER_DRIVER,
    "deviceManagerConfigs": {"macvlan": {"ifaces": [{"parentIfName": "lender0-wire"}]}},
    "pools": [],
    "nri": {"name": "other", "index": "51"},
    "paths": {"stateDir": "/var/lib/other", "runDir": "/run/other"},
}
FILE = f"{DRIVER}-metadata.json"


def test_a_direct_claim_is_told_by_its_name_and_cannot_be_changed(case: Case) -> None:
    path = f"{BASE}/resourceclaims/nic/net/{FILE}"
    case.create(claim("nic", request("net", "lab"), config=[config(NET1)]))
    case.create(pod("red", of_claim("nic"), script=f"cat {path}; echo; echo done; {FOREVER}"))
    case.running("red")
    case.until(lambda: case.log("red").endswith("done\n"), "the container has read it")
    first = json.JSONDecoder().raw_decode(case.log("red"))[0]
    assert first["kind"] == "DeviceMetadata"
    assert first["apiVersion"] == "metadata.resource.k8s.io/v1beta1"
    metadata = read_claim("nic", "net", base=base(case, "red"))
    (device,) = metadata.devices()
    made = case.claim("nic")
    assert (metadata.name, metadata.namespace, metadata.uid) == ("nic", case.namespace, made["metadata"]["uid"])
    assert (device.driver, device.pool) == (DRIVER, files.NODE)
    assert device.name == made["status"]["allocation"]["devices"]["results"][0]["device"]
    assert device.attributes["deviceManager"] == {"string": "dummy"}
    assert device.attributes["pool"] == {"string": "lab"}
    for change, why in ((f"echo x > {path}", "Read-only file system"), (f"rm {path}", "Device or resource busy")):
        with pytest.raises(Failed, match=why):
            case.exec("red", "sh", "-c", change)


def test_a_claim_of_a_template_is_told_by_its_name_in_the_pod_with_what_was_found_out_later(case: Case) -> None:
    path = f"{BASE}/resourceclaimtemplates/uplink/net/{FILE}"
    case.create(template("nic", request("net", "lab"), config=[config(NET1)]))
    case.create(pod("red", of_template("nic", "uplink"), script=f"cat {path}; echo; echo done; {FOREVER}"))
    case.running("red")
    case.until(lambda: case.log("red").endswith("done\n"), "the container has read it")
    # The address of the link is known from the attach on, after the file was first written, and before any container.
    first = json.JSONDecoder().raw_decode(case.log("red"))[0]
    ((seen,),) = ([each["networkData"] for each in asked["devices"]] for asked in first["requests"])
    link = case.exec("red", "cat", "/sys/class/net/net1/address").strip()
    assert seen == {"interfaceName": "net1", "ips": ["192.0.2.10/24"], "hardwareAddress": link}
    (told,) = read_template_claim("uplink", base=base(case, "red")).devices()
    assert told.network_data == NetworkData(interface_name="net1", ips=("192.0.2.10/24",), hardware_address=link)
    with pytest.raises(Failed, match="Read-only file system"):
        case.exec("red", "sh", "-c", f"echo x > {path}")


def test_an_alternative_is_told_by_its_full_name(case: Case) -> None:
    asked = first_available("net", subrequest("slow", "lab"))
    case.create(claim("nic", asked), pod("red", of_claim("nic")))
    case.running("red")
    metadata = read_claim("nic", "net", base=base(case, "red"))
    assert [each.name for each in metadata.requests] == ["net/slow"]


def test_a_container_is_told_of_the_requests_that_it_names_only(case: Case) -> None:
    case.create(claim("nic", request("one", "lab"), request("two", "uplink")))
    containers = [container("first", {"name": "nic", "request": "one"}), container("both", "nic"), container("none")]
    case.create(pod("red", of_claim("nic"), containers=containers))
    case.running("red")
    assert requests(case, "red", "first") == ["one"]
    assert requests(case, "red", "both") == ["one", "two"]
    with pytest.raises(NoMetadata):
        requests(case, "red", "none")


@pytest.mark.skipif(build.minor() < 36, reason="before 1.36 a scheduler dies of two devices from slices of one")
def test_devices_of_two_drivers_for_one_request_are_told_together(case: Case) -> None:
    other = Agent(case.node, "other-agent", settings=OTHER)
    either = " || ".join(f'device.driver == "{driver}"' for driver in (DRIVER, OTHER_DRIVER))
    # Most of all devices are of the first driver, so the request asks for one of each by name.
    names = 'device.attributes[device.driver].ifName in ["dummy7", "lender0-wire-mv0"]'
    spec = {"selectors": [{"cel": {"expression": f"({either}) && {names}"}}]}
    case.api.apply(device_class("any") | {"spec": spec})
    try:
        other.start()
        case.create(claim("nic", request("net", "any", count=2)), pod("red", of_claim("nic")))
        case.running("red")
        told = read_claim("nic", "net", base=base(case, "red"))
        assert {(each.driver, each.name) for each in told.devices()} == {
            (DRIVER, "dummy7"),
            (OTHER_DRIVER, "lender0-wire-mv0"),
        }
        case.delete("red")
        case.until(lambda: not other.allocations() and not case.rows(), "both have freed their devices")
    finally:
        if other.pid:
            other.terminate()
            other.cli("agent", "withdraw")


def test_nothing_is_kept_of_a_claim_that_was_unprepared(case: Case) -> None:
    case.create(claim("nic", request("net", "lab"), config=[config(NET1)]), pod("red", of_claim("nic")))
    case.running("red")
    uid = case.claim("nic")["metadata"]["uid"]
    assert kept(case, uid) != []
    case.delete("red")
    case.until(lambda: not case.rows(), "the device is free")
    assert kept(case, uid) == []


def base(case: Case, name: str, container: str = "app") -> Path:
    """Give the folder of the files as the container sees it."""
    return case.root(name, container) / BASE.lstrip("/")


def requests(case: Case, name: str, container: str) -> list[str]:
    return [each.name for each in read_claim("nic", base=base(case, name, container)).requests]


def kept(case: Case, uid: str) -> list[str]:
    """Name the files on the node that belong to a claim, by its UID."""
    folders = ("/var/run/cdi", "/var/lib/dragoman")
    found = case.node.run("find", *folders, "-name", f"*{uid}*")
    return found.split()
