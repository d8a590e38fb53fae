"""What a workload uses: the metadata of a claim or of one of its requests, by name, merged over drivers.

from dragoman_metadata import read_template_claim

metadata = read_template_claim("nic", "net")
print(metadata.devices()[0].network_data.interface_name)
"""

from __future__ import annotations

from pathlib import Path

from dragoman_metadata.model import BASE, SUFFIX, DeviceMetadata, Request, relative_path
from dragoman_metadata.stream import MetadataError, decode


class NoMetadata(MetadataError):
    """There is no metadata for that claim or request in this container."""


def read_claim(claim: str, request: str | None = None, *, base: str | Path = BASE) -> DeviceMetadata:
    """Read the metadata of a claim that the pod names directly: of one request, or of all of them.

    Raises ``NoMetadata``, ``MalformedMetadata`` or ``UnknownVersions``; one unreadable file fails the whole read.
    """
    return _read(Path(base) / relative_path(claim=claim, request=request or "*"), request)


def read_template_claim(pod_claim: str, request: str | None = None, *, base: str | Path = BASE) -> DeviceMetadata:
    """Read the metadata of a claim made from a template, by its name under ``pod.spec.resourceClaims``.

    Raises as ``read_claim``.
    """
    return _read(Path(base) / relative_path(pod_claim=pod_claim, request=request or "*"), request)


def read_file(path: str | Path) -> DeviceMetadata:
    """Read the file of one driver. Raises as ``read_claim``."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise NoMetadata(f"{path} does not exist; does this container name the claim?") from None
    except OSError as error:
        raise MetadataError(f"{path} cannot be read: {error}") from None
    return decode(content, str(path))


def merge(parts: list[DeviceMetadata]) -> DeviceMetadata:
    """Merge what several drivers wrote: requests by full name in order of appearance, devices appended.

    A merge of several files has no name, UID or generation: those of different drivers are independent.
    """
    if len(parts) == 1:
        return parts[0]
    requests: dict[str, Request] = {}
    for request in (request for part in parts for request in part.requests):
        former = requests.get(request.name, Request(name=request.name))
        requests[request.name] = Request(name=request.name, devices=former.devices + request.devices)
    pod_claim = next((part.pod_claim_name for part in parts if part.pod_claim_name), "")
    return DeviceMetadata(pod_claim_name=pod_claim, requests=tuple(requests.values()))


def _read(folder: Path, request: str | None) -> DeviceMetadata:
    folders = [folder] if request else sorted(path for path in folder.parent.glob("*") if path.is_dir())
    files = [path for each in folders for path in sorted(each.glob(f"*{SUFFIX}"))]
    if not files:
        what = f"request {request}" if request else "the claim"
        where = folder if request else folder.parent
        raise NoMetadata(
            f"no metadata for {what} in {where}; does this container name the claim, and is the name right?"
        )
    return merge([read_file(path) for path in files])
