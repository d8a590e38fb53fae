"""Tags and names of links that Dragoman makes."""

from __future__ import annotations

import hashlib

from dragoman_hookspecs import Allocation
from dragoman_hookspecs.rules import INTERFACE_NAME_BYTES, dns_label, interface_name
from dragoman_kit.identity import ALIAS_PREFIX

_ALIAS_BYTES = 255
"""IFALIASZ of the kernel, without the closing zero byte."""


def digest(text: str, length: int) -> str:
    """Give a stable hash of ``length`` hex digits."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:length]


def owner(driver_name: str, manager: str) -> str:
    """Give the first part of the tags of one manager of one driver; two drivers on a node tell their links apart."""
    return f"{manager}-{digest(f'{driver_name}/{manager}', 8)}"


def tag(owner_: str, allocation: Allocation) -> str:
    """Give the tag of an allocation's link: owner, claim UID, request, device and, of a shareable device, share."""
    parts = [owner_, allocation.claim_uid, allocation.request, allocation.device.name, allocation.share_id or ""]
    text = "/".join(parts).rstrip("/")
    if len(ALIAS_PREFIX) + len(text) <= _ALIAS_BYTES:
        return text
    return "/".join([owner_, allocation.claim_uid, digest(text, 32)])


def staging_name(tag_: str) -> str:
    """Give the name under which a link is made, before it has its tag: whoever finds it knows whose it is."""
    return f"drg{digest(tag_, INTERFACE_NAME_BYTES - 3)}"


def fitting_name(stem: str, suffix: str = "") -> str:
    """Give an interface name of stem and suffix; one that the kernel would not take is shortened, with a hash.

    A suffix that leaves no room, or cannot stand in a name, is shortened too.
    """
    name = stem + suffix
    if interface_name(name) is None:
        return name
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in stem)
    room = INTERFACE_NAME_BYTES - len(suffix) - 4
    short = f"{plain[:room]}{digest(name, 4)}{suffix}"
    return short if interface_name(short) is None else f"{plain[:7]}{digest(name, 8)}"


def device_name(stem: str, suffix: str = "") -> str:
    """Give a device name, a DNS label, of stem and suffix; a stem that is none is spelt anew, with a hash.

    A suffix that leaves no room, or cannot stand in a label, is spelt anew too.
    """
    label = _label(stem)
    room = 63 - len(suffix)
    if label and label == stem and len(label) <= room:
        name = label + suffix
    else:
        name = f"{label[: room - 5].strip('-') or 'x'}-{digest(stem, 4)}{suffix}"
    if dns_label(name) is None:
        return name
    return f"{_label(stem + suffix)[:54].strip('-') or 'x'}-{digest(stem + suffix, 8)}"


def _label(text: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text.lower()).strip("-")
