"""Device metadata in containers (KEP-5304).

What a workload uses is importable from here and needs nothing but the standard library; ``dragoman_metadata.writer`` is
the plugin that the node agent loads.
"""

from dragoman_metadata.model import BASE, Device, DeviceMetadata, NetworkData, Request
from dragoman_metadata.reader import NoMetadata, merge, read_claim, read_file, read_template_claim
from dragoman_metadata.stream import MalformedMetadata, MetadataError, UnknownVersions, decode
from dragoman_metadata.validation import validate

__all__ = [
    "BASE",
    "Device",
    "DeviceMetadata",
    "MalformedMetadata",
    "MetadataError",
    "NetworkData",
    "NoMetadata",
    "Request",
    "UnknownVersions",
    "decode",
    "merge",
    "read_claim",
    "read_file",
    "read_template_claim",
    "validate",
]
