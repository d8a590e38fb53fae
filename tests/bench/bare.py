"""What the kernel has to do for an attach, and nothing else: rtnetlink by hand.

For each link the operations of the agent: found, moved by descriptor and renamed in one message, found again, brought
up, given its address and its route. Sockets are opened once for a pod.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dragoman_kit import netns

_REQUEST, _ACK, _EXCL, _CREATE = 0x1, 0x4, 0x200, 0x400
_ERROR, _NEWLINK, _DELLINK, _GETLINK, _SETLINK, _NEWADDR, _NEWROUTE = 2, 16, 17, 18, 19, 20, 24
_IFNAME, _LINKINFO, _KIND, _NET_NS_FD = 3, 18, 1, 28
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_MAIN, _STATIC, _UNICAST = 254, 4, 1
_IFF_UP = 0x1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A link to attach: its name on the host and in the pod, an address in CIDR form, a route and its gateway."""

    host_name: str
    name: str
    address: str
    destination: str
    gateway: str


class Socket:
    """An rtnetlink socket in the namespace of the thread that makes it. Refusals raise ``OSError``."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._socket.close()

    def add(self, name: str, kind: str) -> None:
        """Make a link."""
        info = _attribute(_LINKINFO, _text(_KIND, kind))
        self._ask(_NEWLINK, _CREATE | _EXCL, _link() + _text(_IFNAME, name) + info)

    def delete(self, name: str) -> None:
        """Delete a link."""
        self._ask(_DELLINK, 0, _link() + _text(_IFNAME, name))

    def move(self, name: str, namespace: int, new_name: str) -> None:
        """Find a link, move it into the namespace of a descriptor, and rename it."""
        where = _attribute(_NET_NS_FD, struct.pack("=I", namespace))
        self._ask(_SETLINK, 0, _link(self._index(name)) + where + _text(_IFNAME, new_name))

    def configure(self, wanted: Wanted) -> None:
        """Find a link, bring it up, and give it its address and its route."""
        index = self._index(wanted.name)
        self._ask(_SETLINK, 0, _link(index, _IFF_UP))
        self._ask(_NEWADDR, _CREATE | _EXCL, _address(index, wanted.address))
        self._ask(_NEWROUTE, _CREATE | _EXCL, _route(index, wanted.destination, wanted.gateway))

    def _index(self, name: str) -> int:
        answer = self._ask(_GETLINK, 0, _link() + _text(_IFNAME, name))
        return int(struct.unpack_from("=i", answer, 20)[0])

    def _ask(self, type_: int, flags: int, body: bytes) -> bytes:
        """Send a request; give the answer that came before its acknowledgement, if any."""
        self._socket.send(struct.pack("=IHHII", 16 + len(body), type_, flags | _REQUEST | _ACK, 1, 0) + body)
        answer = b""
        while True:
            data = self._socket.recv(65536)
            kind, error = struct.unpack_from("=4xH10xi", data)
            if kind == _ERROR and error:
                raise OSError(-error, os.strerror(-error))
            if kind == _ERROR:
                return answer
            answer = data


def attach(namespace: Path, links: Sequence[Wanted]) -> float:
    """Attach links to a namespace; give the seconds that it took. Raises ``OSError``."""
    began = time.perf_counter()
    with netns.opened(str(namespace)) as descriptor, Socket() as host:
        with netns.entered(descriptor):
            pod = Socket()
        with pod:
            for wanted in links:
                host.move(wanted.host_name, descriptor, wanted.name)
                pod.configure(wanted)
    return time.perf_counter() - began


def _link(index: int = 0, flags: int = 0) -> bytes:
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, flags, flags)


def _address(index: int, text: str) -> bytes:
    interface = ipaddress.ip_interface(text)
    head = struct.pack("=BBBBI", socket.AF_INET, interface.network.prefixlen, 0, 0, index)
    return head + _attribute(_IFA_LOCAL, interface.ip.packed) + _attribute(_IFA_ADDRESS, interface.ip.packed)


def _route(index: int, destination: str, gateway: str) -> bytes:
    network = ipaddress.ip_network(destination)
    head = struct.pack("=BBBBBBBBI", socket.AF_INET, network.prefixlen, 0, 0, _MAIN, _STATIC, 0, _UNICAST, 0)
    where = _attribute(_RTA_DST, network.network_address.packed)
    way = _attribute(_RTA_GATEWAY, ipaddress.ip_address(gateway).packed)
    return head + where + way + _attribute(_RTA_OIF, struct.pack("=I", index))


def _attribute(type_: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), type_) + data + b"\0" * (-len(data) % 4)


def _text(type_: int, text: str) -> bytes:
    return _attribute(type_, text.encode() + b"\0")
