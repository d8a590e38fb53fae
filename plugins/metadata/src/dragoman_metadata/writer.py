"""The plugin: one metadata file for each request of a claim, exposed read-only through one CDI spec a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dragoman_hookspecs import (
    ApplySettings,
    ContainerEdits,
    Context,
    DragomanError,
    InvalidConfig,
    MetadataClaim,
    MetadataDevice,
    Mount,
    RemoveMetadata,
    WriteMetadata,
    Writer,
    WrittenMetadata,
    hookimpl,
)
from dragoman_kit import cdi, files
from dragoman_metadata.model import (
    BASE,
    SUFFIX,
    VERSIONS,
    Device,
    DeviceMetadata,
    NetworkData,
    Request,
    relative_path,
)
from dragoman_metadata.stream import MetadataError, decode, encode
from dragoman_metadata.validation import validate


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataSettings:
    """``versions``: what is written, in this order; v1beta1 must be among them (KEP-5304, Kubernetes 1.37)."""

    versions: tuple[str, ...] = VERSIONS

    def __post_init__(self) -> None:
        known = ", ".join(VERSIONS)
        for index, version in enumerate(self.versions):
            if version not in VERSIONS:
                raise InvalidConfig.at(f"versions[{index}]", f"{version!r} is not one of {known}")
            if version in self.versions[:index]:
                raise InvalidConfig.at(f"versions[{index}]", f"{version} stands twice")
        if "v1beta1" not in self.versions:
            raise InvalidConfig.at("versions", "must contain v1beta1")


class InvalidMetadata(DragomanError):
    """What is to be told of a device is not what the API allows."""


class MetadataWriter:
    """Files live in the plugin's own folder by claim UID, so that a new claim of the same name has other ones."""

    def __init__(self, context: Context, settings: MetadataSettings) -> None:
        self._context = context
        self._settings = settings
        self._claims = context.state_dir / "claims"

    @hookimpl
    def apply_settings(self, request: ApplySettings) -> None:
        """Write other versions from now on."""
        self._settings = request.new

    @hookimpl
    def write_metadata(self, request: WriteMetadata) -> WrittenMetadata:
        """Write the files, then the spec that exposes them."""
        claim, groups = request.claim, _by_request(request.devices)
        edits: dict[str, ContainerEdits] = {}
        for name, devices in groups.items():
            container = f"{BASE}/{_folder(claim, name)}/{self._context.driver_name}{SUFFIX}"
            path = self._write(claim, name, devices)
            edits[_cdi_device(claim.uid, name)] = ContainerEdits(
                mounts=(Mount(host_path=str(path), container_path=container),)
            )
        if not edits:
            return WrittenMetadata()
        # As those of devices it is written again after a reboot. Its removal is durable: nobody would look for it.
        spec = cdi.spec(self._context.driver_name, "metadata", edits)
        files.write_atomic(self._spec(claim.uid), spec, durable=False)
        return WrittenMetadata(cdi_devices={name: (self._cdi_id(claim.uid, name),) for name in groups})

    @hookimpl
    def remove_metadata(self, request: RemoveMetadata) -> None:
        """Remove the spec, then the files."""
        files.remove(self._spec(request.claim_uid))
        folder = self._claims / request.claim_uid
        for path in folder.glob("*") if folder.is_dir() else ():
            files.remove(path)
        if folder.is_dir():
            folder.rmdir()

    def _write(self, claim: MetadataClaim, request: str, devices: Sequence[MetadataDevice]) -> Path:
        path = self._claims / claim.uid / f"{request}.json"
        metadata = _metadata(claim, devices)
        if faults := validate(metadata):
            raise InvalidMetadata(f"the metadata of request {request} is not valid: {'; '.join(faults)}")
        former = _former(path)
        # The generation counts changes of this file and never goes back, also not when the claim is prepared again.
        if former is not None:
            same = replace(former, generation=0) == replace(metadata, generation=0)
            metadata = replace(metadata, generation=former.generation + (0 if same else 1))
        # Readers end with the power, and an older file is a whole one: only for the first one the disk is waited for.
        files.write_atomic(path, encode(metadata, self._settings.versions), durable=former is None)
        return path

    def _spec(self, uid: str) -> Path:
        return self._context.cdi_dir / f"{self._context.driver_name}-metadata_{uid}.json"

    def _cdi_id(self, uid: str, request: str) -> str:
        return cdi.qualified(self._context.driver_name, "metadata", _cdi_device(uid, request))


def _cdi_device(uid: str, request: str) -> str:
    return f"{uid}.{request}"


def _folder(claim: MetadataClaim, request: str) -> str:
    try:
        if claim.pod_claim_name is not None:
            return relative_path(pod_claim=claim.pod_claim_name, request=request)
        return relative_path(claim=claim.name, request=request)
    except ValueError as error:
        raise InvalidMetadata(f"claim {claim.namespace}/{claim.name} has no metadata path: {error}") from None


def _by_request(devices: Sequence[MetadataDevice]) -> Mapping[str, list[MetadataDevice]]:
    groups: dict[str, list[MetadataDevice]] = {}
    for device in devices:
        groups.setdefault(device.request.partition("/")[0], []).append(device)
    return groups


def _metadata(claim: MetadataClaim, devices: Sequence[MetadataDevice]) -> DeviceMetadata:
    names = dict.fromkeys(device.request for device in devices)
    return DeviceMetadata(
        name=claim.name,
        namespace=claim.namespace,
        uid=claim.uid,
        generation=1,
        pod_claim_name=claim.pod_claim_name or "",
        requests=tuple(
            Request(name=name, devices=tuple(_device(device) for device in devices if device.request == name))
            for name in names
        ),
    )


def _device(device: MetadataDevice) -> Device:
    network = None
    if device.network_data is not None:
        network = NetworkData(
            interface_name=device.network_data.get("interfaceName", ""),
            ips=tuple(device.network_data.get("ips", ())),
            hardware_address=device.network_data.get("hardwareAddress", ""),
        )
    return Device(
        driver=device.driver,
        pool=device.pool,
        name=device.device,
        attributes=device.attributes,
        network_data=network,
    )


def _former(path: Path) -> DeviceMetadata | None:
    try:
        return decode(path.read_bytes(), str(path))
    except (FileNotFoundError, MetadataError):
        return None


plugin = Writer(settings_key="metadata", settings=MetadataSettings, strict_settings=True, create=MetadataWriter)
