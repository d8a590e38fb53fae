"""Links that Dragoman makes: made once, known by their tag, and nothing else ever deleted.

A link is made under a staging name that only its tag gives, then given its tag and its own name in one step. Whoever
dies in between leaves a link that the next attempt knows for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from dragoman_hookspecs import DeviceError, ForeignLink
from dragoman_kit import identity, tags
from dragoman_kit.configure import step
from dragoman_kit.netlink import LinkInfo, Netlink


def ensure(name: str, tag: str, make: Callable[[Netlink, str], None]) -> bool:
    """Have a link with that tag on the host; ``make(netlink, name)`` makes it. True if it was not there before.

    Raises ``ForeignLink`` when another link has the name, ``DeviceError`` when the kernel refuses.
    """
    with step(f"make link {name}"), Netlink() as netlink:
        links = netlink.links()
        link = find(links, tag)
        if link is None:
            _refuse_foreign(by_name(links).get(name), name)
            _make(netlink, name, tag, make, _staged(links, tag))
        elif link.name != name and name not in by_name(links):
            netlink.set_link(link.index, ifname=name)
        return link is None


def remove(tag: str) -> None:
    """Delete the link with that tag from the host, half-made or whole; absent is success."""
    with step(f"delete the link with tag {tag}"), Netlink() as netlink:
        links = netlink.links()
        for link in (find(links, tag), _staged(links, tag)):
            if link is not None:
                netlink.delete_link(link.index)


def find(links: Iterable[LinkInfo], tag: str) -> LinkInfo | None:
    """Find the link with that tag. Raises ``ForeignLink`` when several have it."""
    return identity.find(links, identity.of_tag(tag))


def by_name(links: Iterable[LinkInfo]) -> dict[str, LinkInfo]:
    """Give links by all of their names, alternative ones too."""
    return {name: link for link in links for name in (link.name, *link.altnames)}


def prune(owner: str, keep: Collection[str]) -> list[str]:
    """Delete the owner's links on the host whose tag is not to be kept; give their names."""
    with step(f"delete links of {owner} that nobody claims"), Netlink() as netlink:
        stale = [link for link in netlink.links() if is_of(owner, link) and identity.tag_of(link) not in keep]
        for link in stale:
            netlink.delete_link(link.index)
    return [link.name for link in stale]


def is_of(owner: str, link: LinkInfo) -> bool:
    """Tell whether the link carries a tag of that owner."""
    return (identity.tag_of(link) or "").startswith(f"{owner}/")


def _make(
    netlink: Netlink, name: str, tag: str, make: Callable[[Netlink, str], None], leftover: LinkInfo | None
) -> None:
    if leftover:
        netlink.delete_link(leftover.index)
    staging = tags.staging_name(tag)
    make(netlink, staging)
    link = netlink.link(staging)
    if link is None:
        raise DeviceError(f"link {name} was not made: there is no link {staging} that would become it")
    try:
        netlink.set_link(link.index, ifalias=identity.alias_of(tag), ifname=name)
    except OSError:
        netlink.delete_link(link.index)
        _refuse_foreign(netlink.link(name), name)
        raise


def _staged(links: Iterable[LinkInfo], tag: str) -> LinkInfo | None:
    link = by_name(links).get(tags.staging_name(tag))
    return link if link is not None and not link.alias else None


def _refuse_foreign(other: LinkInfo | None, name: str) -> None:
    if other:
        raise ForeignLink(
            f"link {name} cannot be made: a link of that name ({identity.identify(other)}) exists and is not ours; "
            f"it is left as it is, rename it"
        )
