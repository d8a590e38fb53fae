"""The life of a claim: its devices are in the pod from the first instruction on, and back on the node after it."""

from __future__ import annotations

import json

from tests.cluster import files
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.node import LENDERS
from tests.cluster.objects import (
    FOREVER,
    NAMED_CAPACITY,
    claim,
    config,
    container,
    first_available,
    of_claim,
    of_template,
    pod,
    request,
    subrequest,
    template,
)

NET1: Object = {
    "podIfName": "net1",
    "addresses": ["192.0.2.10/24", "2001:db8::10/64"],
    "routes": [{"destination": "198.51.100.0/24", "gateway": "192.0.2.1"}],
    "mtu": 1400,
    "interfaceSysctlIPv4": {"forwarding": "1"},
}
LOOK = f"ip address show net1; ip route; cat /proc/sys/net/ipv4/conf/net1/forwarding; echo done; {FOREVER}"
NO_DEVICE = [{"cel": {"expression": "false"}}]


def test_a_device_is_there_from_the_first_instruction_and_gone_after_the_pod(case: Case) -> None:
    before = links(case)
    case.create(template("nic", request("net", "lab"), config=[config(NET1)]))
    case.create(pod("red", of_template("nic"), script=LOOK))
    case.running("red")
    seen = said(case, "red")
    assert "inet 192.0.2.10/24" in seen
    assert "inet6 2001:db8::10/64" in seen
    assert "mtu 1400" in seen
    assert "198.51.100.0/24 via 192.0.2.1 dev net1" in seen
    assert seen.splitlines()[-2:] == ["1", "done"]
    assert case.pod("red")["status"]["containerStatuses"][0]["restartCount"] == 0
    case.delete("red")
    case.until(lambda: not case.rows(), "the device is free")
    assert links(case) == before


def test_a_direct_claim_outlives_its_pod_and_serves_the_next_one(case: Case) -> None:
    case.create(claim("nic", request("net", "uplink"), config=[config(NET1)]))
    for name in ("first", "second"):
        case.create(pod(name, of_claim("nic"), script=LOOK))
        case.running(name)
        assert "inet 192.0.2.10/24" in said(case, name)
        case.delete(name)
        case.until(lambda: not case.rows(), "the device is free")
    case.until(lambda: not case.claim("nic")["status"].get("reservedFor"), "the claim is reserved for nobody")


def test_the_alternative_that_can_be_had_is_attached_with_its_own_parameters(case: Case) -> None:
    asked = first_available("net", subrequest("fast", "lab", selectors=NO_DEVICE), subrequest("slow", "lab"))
    parameters = [config({"podIfName": "fast0"}, "net/fast"), config({"podIfName": "slow0"}, "net/slow")]
    case.create(claim("nic", asked, config=parameters), pod("red", of_claim("nic")))
    case.running("red")
    assert "slow0" in case.exec("red", "ip", "link")
    assert [row["request"] for row in case.rows()] == ["net/slow"]


def test_pods_of_one_claim_get_its_exclusive_device_one_after_the_other(case: Case) -> None:
    case.create(claim("nic", request("net", "lab"), config=[config(NET1)]))
    case.create(pod("first", of_claim("nic"), script=LOOK))
    case.running("first")
    case.create(pod("second", of_claim("nic"), script=LOOK))
    case.waits("second", "CreateContainerError", "follows when that pod ends")
    case.delete("first")
    case.running("second")
    assert "inet 192.0.2.10/24" in said(case, "second")
    assert case.pod("second")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_init_containers_and_all_containers_see_the_device(case: Case) -> None:
    case.create(claim("nic", request("net", "lab"), config=[config(NET1)]))
    look = "ip address show net1"
    containers = [container("one", "nic"), container("two", "nic"), container("beside")]
    init = [container("init", "nic", script=look)]
    case.create(pod("red", of_claim("nic"), containers=containers, initContainers=init))
    case.running("red")
    assert "inet 192.0.2.10/24" in case.log("red", "init")
    for name in ("one", "two", "beside"):
        assert "inet 192.0.2.10/24" in case.exec("red", *look.split(), container=name)


def test_a_pod_gets_the_devices_of_several_claims_and_of_one_request_for_two(case: Case) -> None:
    before = links(case)
    case.create(
        template("pair", request("net", "lab", count=2)),
        claim("lan", request("net", "uplink"), config=[config({"podIfName": "lan0"})]),
        template("dmz", request("net", "shared"), config=[config({"podIfName": "dmz0"})]),
        pod("red", of_template("pair"), of_claim("lan"), of_template("dmz")),
    )
    case.running("red")
    results = case.claim_of("red", "pair")["status"]["allocation"]["devices"]["results"]
    inside = {link["ifname"] for link in json.loads(ip(case, "-n", netns(case, "red"), "-j", "link"))}
    assert inside >= {"lan0", "dmz0", *(result["device"] for result in results)}
    assert len(results) == 2
    case.delete("red")
    case.until(lambda: not case.rows(), "the devices are free")
    assert links(case) == before


@NAMED_CAPACITY
def test_shares_of_one_device_go_to_several_pods_until_its_capacity_is_used(case: Case) -> None:
    case.create(template("share", request("net", "shared", links=1), config=[config({"podIfName": "net1"})]))
    case.create(template("more", request("net", "shared", links=1)))
    for name in ("red", "blue"):
        case.create(pod(name, of_template("share")))
    case.running("red", "blue")
    for name in ("red", "blue"):
        assert "net1" in case.exec(name, "ip", "link")
    results = [
        case.claim_of(name, "share")["status"]["allocation"]["devices"]["results"][0] for name in ("red", "blue")
    ]
    assert {result["device"] for result in results} == {"uplink1-mv"}
    assert len({result["shareID"] for result in results}) == 2
    assert {row["share"] for row in case.rows()} == {result["shareID"] for result in results}
    (device,) = [each for each in case.agent.devices() if each["device"] == "uplink1-mv"]
    assert device["capacity"]["links"] == {"total": "16", "free": "14"}
    case.create(pod("rest", *(of_template("more", f"more-{number}") for number in range(14))))
    case.running("rest")
    inside = {link["ifname"] for link in json.loads(ip(case, "-n", netns(case, "rest"), "-j", "link"))}
    assert len(inside - {"lo", "eth0"}) == 14
    case.create(pod("green", of_template("share")))
    case.event("green", "FailedScheduling", "cannot allocate all claims")
    assert case.pod("green")["status"]["phase"] == "Pending"
    case.delete("red")
    case.running("green")


def test_a_link_of_the_node_comes_back_with_its_name_addresses_routes_and_rules(case: Case) -> None:
    name = LENDERS[0]
    ip(case, "address", "add", "203.0.113.7/24", "dev", name)
    ip(case, "address", "add", "2001:db8:7::7/64", "dev", name)
    ip(case, "route", "add", "10.9.0.0/16", "via", "203.0.113.1", "dev", name)
    ip(case, "route", "add", "10.8.0.0/16", "dev", name, "table", "77")
    ip(case, "rule", "add", "iif", name, "table", "77", "priority", "1077")
    try:
        case.until(lambda: "tentative" not in ip(case, "address"), "addresses are there for good")
        before = of_link(case, name)
        selector = [{"cel": {"expression": f'device.attributes["{DRIVER}"].ifName == "{name}"'}}]
        asked = request("net", "borrowed", selectors=selector)
        case.create(claim("nic", asked, config=[config(NET1)]), pod("red", of_claim("nic"), script=LOOK))
        case.running("red")
        assert "inet 192.0.2.10/24" in said(case, "red")
        assert "203.0.113.7" not in said(case, "red")
        assert name not in links(case)
        case.delete("red")
        case.until(lambda: not case.rows(), "the device is free")
        # The kernel takes a moment to find out that nobody else has its IPv6 addresses.
        case.until(lambda: of_link(case, name) == before, f"{name} is as it was: {before}")
    finally:
        ip(case, "rule", "del", "priority", "1077")
        for address in ("203.0.113.7/24", "2001:db8:7::7/64"):
            ip(case, "address", "del", address, "dev", name)


def said(case: Case, name: str) -> str:
    """Give what the pod's script has seen."""

    def seen() -> str:
        text = case.log(name)
        return text if text.endswith("done\n") else ""

    return case.until(seen, f"pod {name} has looked")


def links(case: Case) -> set[str]:
    """Give the node's links, without those of the cluster's network."""
    found = {link["ifname"] for link in json.loads(ip(case, "-j", "link"))}
    return {name for name in found if not name.startswith(("veth", "cni"))}


def of_link(case: Case, name: str) -> list[str]:
    """Give what the kernel knows of a link and has for it, whatever its index."""
    words = (["address", "show", "dev", name], ["route", "show", "table", "all", "dev", name], ["rule", "show"])
    lines = "\n".join(ip(case, "-o", *each) for each in words).splitlines()
    return sorted(line.partition(": ")[2] if name in line.partition(": ")[2] else line for line in lines)


def netns(case: Case, name: str) -> str:
    """Give the network namespace of a pod, as ``ip`` names it."""
    address = case.pod(name)["status"]["podIP"]
    for found in case.node.run("ls", "/run/netns").split():
        if f"inet {address}/" in ip(case, "-n", found, "address"):
            return found
    raise AssertionError(f"no namespace of pod {name} on {files.NODE}")


def ip(case: Case, *words: str) -> str:
    return case.node.run("ip", *words)
