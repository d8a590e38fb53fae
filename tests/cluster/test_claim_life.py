"""The life of a claim: the device is there from the first instruction, and back on the host at the end."""

from __future__ import annotations

from tests.cluster.case import Case
from tests.cluster.objects import config, of_template, pod, request, template

NET1 = {
    "podIfName": "net1",
    "addresses": ["192.0.2.10/24"],
    "routes": [{"destination": "198.51.100.0/24", "gateway": "192.0.2.1"}],
    "interfaceSysctlIPv4": {"forwarding": "1"},
}
LOOK = "ip address show net1; ip route; cat /proc/sys/net/ipv4/conf/net1/forwarding; sleep 1000000"


def test_a_device_is_there_from_the_first_instruction_and_gone_after_the_pod(case: Case) -> None:
    case.create(
        template("nic", request("net", "lab"), config=[config(NET1)]), pod("red", of_template("nic"), script=LOOK)
    )
    case.running("red")
    case.until(lambda: case.log("red").endswith("1\n"), "the container has looked")
    seen = case.log("red")
    assert "inet 192.0.2.10/24" in seen
    assert "198.51.100.0/24 via 192.0.2.1 dev net1" in seen
    assert [row["interface"] for row in case.rows()] == ["net1"]
    case.delete("red")
    case.until(lambda: not case.rows(), "the device is free")
    assert "ifb" not in case.node.run("ip", "-d", "link")
