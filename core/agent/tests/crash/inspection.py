"""What is left wrong on a node, read from the kernel, the disk and the ledger: sentences, none where all is well.

A node is well when every row is a finished one, every prepared device is where its rows say, and there is nothing else:
no other link, file or folder, and the host side of every link that is not in a pod is as it was before everything.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import Link
from dragoman_kit.netlink import LinkInfo, Netlink
from dragoman_kit.wire import Entry

from .world import DRIVER, NIC, TABLES, World, inside

Picture = Mapping[str, Any]

_ALL = 0
_KERNEL_PROTO = 2
_PERMANENT = 0x80


def host_picture() -> Picture:
    """Read the links of the calling thread's namespace with all that must come back, and the rules."""
    with Netlink() as netlink:
        links = netlink.links()
        addresses, neighbours = netlink.addresses(_ALL), netlink.neighbours(_ALL)
        routes = [route for table in TABLES for route in netlink.table(table)]
        rules = sorted(f"{rule.get('priority', 0)}: {rule.get('src')} {rule['table']}" for rule in netlink.rules())
    return {
        "rules": rules,
        "links": {
            link.name: _own(link)
            | {
                "addresses": _addresses(each for each in addresses if each["index"] == link.index),
                "routes": _routes(each for each in routes if each.get("oif") == link.index),
                "neighbours": _neighbours(each for each in neighbours if each["ifindex"] == link.index),
            }
            for link in links
        },
    }


def _own(link: LinkInfo) -> dict[str, Any]:
    return {
        "kind": link.kind,
        "alias": link.alias,
        "up": link.up,
        "mtu": link.mtu,
        "mac": link.mac,
        "master": link.master,
        "rp_filter": _sysctl(link.name, "rp_filter"),
        "forwarding": _sysctl(link.name, "forwarding"),
    }


def _neighbours(entries: Iterable[Entry]) -> set[str]:
    return {f"{each['dst']} {each.get('lladdr')}" for each in entries if each["state"] & _PERMANENT}


def _addresses(entries: Iterable[Entry]) -> set[str]:
    """Addresses that somebody gave; the link-local one comes and goes with the carrier."""
    return {f"{each['address']}/{each['prefixlen']}" for each in entries if not each["address"].startswith("fe80:")}


def _routes(entries: Iterable[Entry]) -> set[str]:
    return {_route(each) for each in entries if each["proto"] != _KERNEL_PROTO}


def _route(entry: Entry) -> str:
    words = [f"{entry.get('dst', 'default')}/{entry['dst_len']}"]
    for key, word in (("gateway", "via"), ("prefsrc", "from"), ("priority", "metric")):
        words += [f"{word} {entry[key]}"] if entry.get(key) else []
    return " ".join([*words, f"table {entry['table']}"])


def _sysctl(link: str, leaf: str) -> str:
    return Path(f"/proc/sys/net/ipv4/conf/{link}/{leaf}").read_text().strip()


def faults(world: World, ledger: Ledger, before: Picture) -> list[str]:
    """Say all that is wrong on the node now; ``before`` is the picture of the host before everything."""
    rows, attachments = ledger.allocations(), ledger.attachments()
    return [
        *_row_faults(rows, attachments),
        *_host_faults(rows, attachments, before),
        *_pod_faults(world, rows, attachments),
        *_cdi_faults(world, rows, attachments),
        *_state_faults(world, rows),
    ]


def leftovers(world: World, ledger: Ledger, before: Picture) -> list[str]:
    """Say what is left on a node where nothing may be."""
    return [*(f"row of {row.key} is left" for row in ledger.allocations()), *faults(world, ledger, before)]


def open_guards(world: World) -> list[str]:
    """Say which guards let a container into a pod that does not have the device; nobody need have recovered."""
    found = []
    for path in world.cdi_dir.glob(f"{DRIVER}-guard_*.json"):
        (device,) = json.loads(path.read_bytes())["devices"]
        (mount,) = device["containerEdits"]["mounts"]
        name = device["name"].rpartition(".")[2]
        for pod in world.pods.values():
            if pod.netns.path == mount["hostPath"]:
                with pod.entered():
                    links = [link for _, link in socket.if_nameindex()]
                if inside(name)["name"] not in links:
                    found.append(f"the guard of {name} is open, and its pod has only {links}")
    return found


def _row_faults(rows: Iterable[AllocationRow], attachments: Iterable[AttachmentRow]) -> Iterator[str]:
    for row in rows:
        if row.state is not AllocationState.PREPARED or row.failure:
            yield f"{row.key} is {row.state} ({row.failure})"
    for attachment in attachments:
        if attachment.state is not AttachmentState.ATTACHED or attachment.failure:
            yield f"{attachment.key.allocation} is {attachment.state} ({attachment.failure})"


def _host_faults(rows: Iterable[AllocationRow], attachments: Iterable[AttachmentRow], before: Picture) -> Iterator[str]:
    moved = {attachment.key.allocation for attachment in attachments}
    now = host_picture()
    links: dict[str, Any] = dict(before["links"])
    for row in rows:
        target = row.prepared.target if row.prepared else None
        if isinstance(target, Link) and row.key.device == NIC and row.key in moved:
            del links[NIC]
        elif isinstance(target, Link) and row.key.device != NIC and row.key not in moved and not _is_gone(row):
            links[target.name] = _made(target)
    yield from _differences("the host has", now["links"], links, _compare_link)
    if now["rules"] != before["rules"]:
        yield f"the rules of the host are {now['rules']}, not {before['rules']}"


def _is_gone(row: AllocationRow) -> bool:
    """Tell whether the row says that the link ended with its pod; it is made again for the next one."""
    return bool(row.prepared and row.prepared.state.get("gone"))


def _made(target: Link) -> Picture:
    """What is told of a link that was made and waits for its pod: it is down, and it carries its tag."""
    return {"alias": f"dragoman:{target.identity.removeprefix('tag:')}", "up": False, "addresses": set(), "mtu": 1500}


def _compare_link(name: str, now: Picture, wanted: Picture) -> Iterator[str]:
    for key, value in wanted.items():
        if now[key] != value:
            yield f"{key} of link {name} on the host is {now[key]!r}, not {value!r}"


def _pod_faults(world: World, rows: Iterable[AllocationRow], attachments: Iterable[AttachmentRow]) -> Iterator[str]:
    by_key = {row.key: row for row in rows}
    by_path: dict[str, list[AttachmentRow]] = {}
    for attachment in attachments:
        by_path.setdefault(attachment.netns_path, []).append(attachment)
        if attachment.key.allocation not in by_key:
            yield f"{attachment.key.allocation} is attached and has no row"
    pods = {pod.netns.path: (name, pod) for name, pod in world.pods.items()}
    for path in by_path.keys() - pods.keys():
        yield f"a device is attached to {path}, which is gone"
    for path, (name, pod) in pods.items():
        wanted = {}
        for attachment in by_path.get(path, ()):
            what = inside(attachment.key.allocation.device)
            wanted[what["name"]] = what
        with pod.entered():
            links = {link: value for link, value in host_picture()["links"].items() if link != "lo"}
        yield from _differences(f"pod {name} has", links, wanted, _compare_inside)


def _compare_inside(name: str, now: Picture, wanted: Picture) -> Iterator[str]:
    for key in wanted.keys() - {"name"}:
        if now[key] != wanted[key]:
            yield f"{key} of {name} in the pod is {now[key]!r}, not {wanted[key]!r}"
    if not now["up"]:
        yield f"{name} in the pod is down"


def _cdi_faults(world: World, rows: Iterable[AllocationRow], attachments: Iterable[AttachmentRow]) -> Iterator[str]:
    wanted = {f"{DRIVER}-metadata_{row.claim.uid}.json" for row in rows}
    guards: dict[str, str] = {}
    for row in rows:
        wanted |= {name for name in world.cdi.file_names(row.key) if "-device_" in name}
    for attachment in attachments:
        (name,) = (name for name in world.cdi.file_names(attachment.key.allocation) if "-guard_" in name)
        guards[name] = attachment.netns_path
    there = {path.name: path for path in world.cdi_dir.iterdir()} if world.cdi_dir.is_dir() else {}
    yield from _differences("the CDI folder has", there, dict.fromkeys(wanted | guards.keys()), lambda *_: ())
    for name, path in there.items():
        with contextlib.suppress(KeyError):
            (device,) = json.loads(path.read_bytes())["devices"][:1]
            (mount,) = device["containerEdits"]["mounts"][:1]
            if name in guards and mount["hostPath"] != guards[name]:
                yield f"guard {name} mounts {mount['hostPath']}, not {guards[name]}"


def _state_faults(world: World, rows: Iterable[AllocationRow]) -> Iterator[str]:
    """Files of metadata for each prepared request, and beside the ledger's own nothing else."""
    wanted = {f"claims/{row.claim.uid}/{row.key.request}.json": row for row in rows}
    folder = world.state / "plugins" / "metadata"
    there = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    yield from _differences("the metadata folder has", there, wanted, lambda *_: ())
    uids = {row.claim.uid for row in rows}
    for path in folder.glob("claims/*"):
        if path.name not in uids:
            yield f"the metadata folder of {path.name} is left"
    own = {"ledger.db", "ledger.db-wal", "ledger.db-shm", "lock", "plugins"}
    for path in world.state.iterdir():
        if path.name not in own:
            yield f"{path.name} is left in the state folder"


def _differences(
    where: str,
    now: Mapping[str, Any],
    wanted: Mapping[str, Any],
    compare: Callable[[str, Any, Any], Iterable[str]],
) -> Iterator[str]:
    for name in sorted(now.keys() - wanted.keys()):
        yield f"{where} {name}, which should not be there"
    for name in sorted(wanted.keys() - now.keys()):
        yield f"{where} no {name}"
    for name in sorted(now.keys() & wanted.keys()):
        yield from compare(name, now[name], wanted[name])
