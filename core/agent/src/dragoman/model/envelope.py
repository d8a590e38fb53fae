"""What a status entry of a claim tells of its device in ``status.devices[].data``: enough to know it again.

A ledger that was lost is rebuilt from these entries. An entry of the same version may have keys that this program does
not know; one of another version is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from dragoman.model.attribute_json import attribute_json, attribute_of_json
from dragoman.model.claims import AllocationResult, Claim
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import Attached, Device, DragomanError, InPlace, JsonObject, Link, Prepared, Target, json_key

T = TypeVar("T")

VERSION = "status.dragoman.dev/v1"
"""``apiVersion`` of the envelope."""

DISPENSABLE = ("config", "advertised", "snapshot")
"""Parts that may be cut where the entry would be too large, first one first: the claim, the inventory and the kernel
tell them again, if less exactly."""

CUT = "truncated"
"""Key that lists the parts that were cut."""

_ADVERTISED = (
    "capacity",
    "allow_multiple_allocations",
    "counters",
    "taints",
    "node_allocatable",
    "binding_conditions",
    "binding_failure_conditions",
)


class BadEnvelope(DragomanError):
    """An entry cannot be understood. Says why."""


class UnknownVersion(BadEnvelope):
    """An entry was written by a release with another form of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """The sandbox in which a device was, and the host side of its link before. ``boot_id`` is that of the host then."""

    boot_id: str
    sandbox_id: str
    pod_uid: str
    pod_namespace: str
    pod_name: str
    netns_path: str
    netns_cookie: str
    snapshot: JsonObject | None = None
    attached: Attached | None = None

    def attachment(self, key: AllocationKey) -> AttachmentRow:
        """Give the row of the attachment."""
        return AttachmentRow(
            key=AttachmentKey(allocation=key, sandbox_id=self.sandbox_id),
            state=AttachmentState.ATTACHED,
            pod_uid=self.pod_uid,
            pod_namespace=self.pod_namespace,
            pod_name=self.pod_name,
            netns_path=self.netns_path,
            netns_cookie=self.netns_cookie,
            snapshot=self.snapshot,
            attached=self.attached,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What an entry tells. ``cut`` names dispensable parts that it lost; ``filter_values`` of the device are not told,
    as its logical pool is."""

    manager: str
    distribution: str
    plugin_version: str
    device: Device
    prepared: Prepared
    plan: JsonObject = field(default_factory=dict)
    parameters: JsonObject = field(default_factory=dict)
    logical_pool: str | None = None
    whereabouts: Whereabouts | None = None
    cut: frozenset[str] = frozenset()

    def row(self, claim: Claim, result: AllocationResult, position: int) -> AllocationRow:
        """Give the row that the entry was written for, as far as the entry was not cut."""
        return AllocationRow(
            key=AllocationKey(
                claim_uid=claim.uid,
                request=result.request,
                driver=result.driver,
                pool=result.pool,
                device=result.device,
                share_id=result.share_id or "",
            ),
            claim=claim.ref,
            position=position,
            state=AllocationState.PREPARED,
            manager=self.manager,
            distribution=self.distribution,
            plugin_version=self.plugin_version,
            device=self.device,
            parameters=self.parameters,
            consumed_capacity=result.consumed_capacity,
            admin_access=result.admin_access,
            logical_pool=self.logical_pool,
            reserved_for=claim.reserved_for,
            pod_claim_name=claim.pod_claim_name,
            plan=self.plan,
            prepared=self.prepared,
        )


def encode(row: AllocationRow, attachment: AttachmentRow | None = None, boot_id: str = "") -> JsonObject:
    """Give the data of a row's entry, with the attachment in which its device is."""
    device = row.device
    data: JsonObject = {
        "apiVersion": VERSION,
        "manager": row.manager,
        "distribution": row.distribution,
        "pluginVersion": row.plugin_version,
        "identity": device.identity,
        "hostLink": device.link,
        "advertised": _advertised(device),
        "plan": row.plan,
        "config": row.parameters,
    }
    if row.prepared is not None:
        data |= {"device": dict(row.prepared.state), "target": _target_json(row.prepared.target)}
    if row.logical_pool is not None:
        data["pool"] = row.logical_pool
    if row.key.share_id:
        data |= {"shareID": row.key.share_id, "consumedCapacity": dict(row.consumed_capacity)}
    if attachment is not None:
        data["attachment"] = _attachment_json(attachment, boot_id)
        if attachment.snapshot is not None:
            data["snapshot"] = attachment.snapshot
    return data


def decode(data: object, device: str) -> Envelope:
    """Understand the data of the entry of the device of that name.

    Raises ``UnknownVersion``, or ``BadEnvelope`` where it is malformed, tells of no prepared device, or lost a part
    that nobody else knows.
    """
    try:
        return _decode(msgspec.convert(data, dict[str, Any]), device)
    except (msgspec.ValidationError, KeyError, TypeError, ValueError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise BadEnvelope(f"the status entry of device {device} is malformed: {why}") from error


def _decode(data: JsonObject, device: str) -> Envelope:
    if data.get("apiVersion") != VERSION:
        raise UnknownVersion(
            f"the status entry of device {device} has version {data.get('apiVersion')}, and this release knows "
            f"{VERSION}: start the release that wrote it"
        )
    cut = frozenset(_of(data.get(CUT, []), list[str]))
    if lost := cut.difference(DISPENSABLE):
        raise BadEnvelope(f"the status entry of device {device} was too large and lost {', '.join(sorted(lost))}")
    attachment, snapshot = data.get("attachment"), data.get("snapshot")
    return Envelope(
        manager=_of(data["manager"], str),
        distribution=_of(data["distribution"], str),
        plugin_version=_of(data["pluginVersion"], str),
        device=_device(data, device),
        prepared=Prepared(state=_of(data["device"], JsonObject), target=_target(data["target"])),
        plan=_of(data["plan"], JsonObject),
        parameters=_of(data.get("config", {}), JsonObject),
        logical_pool=_of(data.get("pool"), str | None),
        whereabouts=None if attachment is None else _whereabouts(attachment, _of(snapshot, JsonObject | None)),
        cut=cut,
    )


def _of(value: object, type_: Any) -> Any:
    return msgspec.convert(value, type_)


def _target_json(target: Target) -> JsonObject | None:
    match target:
        case Link():
            return {"link": target.name, "identity": target.identity}
        case InPlace():
            return {"inPlace": target.name}
    return None


def _target(item: Any) -> Target:
    if item is None:
        return None
    if "inPlace" in item:
        return InPlace(name=_of(item["inPlace"], str))
    return Link(name=_of(item["link"], str), identity=_of(item["identity"], str))


def _advertised(device: Device) -> JsonObject:
    told = {json_key(name): _short(getattr(device, name)) for name in _ADVERTISED}
    attributes = {name: attribute_json(value) for name, value in device.attributes.items()}
    return {name: value for name, value in {"attributes": attributes, **told}.items() if value}


def _short(value: object) -> Any:
    """Give a value as JSON without what is its default anyway."""
    return _without_nothing(msgspec.to_builtins(value))


def _without_nothing(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {key: _without_nothing(value) for key, value in item.items() if value not in (None, [], ())}
    return [_without_nothing(value) for value in item] if isinstance(item, list | tuple) else item


@cache
def _hints() -> Mapping[str, Any]:
    hints = get_type_hints(Device)
    return {each.name: hints[each.name] for each in fields(Device)}


def _device(data: JsonObject, name: str) -> Device:
    told = _of(data.get("advertised", {}), JsonObject)
    known = {each: _of(told[json_key(each)], _hints()[each]) for each in _ADVERTISED if json_key(each) in told}
    attributes = _of(told.get("attributes", {}), dict[str, JsonObject])
    return Device(
        name=name,
        identity=_of(data["identity"], str),
        link=_of(data["hostLink"], str | None),
        attributes={key: attribute_of_json(item) for key, item in attributes.items()},
        **known,
    )


def _attachment_json(row: AttachmentRow, boot_id: str) -> JsonObject:
    return {
        "bootID": boot_id,
        "sandbox": row.key.sandbox_id,
        "podUID": row.pod_uid,
        "podNamespace": row.pod_namespace,
        "podName": row.pod_name,
        "netns": row.netns_path,
        "netnsCookie": row.netns_cookie,
        "attached": None if row.attached is None else msgspec.to_builtins(row.attached),
    }


def _whereabouts(item: Any, snapshot: JsonObject | None) -> Whereabouts:
    told = _of(item, JsonObject)
    texts = {
        "boot_id": "bootID",
        "sandbox_id": "sandbox",
        "pod_uid": "podUID",
        "pod_namespace": "podNamespace",
        "pod_name": "podName",
        "netns_path": "netns",
        "netns_cookie": "netnsCookie",
    }
    return Whereabouts(
        **{name: _of(told[key], str) for name, key in texts.items()},
        snapshot=snapshot,
        attached=_of(told["attached"], Attached | None),
    )
