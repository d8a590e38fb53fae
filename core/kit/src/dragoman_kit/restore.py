"""The way back of a link: from a pod, or from wherever the kernel put it, to the host, and made as it was."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator
from typing import Any

from dragoman_hookspecs import DeviceError, ForeignLink, HostPaths, JsonObject, Netns
from dragoman_kit import configure, identity, netns, sysctl
from dragoman_kit.configure import step
from dragoman_kit.linkinfo import SETTABLE_FLAGS
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.wire import Entry

SPARE_NAME = "dragoman%d"
"""The kernel fills in a free number: the name of a link whose own name a foreign link has taken."""

_HARDWARE_SECONDS = 2.0
_POLL_SECONDS = 0.05


def move_back(former: JsonObject, target: Netns | None, *, host: HostPaths | None = None) -> bool:
    """Bring a link back to the host and make it as ``former``, which ``snapshot`` gave, says. False if it is gone.

    The link is looked for by its identity in ``target``, and then on the host, where the kernel puts hardware when a
    namespace ends. A link that is gone is success. Name, MTU, MAC, alias, flags, group, queue length, alternative
    names, master, sysctls, up state, addresses, routes, rules and permanent neighbours come back; a move between
    namespaces leaves no pod address on the link. An alternative name that another link has taken is left to it.

    Raises ``DeviceError`` when something could not be put back (all else is), and ``ForeignLink`` when a foreign link
    has taken the name: that one is left alone, and ours is on the host, complete, under a spare name. Both may be tried
    again.
    """
    with step(f"bring link {former['name']} back to the host"), Netlink() as outside:
        if target is not None:
            _fetch(outside, former, target)
        link = _on_host(outside, former, host or HostPaths())
        if link is not None:
            _restore(outside, link, former, host or HostPaths())
    return link is not None


def _fetch(outside: Netlink, former: JsonObject, target: Netns) -> None:
    with contextlib.ExitStack() as stack:
        try:
            handle = stack.enter_context(netns.opened(target))
        except FileNotFoundError:
            return
        home = stack.enter_context(netns.opened(netns.own()))
        inside = stack.enter_context(Netlink.inside(handle))
        link = _find(inside, former)
        if link is None or netns.cookie(home) == netns.cookie(handle):
            return
        with step(f"move link {link.name} back to the host as {former['name']}"):
            _send_home(outside, inside, link, home, former)


def _send_home(outside: Netlink, inside: Netlink, link: LinkInfo, home: int, former: JsonObject) -> None:
    name = SPARE_NAME if outside.link(former["name"]) else former["name"]
    for altname in link.altnames:
        # It would keep the link in the pod for ever; the kernel does the same where a namespace ends.
        if altname == former["name"] or outside.link(altname):
            inside.delete_altname(link.index, altname)
    try:
        inside.set_link(link.index, net_ns_fd=home, ifname=name)
    except FileExistsError:
        # Somebody took the name since. The kernel may have moved the link all the same, and only not renamed it.
        if _find(inside, former):
            inside.set_link(link.index, net_ns_fd=home, ifname=SPARE_NAME)


def _on_host(outside: Netlink, former: JsonObject, host: HostPaths) -> LinkInfo | None:
    """Find the link on the host. Hardware returns there by itself, some time after its namespace has ended."""
    if (link := _find(outside, former)) or former["kind"] is not None:
        return link
    sort, _, address = former["identity"].partition(":")
    driver = host.sys / "bus" / "pci" / "devices" / address / "driver"
    deadline = time.monotonic() + _HARDWARE_SECONDS
    while time.monotonic() < deadline:
        if sort == "pci" and not driver.exists():
            return None
        time.sleep(_POLL_SECONDS)
        if link := _find(outside, former):
            return link
    if sort == "pci":
        raise DeviceError(f"link {former['name']} ({address}) is not back on the host yet; it is looked for again")
    return None


def _find(netlink: Netlink, former: JsonObject) -> LinkInfo | None:
    return identity.find(netlink.links(), former["identity"], former["mac"])


def _restore(outside: Netlink, link: LinkInfo, former: JsonObject, host: HostPaths) -> None:
    failures: list[str] = []
    named = link.name == former["name"] or _rename(outside, link, former)
    for key in ("mtu", "mac", "alias", "flags", "group", "queue_length"):
        # Snapshots of earlier versions know less.
        if (value := former.get(key)) is not None and value != getattr(link, key):
            with _noting(failures, f"set {key} to {value}"):
                outside.set_link(link.index, **_change(key, value))
    _restore_altnames(outside, link, former, failures)
    with _noting(failures, f"make it a port of {former['master']}"):
        _enslave(outside, link, former["master"])
    name = former["name"] if named else _find_name(outside, former)
    for family, leaves in former["sysctls"].items():
        for leaf, value in leaves.items():
            with _noting(failures, f"set net.{family}.conf.{name}.{leaf}"):
                sysctl.write(host.proc, family, name, {leaf: value})
    with _noting(failures, f"bring it {'up' if former['up'] else 'down'}"):
        outside.set_link(link.index, up=former["up"])
    _restore_network(outside, link, former, failures)
    if failures:
        raise DeviceError(f"link {former['name']} is back on the host, but one cannot {'; '.join(failures)}")
    if not named and not former["identity"].startswith("tag:"):
        raise ForeignLink(
            f"link {former['name']} is back on the host as {name}: a foreign link has taken its name; rename that one"
        )


def _restore_network(outside: Netlink, link: LinkInfo, former: JsonObject, failures: list[str]) -> None:
    for entry in former["addresses"]:
        with _noting(failures, f"give it address {entry['address']}/{entry['prefixlen']}"):
            configure.add_address(outside, link.index, entry, detect_duplicates=True)
    present = {former["ifindex"], *(other.index for other in outside.links())}
    for entry in configure.in_order(_over(present, route) for route in former["routes"]):
        with _noting(failures, f"add route {configure.describe_route(entry)}"):
            configure.add_route(outside, link.index, entry, former["ifindex"])
    for entry in former["rules"]:
        with _noting(failures, f"add the rule of priority {entry.get('priority')} to table {entry['table']}"):
            configure.add_rule(outside, entry)
    for entry in former["neighbours"]:
        with _noting(failures, f"add neighbour {entry['dst']}"):
            configure.add_neighbour(outside, link.index, entry)


def _over(present: Collection[int], route: Entry) -> Entry:
    """Leave out hops over links that ended meanwhile, as the kernel does: the route could never be added."""
    if "multipath" not in route:
        return route
    return route | {"multipath": [hop for hop in route["multipath"] if hop["oif"] in present]}


def _rename(outside: Netlink, link: LinkInfo, former: JsonObject) -> bool:
    if (other := outside.link(former["name"])) and other.index != link.index:
        return False
    if link.up:
        # Before Linux 6.2 a link that is up keeps its name.
        outside.set_link(link.index, up=False)
    for entry in former["addresses"]:
        # An earlier attempt may have given them back already, and a rename writes new labels.
        with contextlib.suppress(OSError):
            outside.delete_address(entry | {"index": link.index})
    with contextlib.suppress(FileExistsError):
        outside.set_link(link.index, ifname=former["name"])
        return True
    return False


def _restore_altnames(outside: Netlink, link: LinkInfo, former: JsonObject, failures: list[str]) -> None:
    wanted = former.get("altnames", link.altnames)
    for name in set(link.altnames) - set(wanted):
        with _noting(failures, f"take alternative name {name} from it"):
            outside.delete_altname(link.index, name)
    for name in wanted:
        if outside.link(name) is None:
            with _noting(failures, f"give it alternative name {name}"), contextlib.suppress(FileExistsError):
                outside.add_altname(link.index, name)


def _change(key: str, value: Any) -> JsonObject:
    if key == "flags":
        return {"flags": value, "change": SETTABLE_FLAGS}
    return {{"mac": "address", "alias": "ifalias", "queue_length": "txqlen"}.get(key, key): value}


def _enslave(outside: Netlink, link: LinkInfo, name: str | None) -> None:
    if name and (master := outside.link(name)) and master.index != link.master:
        outside.set_link(link.index, master=master.index)


def _find_name(outside: Netlink, former: JsonObject) -> str:
    link = _find(outside, former)
    return link.name if link else former["name"]


@contextlib.contextmanager
def _noting(failures: list[str], what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, DeviceError) as error:
        failures.append(f"{what}: {getattr(error, 'strerror', None) or error}")
