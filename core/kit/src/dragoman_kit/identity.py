"""What a link is, whatever it is called: the tag of a link that Dragoman made, a PCI address, a permanent MAC.

An identity is a string with its sort: ``tag:…``, ``pci:0000:03:00.1``, ``mac:02:00:00:00:00:01``. It holds in any
network namespace, after a rename, and for another interface index.
"""

from __future__ import annotations

from collections.abc import Iterable

from dragoman_hookspecs import ForeignLink, LinkMissing
from dragoman_kit.netlink import LinkInfo, Netlink

ALIAS_PREFIX = "dragoman:"
"""A link that Dragoman made carries its tag in its alias (``IFLA_IFALIAS``), which stays on it between namespaces."""


def of_tag(tag: str) -> str:
    """Give the identity of a link with that tag."""
    return f"tag:{tag}"


def alias_of(tag: str) -> str:
    """Give the alias of a link with that tag."""
    return ALIAS_PREFIX + tag


def tag_of(link: LinkInfo) -> str | None:
    """Give the tag of a link that Dragoman made, or None."""
    return link.alias.removeprefix(ALIAS_PREFIX) if link.alias.startswith(ALIAS_PREFIX) else None


def identify(link: LinkInfo) -> str:
    """Give the best identity of a link: its tag, its PCI address, its permanent MAC, at last its present MAC."""
    if (tag := tag_of(link)) is not None:
        return of_tag(tag)
    if link.parent_bus == "pci":
        return f"pci:{link.parent_device}"
    return f"mac:{link.permanent_mac or link.mac}"


def matches(identity: str, link: LinkInfo) -> bool:
    """Tell whether the link has that identity. A present MAC counts only where there is no permanent one."""
    sort, _, value = identity.partition(":")
    if sort == "tag":
        return tag_of(link) == value
    if sort == "pci":
        return link.parent_bus == "pci" and link.parent_device == value
    return sort == "mac" and (link.permanent_mac or link.mac or "").lower() == value.lower()


def is_surely(identity: str, link: LinkInfo) -> bool:
    """Tell whether the link has that identity and need not be compared with others: many may wear one present MAC."""
    return matches(identity, link) and not hangs_on_mac(identity, link)


def hangs_on_mac(identity: str, link: LinkInfo) -> bool:
    """Tell whether the link would not be known again under another MAC."""
    return identity.startswith("mac:") and not link.permanent_mac


def find(links: Iterable[LinkInfo], identity: str, mac: str | None = None) -> LinkInfo | None:
    """Find the link with that identity; among several, the one with that MAC.

    Raises ``ForeignLink`` when several claim it.
    """
    found = [link for link in links if matches(identity, link)]
    # Links that are stacked on hardware wear its MAC; the hardware itself has it for good. And in a pod anybody who may
    # change links can give our tag to another one.
    found = [link for link in found if link.permanent_mac] or found
    found = [link for link in found if link.mac == mac] or found
    if len(found) > 1:
        names = ", ".join(link.name for link in found)
        raise ForeignLink(f"identity {identity} belongs to several links ({names}); none of them is touched")
    return found[0] if found else None


def require(netlink: Netlink, identity: str, name: str) -> LinkInfo:
    """Find the link with that identity: the one of that name if it has it, else under whatever name.

    Raises ``LinkMissing`` when there is none, ``ForeignLink`` when another one has its name.
    """
    other = netlink.link(name)
    if other and is_surely(identity, other):
        return other
    if link := find(netlink.links(), identity):
        return link
    if other:
        raise ForeignLink(f"link {name} is {identify(other)}, not {identity}; it is left as it is")
    raise LinkMissing(f"link {name} ({identity}) does not exist on the host")
