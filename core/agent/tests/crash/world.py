"""A host with links, pods and a folder, that outlives every agent on it; and the claims of a cluster.

``eth1`` stands for hardware: known by its MAC, with addresses, routes, a rule, a neighbour and sysctls of its own that
have to come back. ``up0`` is the uplink of the node and parent of macvlan links.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.cdi import CdiFolder
from dragoman.model.claims import AllocationResult, Claim, Consumer, OpaqueConfig
from dragoman.model.sandboxes import Sandbox
from dragoman_hookspecs import Route
from dragoman_kit import configure, netns
from dragoman_kit.netlink import Netlink
from dragoman_testkit.fakes.cluster import MemoryClaims
from dragoman_testkit.netns import Pod, private_host

DRIVER, POOL = "net.dragoman.dev", "node-1"
NIC, NIC_MAC = "eth1", "02:00:00:00:00:01"
TABLES = (254, 100)
"""The tables of routes that are used: the kernel's main one and one of the host's own."""
MADE_KIND = "ifb"
"""A kind of link that is made without a parent, on any kernel."""

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "eth1": {
        "podIfName": "net1",
        "mtu": 1300,
        "addresses": ["192.0.2.10/24", "2001:db8:1::10/64"],
        "routes": [
            {"destination": "203.0.113.0/24", "gateway": "192.0.2.1"},
            {"destination": "198.18.0.0/15"},
        ],
    },
    "dummy0": {
        "podIfName": "net2",
        "addresses": ["192.0.2.129/32"],
        "interfaceSysctlIPv4": {"forwarding": "1"},
    },
}

_PLAIN = {"mtu": 1500, "addresses": set(), "routes": set(), "forwarding": "0"}
_INSIDE: Mapping[str, Mapping[str, Any]] = {
    "eth1": {
        "name": "net1",
        "mtu": 1300,
        "addresses": {"192.0.2.10/24", "2001:db8:1::10/64"},
        "routes": {"203.0.113.0/24 via 192.0.2.1 table 254", "198.18.0.0/15 table 254"},
    },
    "dummy0": {"name": "net2", "addresses": {"192.0.2.129/32"}, "forwarding": "1"},
}


def inside(device: str) -> Mapping[str, Any]:
    """What a pod has of a device, by what ``PARAMETERS`` says and otherwise by what the kernel gives a new link."""
    return {**_PLAIN, "name": device, **_INSIDE.get(device, {})}


@dataclass(slots=True)
class World:
    """What outlives an agent. ``pods`` maps a claim's name to the network namespace of its pod."""

    folder: Path
    claims: MemoryClaims = field(default_factory=MemoryClaims)
    all_claims: list[Claim] = field(default_factory=list)
    pods: dict[str, Pod] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)

    @property
    def state(self) -> Path:
        """The state folder of the agent."""
        return self.folder / "state"

    @property
    def cdi(self) -> CdiFolder:
        """The specs of the driver."""
        return CdiFolder(self.cdi_dir, DRIVER)

    @property
    def cdi_dir(self) -> Path:
        """The runtime's folder of CDI specs."""
        return self.folder / "cdi"

    def claim(self, name: str, *devices: str) -> Claim:
        """Put an allocated claim into the cluster; each request has the name of its device."""
        claim = Claim(
            uid=f"uid-{name}",
            namespace="default",
            name=name,
            results=tuple(AllocationResult(request=each, driver=DRIVER, pool=POOL, device=each) for each in devices),
            config=tuple(
                OpaqueConfig(source="FromClaim", driver=DRIVER, parameters=PARAMETERS[each], requests=(each,))
                for each in devices
                if each in PARAMETERS
            ),
            reserved_for=(Consumer(resource="pods", name=f"{name}-pod", uid=f"{name}-pod-uid"),),
            pod_claim_name="nic",
        )
        self.claims.put(claim)
        self.all_claims.append(claim)
        return claim

    def start_pod(self, claim: Claim) -> Sandbox:
        """Make the sandbox of the claim's pod, as the runtime does before it tells its plugins."""
        self.pods[claim.name] = Pod()
        self.running.add(claim.name)
        return self.sandbox(claim)

    def end_pod(self, claim: Claim) -> None:
        """End the sandbox and its network namespace."""
        self.running.discard(claim.name)
        pod = self.pods.pop(claim.name)
        _rescue_hardware(pod)
        pod.end()

    def named(self, name: str) -> Claim:
        """Find a claim."""
        return next(claim for claim in self.all_claims if claim.name == name)

    def sandbox(self, claim: Claim) -> Sandbox:
        """Give the sandbox of the claim's pod. A pod that was made anew has another one."""
        pod = self.pods[claim.name]
        return Sandbox(
            id=f"{claim.name}-{pod.netns.cookie}",
            pod_uid=f"{claim.name}-pod-uid",
            pod_namespace="default",
            pod_name=f"{claim.name}-pod",
            netns_path=pod.netns.path,
        )

    def sandboxes(self) -> list[Sandbox]:
        """List what runs, as the runtime does for a plugin that connects."""
        return [self.sandbox(claim) for claim in self.all_claims if claim.name in self.running]


def _rescue_hardware(pod: Pod) -> None:
    """Do what the kernel does to hardware when its namespace ends, and not to the link that stands for it here.

    It goes to the host under the name that it has.
    """
    with netns.opened(netns.own()) as host, pod.entered(), Netlink() as netlink:
        for link in netlink.links():
            if link.mac == NIC_MAC:
                netlink.set_link(link.index, net_ns_fd=host)


@contextlib.contextmanager
def world(folder: Path) -> Iterator[World]:
    """Give a world in a namespace of its own, which the calling thread, and all it forks, is in meanwhile."""
    with private_host():
        _links()
        made = World(folder)
        try:
            yield made
        finally:
            for pod in made.pods.values():
                pod.end()


def _links() -> None:
    with Netlink() as host:
        host.set_link(1, up=True)
        host.add_link("eth1", "veth", peer="switch1", address=NIC_MAC)
        host.add_link("up0", "veth", peer="switch0", address="02:00:00:00:00:02")
        index = {link.name: link.index for link in host.links()}
        host.set_link(index["eth1"], mtu=1400)
        for name in ("switch0", "switch1", "up0", "eth1"):
            host.set_link(index[name], up=True)
        _address(host, index["up0"], "192.168.9.2/24")
        configure.add_route(
            host, index["up0"], configure.route_entry(Route(destination="default", gateway="192.168.9.1"))
        )
        _dress(host, index["eth1"])
    sysctl = Path("/proc/sys/net/ipv4/conf/eth1/rp_filter")
    with netns.opened(netns.own()):
        sysctl.write_text("2")


def _dress(host: Netlink, index: int) -> None:
    for address in ("198.51.100.10/24", "2001:db8::10/64"):
        _address(host, index, address)
    gateway = "198.51.100.1"
    for route in (
        Route(destination="10.9.0.0/16", gateway=gateway, metric=50),
        Route(destination="10.8.0.0/16", gateway=gateway, source="198.51.100.10", table=TABLES[1]),
        Route(destination="2001:db8:9::/48", gateway="2001:db8::1"),
    ):
        configure.add_route(host, index, configure.route_entry(route))
    host.add_rule(
        {"family": 2, "action": 1, "table": TABLES[1], "src": "198.51.100.10", "src_len": 32, "priority": 900}
    )
    host.add_neighbour(
        {"family": 2, "ifindex": index, "state": 0x80, "dst": "198.51.100.77", "lladdr": "02:00:00:00:00:77"}
    )


def _address(host: Netlink, index: int, address: str) -> None:
    configure.add_address(host, index, configure.address_entry(address), detect_duplicates=False)
