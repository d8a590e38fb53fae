"""``dragoman-metadata``: what a shell script in a container asks."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman_metadata.model import BASE, Device, DeviceMetadata
from dragoman_metadata.reader import NoMetadata, merge, read_claim, read_file, read_template_claim
from dragoman_metadata.stream import MetadataError, encode
from dragoman_metadata.validation import validate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; give the exit code: 0 shown, 1 no metadata, not readable or not written, 2 wrong usage."""
    try:
        try:
            return _show(arguments)
        finally:
            # What is flushed at exit only fails too late to be told.
            sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"dragoman-metadata: cannot write: {error.strerror}\n")
        # Otherwise the interpreter tries again at exit, and complains in its own way.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _show(arguments: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.request is not None and options.claim is None and options.pod_claim is None:
        parser.error("--request needs --claim or --pod-claim")
    try:
        metadata = _read(options)
        shown = _render(metadata, options)
    except (MetadataError, ValueError) as error:
        sys.stderr.write(f"dragoman-metadata: {error}\n")
        return 1
    for fault in validate(metadata):
        sys.stderr.write(f"dragoman-metadata: {fault}\n")
    sys.stdout.write(shown)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dragoman-metadata", description="Device metadata of this container")
    show = parser.add_subparsers(required=True, metavar="show").add_parser("show", help="show the devices of a claim")
    which = show.add_mutually_exclusive_group()
    which.add_argument("--claim", help="a ResourceClaim that the pod names directly")
    which.add_argument("--pod-claim", help="a claim made from a template, by its name in pod.spec.resourceClaims")
    show.add_argument("--request", help="one request of the claim; default: all")
    show.add_argument("--base", default=BASE, help=argparse.SUPPRESS)
    form = show.add_mutually_exclusive_group()
    form.add_argument("-o", "--output", choices=["table", "json"], default="table")
    form.add_argument("--get", metavar="WHAT", help="interface, mac, ips, device, driver, pool or an attribute's name")
    return parser


def _read(options: argparse.Namespace) -> DeviceMetadata:
    if options.claim is not None:
        return read_claim(options.claim, options.request, base=options.base)
    if options.pod_claim is not None:
        return read_template_claim(options.pod_claim, options.request, base=options.base)
    files = sorted(Path(options.base).glob("resourceclaim*/*/*/*-metadata.json"))
    if not files:
        raise NoMetadata(f"no device metadata in {options.base}; the container must name a claim in resources.claims")
    return merge([read_file(path) for path in files])


def _render(metadata: DeviceMetadata, options: argparse.Namespace) -> str:
    if options.get:
        _check_known(metadata, options.get)
        return "".join(f"{value}\n" for device in metadata.devices() for value in _values(device, options.get))
    if options.output == "json":
        return encode(metadata, ["v1beta1"]).decode()
    rows: list[tuple[str, ...]] = [("REQUEST", "DEVICE", "DRIVER", "INTERFACE", "MAC", "IPS")]
    rows += [
        (request.name, device.name, device.driver, *(" ".join(_values(device, what)) for what in _COLUMNS))
        for request in metadata.requests
        for device in request.devices
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )


def _check_known(metadata: DeviceMetadata, what: str) -> None:
    """Raise ``MetadataError`` for what no device can have, or has: a script would go on with an empty text."""
    attributes = sorted({name for device in metadata.devices() for name in device.attributes})
    if what not in _MEMBERS and what not in attributes:
        there = f"there are {', '.join(attributes)}" if attributes else "there are none"
        raise MetadataError(f"no device has an attribute {what}; {there}")


_MEMBERS = ("interface", "mac", "ips", "device", "driver", "pool")
_COLUMNS = ("interface", "mac", "ips")


def _values(device: Device, what: str) -> list[str]:
    network = device.network_data
    known: dict[str, list[str]] = {"device": [device.name], "driver": [device.driver], "pool": [device.pool]}
    known |= {"interface": [], "mac": [], "ips": []}
    if network is not None:
        known |= {
            "interface": [network.interface_name] if network.interface_name else [],
            "mac": [network.hardware_address] if network.hardware_address else [],
            "ips": list(network.ips),
        }
    if what in known:
        return known[what]
    attribute = device.attributes.get(what, {})
    return [
        _shell(value) for values in attribute.values() for value in (values if isinstance(values, list) else [values])
    ]


def _shell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    sys.exit(main())
