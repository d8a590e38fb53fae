"""The way of a link into a pod: moved by the handle of its network namespace and configured there.

These functions work in the calling thread's network namespace (the host's). The way back is in ``restore``, what is
remembered of the host side in ``snapshot``.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Iterator, Sequence

from dragoman_hookspecs import Attached, DeviceError, HostPaths, JsonObject, Link, Netns, Parameters, rules
from dragoman_kit import configure, identity, netns, sysctl
from dragoman_kit.configure import step
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.restore import move_back
from dragoman_kit.snapshot import remnant, snapshot
from dragoman_kit.wire import Entry

__all__ = ["find_inside", "move_back", "move_in", "snapshot"]

_SCOPE_LINK = 253


def move_in(former: JsonObject, parameters: Parameters, target: Netns, *, host: HostPaths | None = None) -> Attached:
    """Bring a link into a namespace under its final name and configure it.

    ``former`` is what ``snapshot`` gave. Order: identity, move and rename in one step, MTU and MAC, up, addresses,
    on-link routes, gateway routes, neighbours, sysctls. MTU and MAC stay as they are unless the parameters name them;
    addresses, routes and permanent neighbours of the host side come along only as ``inherit`` says.

    Raises ``LinkMissing``, ``ForeignLink``, or ``DeviceError`` with the step that failed. After a failure the link is
    on the host as ``former`` says; where even that failed, the error has a note.
    """
    name = parameters.pod_if_name or former["name"]
    if fault := rules.interface_name(name):
        raise DeviceError(f"link {former['name']} cannot go into the pod: {fault}")
    host = host or HostPaths()
    with step(f"attach link {former['name']}"), contextlib.ExitStack() as stack:
        with step(f"open the network namespace of the pod for link {former['name']}"):
            handle = stack.enter_context(netns.opened(target))
        outside = stack.enter_context(Netlink())
        inside = stack.enter_context(Netlink.inside(handle))
        link = identity.require(outside, former["identity"], former["name"])
        if parameters.mac and identity.hangs_on_mac(former["identity"], link):
            raise DeviceError(f"the MAC of link {link.name} cannot be changed: it is known by it alone; leave out mac")
        try:
            with step(f"move link {link.name} into the pod as {name}"):
                if name in link.altnames:
                    outside.delete_altname(link.index, name)
                outside.set_link(link.index, net_ns_fd=handle, ifname=name)
            _set_hardware(inside, name, parameters)
            # Below a certain MTU a link has no settings of IPv6.
            _let_ipv6_in(handle, name, former, parameters, host)
            moved = _configure(inside, name, former, parameters)
            _write_sysctls(handle, name, parameters, host)
            return _describe(inside, moved)
        except BaseException as error:
            _undo(former, target, host, error)
            raise


def find_inside(link: Link, target: Netns) -> tuple[JsonObject, Attached] | None:
    """Find a link inside a namespace by its identity; None where it, or the namespace, is not there.

    Gives a snapshot of its host side as far as the kernel still knows it, for ``move_back``, and what the pod sees.
    Raises ``ForeignLink`` where several links claim the identity, or ``DeviceError``.
    """
    with step(f"look for link {link.name} in {target.path}"), contextlib.ExitStack() as stack:
        try:
            handle = stack.enter_context(netns.opened(target))
        except FileNotFoundError:
            return None
        inside = stack.enter_context(Netlink.inside(handle))
        found = identity.find(inside.links(), link.identity)
        return (remnant(link, found), _describe(inside, found)) if found else None


def _in_pod(inside: Netlink, name: str) -> LinkInfo:
    link = inside.link(name)
    if link is None:
        raise DeviceError(f"link {name} vanished from the pod while it was configured")
    return link


def _set_hardware(inside: Netlink, name: str, parameters: Parameters) -> None:
    link = _in_pod(inside, name)
    if parameters.mtu is not None:
        with step(f"set the MTU of link {name} to {parameters.mtu}"):
            inside.set_link(link.index, mtu=parameters.mtu)
    if parameters.mac is not None:
        with step(f"set the MAC of link {name} to {parameters.mac}"):
            inside.set_link(link.index, address=parameters.mac)


def _configure(inside: Netlink, name: str, former: JsonObject, parameters: Parameters) -> LinkInfo:
    link = _in_pod(inside, name)
    with step(f"bring link {name} up"):
        inside.set_link(link.index, up=True)
    for entry in _addresses(former, parameters):
        with step(f"give address {entry['local']}/{entry['prefixlen']} to link {name}"):
            configure.add_address(inside, link.index, entry, detect_duplicates=False)
    for entry in configure.in_order(_routes(inside, link, former, parameters)):
        with step(f"add route {configure.describe_route(entry)} over link {name}"):
            configure.add_route(inside, link.index, entry, former["ifindex"])
    for entry in former["neighbours"] if "neighbours" in parameters.inherit else ():
        with step(f"add neighbour {entry['dst']} on link {name}"):
            configure.add_neighbour(inside, link.index, entry)
    return link


def _addresses(former: JsonObject, parameters: Parameters) -> Iterator[Entry]:
    yield from map(configure.address_entry, parameters.addresses)
    for entry in former["addresses"] if "addresses" in parameters.inherit else ():
        # The label begins with the name that the link had on the host.
        yield {"local": entry["address"]} | {key: value for key, value in entry.items() if key != "label"}


def _routes(inside: Netlink, link: LinkInfo, former: JsonObject, parameters: Parameters) -> Sequence[Entry]:
    routes = [configure.route_entry(route) for route in parameters.routes]
    if "routes" in parameters.inherit:
        local: set[str] = {entry.get("local") or entry["address"] for entry in inside.addresses(link.index)}
        routes += [_inherited(entry, former["ifindex"], local) for entry in former["routes"]]
    return routes


def _inherited(entry: Entry, former_index: int, local: set[str]) -> Entry:
    """A route of the host side, without a source that the pod does not have and without hops over other links."""
    inherited = {key: value for key, value in entry.items() if key != "prefsrc" or value in local}
    if "multipath" in entry:
        inherited["multipath"] = [hop for hop in entry["multipath"] if hop["oif"] == former_index]
    return inherited


def _let_ipv6_in(handle: int, name: str, former: JsonObject, parameters: Parameters, host: HostPaths) -> None:
    """Runtimes switch IPv6 off in pods that have no IPv6 address of the cluster; a link that has one needs it."""
    if any(entry["family"] == socket.AF_INET6 for entry in _addresses(former, parameters)):
        value = parameters.interface_sysctl_ipv6.get("disable_ipv6", "0")
        with netns.entered(handle):
            sysctl.write(host.proc, "ipv6", name, {"disable_ipv6": value})


def _write_sysctls(handle: int, name: str, parameters: Parameters, host: HostPaths) -> None:
    if parameters.interface_sysctl_ipv4 or parameters.interface_sysctl_ipv6:
        with netns.entered(handle):
            sysctl.write(host.proc, "ipv4", name, parameters.interface_sysctl_ipv4)
            sysctl.write(host.proc, "ipv6", name, parameters.interface_sysctl_ipv6)


def _describe(inside: Netlink, link: LinkInfo) -> Attached:
    with step(f"read link {link.name} in the pod"):
        addresses = inside.addresses(link.index)
    ips = [
        str(ipaddress.ip_interface(f"{entry.get('local', entry['address'])}/{entry['prefixlen']}"))
        for entry in addresses
        if entry["scope"] != _SCOPE_LINK
    ]
    return Attached(interface=link.name, mac=link.mac, ips=tuple(ips))


def _undo(former: JsonObject, target: Netns, host: HostPaths, error: BaseException) -> None:
    try:
        move_back(former, target, host=host)
    except (DeviceError, OSError) as undoing:
        error.add_note(f"and undoing it failed: {undoing}")
