"""A work bench for device managers: hooks called as core calls them, records as the ledger gives them back."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from dragoman_hookspecs import (
    Allocation,
    AttachDevice,
    Attached,
    Context,
    DescribeDevice,
    DetachDevice,
    Device,
    DeviceManager,
    FreeDevice,
    HostPaths,
    Inventory,
    JsonObject,
    Link,
    Netns,
    Parameters,
    PlanDevice,
    Prepared,
    Record,
    RecoverDevices,
    Recovered,
    SetupDevice,
)
from dragoman_kit import sysctl
from dragoman_kit.links import snapshot
from dragoman_kit.netlink import LinkInfo, Netlink

T = TypeVar("T")

# rtnetlink(7): what the kernel makes for every link that is up.
_SCOPE_LINK, _PROTO_KERNEL = 253, 2

SHARES = ("5a0c1d52-0000-4000-8000-000000000001", "5a0c1d52-0000-4000-8000-000000000002")
CLAIMS = ("c1a10000-0000-4000-8000-000000000001", "c1a10000-0000-4000-8000-000000000002")


class Blocked(AssertionError):
    """A hook did not return within its limit."""


class Strayed(AssertionError):
    """A hook left its thread in another network namespace."""


@dataclass(frozen=True, slots=True)
class Bench:
    """One life of a manager, with its limit for each call in seconds."""

    manager: Any
    limit: float

    @classmethod
    def of(cls, descriptor: DeviceManager, settings: object, folder: Path, limit: float) -> Bench:
        """Make the manager's object and start it, as core does. An earlier life is not stopped: it was killed."""
        context = Context(node_name="node-1", driver_name="net.example.com", state_dir=folder, cdi_dir=folder)
        bench = cls(manager=descriptor.create(context, settings), limit=limit)
        if bench.has("start"):
            bench.call("start")
        return bench

    def has(self, hook: str) -> bool:
        """Tell whether the manager has an optional hook."""
        return hasattr(self.manager, hook)

    def call(self, hook: str, *arguments: object) -> Any:
        """Call a hook on a thread of its own, within the limit; the thread must come home, the arguments stay."""
        given = repr(arguments)
        result = within(self.limit, hook, getattr(self.manager, hook), *arguments)
        assert repr(arguments) == given, f"{hook} changed what it was given"
        return result

    def scan(self) -> Inventory:
        """Scan."""
        inventory = self.call("discover_devices")
        assert isinstance(inventory, Inventory), f"discover_devices gave {type(inventory).__name__}, not an Inventory"
        return inventory

    def plan(self, allocation: Allocation) -> JsonObject:
        """Plan; an empty object where the hook is absent."""
        return durable(self.call("plan_device", PlanDevice(allocation=allocation))) if self.has("plan_device") else {}

    def setup(self, allocation: Allocation, plan: JsonObject) -> Prepared:
        """Set up; the state as the ledger gives it back."""
        prepared: Prepared = self.call("setup_device", SetupDevice(allocation=allocation, plan=plan))
        return replace(prepared, state=durable(prepared.state))

    def prepare(self, allocation: Allocation) -> Record:
        """Plan and set up; what the ledger holds then."""
        plan = self.plan(allocation)
        return Record(allocation=allocation, plan=plan, prepared=self.setup(allocation, plan))

    def remember(self, record: Record) -> Record:
        """Take the snapshot, as before each attach; what the ledger holds then."""
        assert record.prepared is not None
        assert isinstance(record.prepared.target, Link)
        return replace(record, snapshot=durable(within(self.limit, "snapshot", snapshot, record.prepared.target)))

    def attach(self, record: Record, netns: Netns) -> Record:
        """Take the snapshot and attach; what the ledger holds then."""
        record = self.remember(record)
        attached: Attached = self.call("attach_device", AttachDevice(record=record, netns=netns))
        return replace(record, attached=replace(attached, state=durable(attached.state)))

    def detach(self, record: Record, netns: Netns | None) -> Record:
        """Detach; what the ledger holds then."""
        assert record.prepared is not None
        state = durable(self.call("detach_device", DetachDevice(record=record, netns=netns)))
        return replace(record, prepared=replace(record.prepared, state=state), snapshot=None, attached=None)

    def free(self, record: Record) -> None:
        """Free."""
        self.call("free_device", FreeDevice(record=record))

    def recover(self, *records: Record, complete: bool = False) -> list[Recovered]:
        """Recover."""
        answers = list(self.call("recover_devices", RecoverDevices(records=records, complete=complete)))
        assert len(answers) == len(records), "recover_devices gives one answer for each record, in order"
        return answers

    def describe(self, hook: str, record: Record) -> object:
        """Call one of the pure describing hooks."""
        return self.call(hook, DescribeDevice(record=record))


def allocate(device: Device, parameters: Parameters, number: int = 0) -> Allocation:
    """Give the allocation that a scheduler could make: of a shareable device a share, else the whole device."""
    shared = device.allow_multiple_allocations
    amounts = {name: (value.policy and value.policy.default) or value.value for name, value in device.capacity.items()}
    return Allocation(
        claim_uid=CLAIMS[number],
        claim_namespace="default",
        claim_name=f"claim-{number}",
        request="net",
        pool="node-1",
        device=device,
        share_id=SHARES[number] if shared else None,
        consumed_capacity=amounts if shared else {},
        parameters=parameters,
    )


def durable(value: Any) -> Any:
    """Give what the ledger would give back, after seeing that it is the same."""
    kept = json.loads(json.dumps(value))
    assert kept == value, f"state must survive JSON unchanged: {value!r} became {kept!r}"
    return kept


def host_links() -> Mapping[str, tuple[object, ...]]:
    """Give the links of the calling thread's namespace with what a manager must not change of foreign ones.

    Index, kind, MAC, MTU, whether it is up, alias, master, and then what else there is of it. The policy rules stand
    with the loopback link.
    """
    with Netlink() as netlink:
        return {
            link.name: (
                *(link.index, link.kind, link.mac, link.mtu, link.up, link.alias, link.master),
                *(link.altnames, link.flags, link.group, link.queue_length),
                *(_settings(link), _addresses(netlink, link), _routes(netlink, link)),
                _rules(netlink) if link.name == "lo" else [],
            )
            for link in netlink.links()
        }


def _rules(netlink: Netlink) -> list[str]:
    # Whether the link that a rule names is there is in its flags.
    return sorted(repr({key: value for key, value in rule.items() if key != "flags"}) for rule in netlink.rules())


def _settings(link: LinkInfo) -> object:
    return sysctl.differing(HostPaths().proc, link.name)


def _addresses(netlink: Netlink, link: LinkInfo) -> list[str]:
    """Addresses but for those that the kernel makes, at a time of its own."""
    entries = [entry for entry in netlink.addresses(link.index) if entry["scope"] != _SCOPE_LINK]
    return sorted(f"{entry['address']}/{entry['prefixlen']}" for entry in entries)


def _routes(netlink: Netlink, link: LinkInfo) -> list[str]:
    """Routes but for those that the kernel makes."""
    keys = ("family", "dst", "dst_len", "gateway", "table", "priority", "prefsrc")
    entries = [entry for entry in netlink.routes(link.index) if entry["proto"] != _PROTO_KERNEL]
    return sorted(repr([entry.get(key) for key in keys]) for entry in entries)


def within(limit: float, what: str, function: Callable[..., T], *arguments: object) -> T:
    """Run a function on a thread of its own; raise what it raises, or ``Blocked`` or ``Strayed``."""
    results: list[T] = []
    errors: list[BaseException] = []
    namespaces: list[int] = []

    def run() -> None:
        namespaces.append(_namespace())
        try:
            results.append(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread
            errors.append(error)
        namespaces.append(_namespace())

    thread = threading.Thread(target=run, name=what, daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        raise Blocked(f"{what} did not return within {limit} seconds")
    if namespaces[0] != namespaces[1]:
        raise Strayed(f"{what} left its thread in another network namespace")
    if errors:
        raise errors[0]
    return results[0]


def _namespace() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino
