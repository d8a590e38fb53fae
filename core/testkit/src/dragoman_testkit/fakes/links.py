"""Links and namespaces in memory, for tests of the engine's order of things. Needs the agent (extra ``sandbox``).

The kernel itself is tested elsewhere; here a link is a name and an identity, and a namespace a set of interface names.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_hookspecs import Attached, DeviceError, ForeignLink, JsonObject, Link, LinkMissing, Netns


class MemoryLinks:
    """Satisfies the engine's ``Links``.

    ``host`` maps the name of a host link to its identity. ``namespaces`` maps a path to its interface names, ``inside``
    the identity of a link that ``put_inside`` has moved to its path and name there.
    ``faults`` are raised one by one by the next looks into a namespace.
    ``restored`` lists the snapshots that core itself brought back (those of managers that are gone).
    """

    def __init__(self) -> None:
        self.host: dict[str, str] = {}
        self.namespaces: dict[str, list[str]] = {}
        self.inside: dict[str, tuple[str, str]] = {}
        self.faults: list[DeviceError] = []
        self.cookies: dict[str, str] = {}
        self.uplinks: frozenset[str] = frozenset()
        self.restored: list[JsonObject] = []
        self.auto = True
        self._made = 0

    def add_namespace(self, path: str) -> Netns:
        """Make a namespace behind a path, another one than any before."""
        self._made += 1
        self.namespaces[path] = ["lo", "eth0"]
        self.cookies[path] = f"4:{self._made}"
        return Netns(path=path, cookie=self.cookies[path])

    def remove_namespace(self, path: str) -> None:
        """Let a namespace die, and the links in it."""
        del self.namespaces[path], self.cookies[path]
        self.inside = {identity: place for identity, place in self.inside.items() if place[0] != path}

    def put_inside(self, path: str, name: str, identity: str) -> None:
        """Have a link of that identity inside a namespace: it is not on the host then."""
        self.namespaces[path].append(name)
        self.inside[identity] = (path, name)

    async def netns(self, path: str) -> Netns:
        """Name the namespace behind a path."""
        if path not in self.cookies:
            raise FileNotFoundError(path)
        return Netns(path=path, cookie=self.cookies[path])

    async def same_netns(self, netns: Netns) -> bool:
        """Tell whether the path still names that namespace."""
        return self.cookies.get(netns.path) == netns.cookie

    async def snapshot(self, link: Link) -> JsonObject:
        """Read the host side of a link; while ``auto`` is set, every link exists."""
        if link.identity in self.inside:
            raise LinkMissing(f"link {link.name} is in {self.inside[link.identity][0]}")
        identity = self.host.get(link.name, link.identity if self.auto else None)
        if identity is None:
            raise LinkMissing(f"link {link.name} does not exist")
        if identity != link.identity:
            raise ForeignLink(f"link {link.name} is another device: {identity}, expected {link.identity}")
        return {"name": link.name, "identity": identity}

    async def interfaces(self, netns: Netns) -> Sequence[str]:
        """List the interfaces inside a namespace."""
        return list(self.namespaces[netns.path])

    async def find_inside(self, link: Link, netns: Netns) -> tuple[JsonObject, Attached] | None:
        """Find a link that ``put_inside`` has put there."""
        if self.faults:
            raise self.faults.pop(0)
        path, name = self.inside.get(link.identity, ("", ""))
        if path != netns.path or not await self.same_netns(netns):
            return None
        return {"name": link.name, "identity": link.identity, "remnant": True}, Attached(interface=name)

    async def restore(self, snapshot: JsonObject, netns: Netns | None) -> None:
        """Remember that core brought the link back."""
        del netns
        self.restored.append(snapshot)

    async def protected(self) -> frozenset[str]:
        """List the uplinks."""
        return self.uplinks
