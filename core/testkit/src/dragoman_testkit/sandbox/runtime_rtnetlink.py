"""The few messages to the kernel that a CNI plugin would send. By hand, so that the stand-in shares no code with what
it is there to test, and needs no program."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct

_REQUEST, _ACK, _EXCL, _CREATE = 0x1, 0x4, 0x200, 0x400
_ERROR, _NEWLINK, _DELLINK, _NEWADDR = 2, 16, 17, 20
_IFNAME, _LINKINFO, _NET_NS_FD = 3, 18, 28
_KIND, _DATA, _PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_IFF_UP = 0x1
_NO_LINK = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0)


class Rtnetlink:
    """A socket to the network namespace of the thread that makes it. Every call raises ``OSError`` on refusal."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))

    def __enter__(self) -> Rtnetlink:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def add_veth(self, name: str, peer: str, peer_netns: int) -> None:
        """Make a pair: ``name`` here, ``peer`` in the namespace of that descriptor."""
        there = _NO_LINK + _text(_IFNAME, peer) + _attribute(_NET_NS_FD, struct.pack("=I", peer_netns))
        info = _text(_KIND, "veth") + _attribute(_DATA, _attribute(_PEER, there))
        self._ask(_NEWLINK, _CREATE | _EXCL, _NO_LINK + _text(_IFNAME, name) + _attribute(_LINKINFO, info))

    def set_up(self, name: str) -> None:
        """Set a link up."""
        self._ask(_NEWLINK, 0, struct.pack("=BxHiII", 0, 0, 0, _IFF_UP, _IFF_UP) + _text(_IFNAME, name))

    def add_address(self, index: int, address: str) -> None:
        """Add an address in CIDR form to the link of that index."""
        interface = ipaddress.ip_interface(address)
        family = socket.AF_INET if interface.version == 4 else socket.AF_INET6
        packed = interface.ip.packed
        head = struct.pack("=BBBBI", family, interface.network.prefixlen, 0, 0, index)
        body = head + _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
        self._ask(_NEWADDR, _CREATE | _EXCL, body)

    def delete(self, name: str) -> None:
        """Delete a link."""
        self._ask(_DELLINK, 0, _NO_LINK + _text(_IFNAME, name))

    def _ask(self, type_: int, flags: int, body: bytes) -> None:
        self._socket.send(struct.pack("=IHHII", 16 + len(body), type_, flags | _REQUEST | _ACK, 1, 0) + body)
        answer = self._socket.recv(65536)
        kind, error = struct.unpack_from("=4xH10xi", answer)
        assert kind == _ERROR, f"the kernel answered with message type {kind}"
        if error:
            raise OSError(-error, os.strerror(-error))


def _attribute(type_: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), type_) + data + b"\0" * (-len(data) % 4)


def _text(type_: int, text: str) -> bytes:
    return _attribute(type_, text.encode() + b"\0")
