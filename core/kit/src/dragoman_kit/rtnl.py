"""A socket of rtnetlink: requests with their acknowledgement, and dumps that are complete or fail.

pyroute2's own sockets are not used. In 0.9.7 they keep one unread acknowledgement for each lookup, run an event loop
for each handle, take sequence numbers from a pool that can run out, and fork to reach a namespace; a plain socket has
none of that, costs a tenth of the time, and lets an interrupted dump be seen.
"""

from __future__ import annotations

import errno
import itertools
import os
import select
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Self

from dragoman_hookspecs import DeviceError
from dragoman_kit import wire

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 0x1, 0x4, 0x300
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
NLM_F_DUMP_INTR = 0x10
NLMSG_ERROR, NLMSG_DONE = 2, 3

_SOL_NETLINK, _NETLINK_EXT_ACK, _NETLINK_GET_STRICT_CHK = 270, 11, 12
_NLM_F_CAPPED, _NLM_F_ACK_TLVS, _NLMSGERR_ATTR_MSG = 0x100, 0x200, 1
_HEADER = struct.Struct("=IHHII")
_RECEIVE_BYTES = 1 << 16
_TIMEOUT_SECONDS = 30.0
_DUMP_ATTEMPTS = 50


class DumpInterrupted(DeviceError):
    """A list was changed by others during every attempt to read it. What was read is not given out as if complete."""


class Rtnl:
    """One socket in the network namespace that the calling thread is in now. Not for use by two threads at once.

    A refused request raises ``OSError`` with the kernel's number and, where it gave one, its sentence. ``connection``
    is a socket to use instead of a new one; it is closed with this.
    """

    def __init__(self, groups: int = 0, *, connection: socket.socket | None = None) -> None:
        self._sequence = itertools.count(1)
        self._socket = connection or _open(groups)
        self._socket.settimeout(_TIMEOUT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back."""
        self._socket.close()

    def readable(self, seconds: float) -> bool:
        """Wait for something to read."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))

    def drain(self) -> None:
        """Throw away what a multicast group has sent; lost messages (ENOBUFS) are no error, all are hints."""
        while self.readable(0):
            try:
                self._socket.recv(_RECEIVE_BYTES)
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise

    def request(self, kind: wire.MessageClass, type_: int, entry: wire.Entry, flags: int = 0) -> list[bytes]:
        """Send one request; give the replies, header included, that came before its acknowledgement.

        Raises an auditing event (PEP 578) ``dragoman_kit.request`` with the arguments type and entry.
        """
        sys.audit("dragoman_kit.request", type_, entry)
        sequence = next(self._sequence) & 0xFFFFFFFF
        self._socket.send(wire.encode(kind, entry, type_, NLM_F_REQUEST | NLM_F_ACK | flags, sequence))
        replies: list[bytes] = []
        while True:
            for reply_type, reply_flags, payload in self._receive(sequence):
                if reply_type == NLMSG_ERROR:
                    _raise_refusal(payload, reply_flags)
                    return replies
                replies.append(payload)

    def dump(self, kind: wire.MessageClass, type_: int, entry: wire.Entry) -> list[bytes]:
        """Read a complete list of messages, header included, again if it changed meanwhile.

        Raises ``DumpInterrupted`` or ``OSError``.
        """
        for _ in range(_DUMP_ATTEMPTS):
            messages = self._dump_once(kind, type_, entry)
            if messages is not None:
                return messages
        raise DumpInterrupted(
            f"the kernel's list (rtnetlink message {type_}) changed during {_DUMP_ATTEMPTS} readings; try again"
        )

    def _dump_once(self, kind: wire.MessageClass, type_: int, entry: wire.Entry) -> list[bytes] | None:
        sequence = next(self._sequence) & 0xFFFFFFFF
        self._socket.send(wire.encode(kind, entry, type_, NLM_F_REQUEST | NLM_F_DUMP, sequence))
        messages: list[bytes] = []
        interrupted = False
        while True:
            for reply_type, flags, payload in self._receive(sequence):
                interrupted |= bool(flags & NLM_F_DUMP_INTR)
                if reply_type in (NLMSG_ERROR, NLMSG_DONE):
                    _raise_refusal(payload, flags, done=reply_type == NLMSG_DONE)
                    return None if interrupted else messages
                messages.append(payload)

    def _receive(self, sequence: int) -> Iterator[tuple[int, int, bytes]]:
        data, _, message_flags, _ = self._socket.recvmsg(_RECEIVE_BYTES)
        if message_flags & socket.MSG_TRUNC:
            raise OSError(errno.EMSGSIZE, f"an rtnetlink message is longer than {_RECEIVE_BYTES} bytes")
        offset = 0
        while offset + _HEADER.size <= len(data):
            length, type_, flags, number, _ = _HEADER.unpack_from(data, offset)
            if number == sequence:
                yield type_, flags, data[offset : offset + length]
            offset += max(_HEADER.size, (length + 3) & ~3)


def _open(groups: int) -> socket.socket:
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    try:
        for option in (_NETLINK_EXT_ACK, _NETLINK_GET_STRICT_CHK):
            opened.setsockopt(_SOL_NETLINK, option, 1)
        opened.bind((0, groups))
    except BaseException:
        opened.close()
        raise
    return opened


def _raise_refusal(payload: bytes, flags: int, *, done: bool = False) -> None:
    if len(payload) < _HEADER.size + 4:
        return
    code = -struct.unpack_from("=i", payload, _HEADER.size)[0]
    if code <= 0:
        return
    text = os.strerror(code)
    sentence = _sentence(payload, flags, done=done)
    raise OSError(code, f"{text} ({sentence})" if sentence else text)


def _sentence(payload: bytes, flags: int, *, done: bool) -> str:
    """Find the kernel's own explanation (extended acknowledgement, ``NLMSGERR_ATTR_MSG``)."""
    if not flags & _NLM_F_ACK_TLVS:
        return ""
    offset = _HEADER.size + 4
    if not done:
        echoed = _HEADER.unpack_from(payload, offset)[0]
        offset += _HEADER.size if flags & _NLM_F_CAPPED else (echoed + 3) & ~3
    while offset + 4 <= len(payload):
        length, type_ = struct.unpack_from("=HH", payload, offset)
        if type_ == _NLMSGERR_ATTR_MSG:
            return payload[offset + 4 : offset + length].rstrip(b"\0").decode(errors="replace")
        offset += max(4, (length + 3) & ~3)
    return ""
