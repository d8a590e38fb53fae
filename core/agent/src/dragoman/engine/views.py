"""What the command line shows of a running agent, as JSON objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dragoman.engine.advertised import Advertised, DeviceView
from dragoman.engine.inventory import Degraded
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.plugins import PluginState, PluginStatus
from dragoman.store.ledger import Ledger
from dragoman_allocator.quantity import InvalidQuantity, parse
from dragoman_hookspecs import JsonObject


def plugin_views(statuses: Sequence[PluginStatus], degraded: Mapping[str, Degraded]) -> Sequence[JsonObject]:
    """List all plugins; a manager that is loaded and cannot be scanned is degraded. ``degraded`` is by type."""
    return [asdict(_judged(status, degraded.get(status.type))) for status in statuses]


def device_views(advertised: Advertised, ledger: Ledger) -> Sequence[JsonObject]:
    """List all devices that are known, published or not, with who holds them."""
    return [_device(view, ledger.of_device(view.device.name)) for view in advertised.views()]


def allocation_views(ledger: Ledger, problems: Mapping[str, str]) -> Sequence[JsonObject]:
    """List everything that is prepared, being prepared or being freed.

    ``problems``: why devices are not in their pod yet, by the UID of the pod.
    """
    return [_allocation(row, ledger.attachments_of(row.key), problems) for row in ledger.allocations()]


def _judged(status: PluginStatus, degraded: Degraded | None) -> PluginStatus:
    if degraded is None or status.state is not PluginState.LOADED:
        return status
    return status.became(PluginState.DEGRADED, degraded.reason)


def _device(view: DeviceView, rows: Sequence[AllocationRow]) -> JsonObject:
    device = view.device
    holders = [row for row in rows if not row.admin_access]
    return {
        "device": device.name,
        "manager": view.manager,
        "pool": view.pool,
        "published": not view.refusal,
        "shareable": device.allow_multiple_allocations,
        "capacity": {
            name: {"total": capacity.value, "free": _free(name, capacity.value, holders)}
            for name, capacity in device.capacity.items()
        },
        "health": view.health.value,
        "holders": [f"{row.claim.namespace}/{row.claim.name}" for row in holders],
        "note": view.refusal or view.degraded or view.message,
    }


def _free(name: str, total: str, holders: Sequence[AllocationRow]) -> str:
    try:
        free = parse(total)
        for row in holders:
            free -= parse(_consumed(row, name))
    except InvalidQuantity:  # such a device is not published, but a person wants to see it, and the others
        return total
    return free.text


def _consumed(row: AllocationRow, name: str) -> str | None:
    """Find what a share consumes of a capacity; the API qualifies the name with the driver's domain or leaves it."""
    driver = row.key.driver
    for spelling in (name, f"{driver}/{name}", name.removeprefix(f"{driver}/")):
        if spelling in row.consumed_capacity:
            return row.consumed_capacity[spelling]
    return None


def _allocation(row: AllocationRow, attachments: Sequence[AttachmentRow], problems: Mapping[str, str]) -> JsonObject:
    attachment = attachments[0] if attachments else None
    pods = [consumer.name for consumer in row.reserved_for]
    return {
        "claim": f"{row.claim.namespace}/{row.claim.name}",
        "uid": row.claim.uid,
        "pods": [attachment.pod_name] if attachment else pods,
        "request": row.key.request,
        "device": row.key.device,
        "manager": row.manager,
        "share": row.key.share_id or None,
        "capacity": dict(row.consumed_capacity),
        "state": row.state.value,
        "attachment": attachment.state.value if attachment else None,
        "interface": attachment.attached.interface if attachment and attachment.attached else None,
        "prepared": dict(row.prepared.state) if row.prepared else None,
        "adminAccess": row.admin_access,
        "failure": row.failure or _not_in(row, attachment, problems) or None,
    }


def _not_in(row: AllocationRow, attachment: AttachmentRow | None, problems: Mapping[str, str]) -> str:
    """Say why a device is not in a pod that waits for it, or not back from one."""
    if attachment is not None:
        return attachment.failure
    return "; ".join(problems[pod.uid] for pod in row.reserved_for if pod.uid in problems)
