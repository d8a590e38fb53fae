"""What others are told of prepared devices: metadata files, claim status, the answer to the kubelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.engine.parts import Parts
from dragoman.hooks import PluginMissing
from dragoman.model import envelope
from dragoman.model.attribute_json import attribute_json
from dragoman.model.claims import PreparedDevice, base_request
from dragoman.model.records import AllocationRow, AttachmentRow
from dragoman.model.states import AttachmentState
from dragoman.model.status import ClaimStatus, Condition, DeviceStatus
from dragoman_hookspecs import (
    ContainerEdits,
    InPlace,
    JsonObject,
    Metadata,
    MetadataClaim,
    MetadataDevice,
    NetworkData,
)


def needs_attach(row: AllocationRow) -> bool:
    """Tell whether the device has something to attach, and therefore a guard."""
    return row.prepared is not None and row.prepared.target is not None and not row.admin_access


@dataclass(frozen=True, slots=True)
class Describing:
    """Describes the rows of one claim."""

    parts: Parts

    def attachment(self, row: AllocationRow) -> AttachmentRow | None:
        """Give the attachment in which the device is now."""
        for attachment in self.parts.ledger.attachments_of(row.key):
            if attachment.state is AttachmentState.ATTACHED:
                return attachment
        return None

    async def write_files(self, rows: Sequence[AllocationRow]) -> Mapping[str, tuple[str, ...]]:
        """Write CDI specs of the devices and the metadata; give the metadata's CDI ids by request.

        Writing the same again changes nothing, so this also repairs a folder that was emptied. Guards are not
        touched. Raises what a hook raises.
        """
        parts = self.parts
        for row in rows:
            edits = ContainerEdits()
            if not row.admin_access:
                edits = await parts.hooks.container_edits(row.manager, parts.record(row, self.attachment(row)))
            await parts.cdi.write_device(row.key, edits)
        claim, devices = self._claim(rows), [await self._device(row) for row in rows]
        ids: dict[str, tuple[str, ...]] = {}
        for written in await parts.hooks.write_metadata(claim, devices):
            for request, names in written.cdi_devices.items():
                ids[request] = (*ids.get(request, ()), *names)
        return ids

    def answer(
        self, rows: Sequence[AllocationRow], metadata: Mapping[str, tuple[str, ...]]
    ) -> tuple[PreparedDevice, ...]:
        """Give the devices of the answer to prepare.

        The device's own id comes first (the kubelet shows health under it), its guard second; the metadata of a
        request goes with the first device of that request.
        """
        seen: set[str] = set()
        devices = []
        for row in rows:
            request = base_request(row.key.request)
            ids = [self.parts.cdi.device_id(row.key)]
            if needs_attach(row):
                ids.append(self.parts.cdi.guard_id(row.key))
            if request not in seen:
                ids += metadata.get(request, ())
            seen.add(request)
            devices.append(
                PreparedDevice(
                    requests=(request,),
                    pool=row.key.pool,
                    device=row.key.device,
                    cdi_device_ids=tuple(ids),
                    share_id=row.key.share_id or None,
                )
            )
        return tuple(devices)

    async def status(self, rows: Sequence[AllocationRow], problem: str = "") -> ClaimStatus:
        """Give the status entries of a claim; ``problem`` is why its devices are not in the pod yet."""
        return ClaimStatus(claim=rows[0].claim, devices=tuple([await self._status(row, problem) for row in rows]))

    async def _status(self, row: AllocationRow, problem: str) -> DeviceStatus:
        attachment = self.attachment(row)
        conditions = [Condition(type="Ready", status="True", reason="Prepared", message="the device is prepared")]
        if row.failure:
            conditions = [Condition(type="Ready", status="False", reason="Failed", message=row.failure)]
        if needs_attach(row):
            conditions.append(_network_ready(attachment, problem))
        return DeviceStatus(
            driver=row.key.driver,
            pool=row.key.pool,
            device=row.key.device,
            share_id=row.key.share_id or None,
            conditions=tuple(conditions),
            data=envelope.encode(row, attachment, self.parts.ledger.boot_id),
            network_data=await self._seen(row, attachment) if attachment else None,
        )

    def _claim(self, rows: Sequence[AllocationRow]) -> MetadataClaim:
        row = rows[0]
        return MetadataClaim(
            uid=row.claim.uid,
            namespace=row.claim.namespace,
            name=row.claim.name,
            pod_claim_name=row.pod_claim_name,
            shared=len(row.reserved_for) > 1,
        )

    async def _device(self, row: AllocationRow) -> MetadataDevice:
        # What one pod of a shared claim sees is not for the others.
        attachment = self.attachment(row) if len(row.reserved_for) <= 1 else None
        metadata = await self._metadata(row, attachment)
        published = {**row.device.attributes, "deviceManager": row.manager}
        if row.logical_pool is not None:
            published["pool"] = row.logical_pool
        network = _network_data(row, attachment, metadata)
        return MetadataDevice(
            request=row.key.request,
            driver=row.key.driver,
            pool=row.key.pool,
            device=row.key.device,
            share_id=row.key.share_id or None,
            attributes={name: attribute_json(value) for name, value in {**published, **metadata.attributes}.items()},
            network_data=_network_json(network),
        )

    async def _metadata(self, row: AllocationRow, attachment: AttachmentRow | None) -> Metadata:
        if row.admin_access:
            return Metadata()
        try:
            return await self.parts.hooks.device_metadata(row.manager, self.parts.record(row, attachment))
        except PluginMissing:
            return Metadata()

    async def _seen(self, row: AllocationRow, attachment: AttachmentRow) -> NetworkData | None:
        return _network_data(row, attachment, await self._metadata(row, attachment))


def _network_data(row: AllocationRow, attachment: AttachmentRow | None, metadata: Metadata) -> NetworkData | None:
    """Give what the pod sees, as far as it is known: all of it once attached, before that the configured name."""
    if metadata.network_data is not None:
        return metadata.network_data
    if attachment is not None and attachment.attached is not None:
        seen = attachment.attached
        return NetworkData(interface_name=seen.interface, hardware_address=seen.mac, ips=seen.ips)
    name = row.parameters.get("podIfName")
    if name is None and needs_attach(row) and row.prepared and isinstance(row.prepared.target, InPlace):
        name = row.prepared.target.name
    return NetworkData(interface_name=name) if name else None


def _network_ready(attachment: AttachmentRow | None, problem: str) -> Condition:
    if attachment is None:
        reason = "AttachFailed" if problem else "NotAttached"
        message = problem or "the device is in no pod"
        return Condition(type="NetworkReady", status="False", reason=reason, message=message)
    pod = f"{attachment.pod_namespace}/{attachment.pod_name}"
    return Condition(type="NetworkReady", status="True", reason="Attached", message=f"attached to pod {pod}")


def _network_json(network: NetworkData | None) -> JsonObject | None:
    if network is None:
        return None
    values = {
        "interfaceName": network.interface_name,
        "hardwareAddress": network.hardware_address,
        "ips": list(network.ips),
    }
    return {key: value for key, value in values.items() if value}
