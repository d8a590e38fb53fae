"""The socket: complete lists, errors as the kernel gives them, nothing left behind, many threads at once."""

from __future__ import annotations

import errno
import gc
import socket
import struct
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman_kit import netns, wire
from dragoman_kit.netlink import Netlink
from dragoman_kit.rtnl import NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR, DumpInterrupted, Rtnl
from dragoman_testkit.descriptors import held
from dragoman_testkit.netns import Pod

RTM_NEWLINK, RTM_GETLINK = 16, 18
NLM_F_MULTI = 0x2


class Kernel:
    """The other end of a socket, scripted: one list of (type, flags, payload) for each request."""

    def __init__(self, *answers: list[tuple[int, int, bytes]]) -> None:
        self.near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._answers = answers
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        for answer in self._answers:
            sequence = struct.unpack_from("=IHHI", self._far.recv(4096))[3]
            for type_, flags, payload in answer:
                header = struct.pack("=IHHII", 16 + len(payload), type_, flags, sequence, 0)
                self._far.send(header + payload)

    def close(self) -> None:
        self._thread.join(60)
        self._far.close()


LINK = struct.pack("=BxHiII", 0, 1, 7, 0, 0)
DONE = (NLMSG_DONE, NLM_F_MULTI, struct.pack("=i", 0))
PART = (RTM_NEWLINK, NLM_F_MULTI, LINK)


@pytest.fixture
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    made = Kernel(*request.param)
    yield made
    made.close()


def listed(kernel: Kernel) -> int:
    with Rtnl(connection=kernel.near) as rtnl:
        return len(rtnl.dump(wire.LINK, RTM_GETLINK, {"family": 0}))


@pytest.mark.parametrize(
    "kernel",
    [
        [[(RTM_NEWLINK, NLM_F_MULTI | NLM_F_DUMP_INTR, LINK), DONE], [PART, PART, DONE]],
        [[PART, (NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, struct.pack("=i", 0))], [PART, PART, DONE]],
    ],
    indirect=True,
    ids=["marked in a part", "marked at the end"],
)
def test_a_list_that_changed_while_it_was_read_is_read_again(kernel: Kernel) -> None:
    assert listed(kernel) == 2


@pytest.mark.parametrize("kernel", [[[(RTM_NEWLINK, NLM_F_MULTI | NLM_F_DUMP_INTR, LINK), DONE]] * 50], indirect=True)
def test_a_list_that_never_stands_still_is_an_error_and_not_a_part(kernel: Kernel) -> None:
    with pytest.raises(DumpInterrupted):
        listed(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        [[PART, (NLMSG_DONE, NLM_F_MULTI, struct.pack("=i", -errno.ENOBUFS))]],
        [[PART, (NLMSG_ERROR, 0, struct.pack("=i", -errno.ENOBUFS) + bytes(16))]],
    ],
    indirect=True,
    ids=["at the end", "in the middle"],
)
def test_a_list_that_the_kernel_broke_off_is_an_error(kernel: Kernel) -> None:
    with pytest.raises(OSError, match="No buffer space"):
        listed(kernel)


@pytest.mark.kernel
def test_a_refusal_has_the_kernels_number_and_sentence(host: Netlink) -> None:
    with pytest.raises(OSError, match="Unknown device type") as refused:
        host.add_link("x0", "no-such-kind")
    assert refused.value.errno == errno.EOPNOTSUPP
    host.add_link("x0", "ifb")
    with pytest.raises(FileExistsError):
        host.add_link("x0", "ifb")


@pytest.mark.kernel
def test_a_thousand_handles_inside_a_namespace_leave_no_descriptor(pod: Pod) -> None:
    before = held()
    with netns.opened(pod.netns) as handle:
        for _ in range(1000):
            with Netlink.inside(handle) as inside:
                assert inside.link("lo")
            with pytest.raises(OSError, match="Unknown device type"), Netlink.inside(handle) as inside:
                inside.add_link("x0", "no-such-kind")
    assert held() - before == set()


@pytest.mark.kernel
def test_thousands_of_lookups_leave_nothing_unread_and_nothing_in_memory(host: Netlink) -> None:
    def look_up() -> None:
        for _ in range(1000):
            host.link("lo")
            host.link("missing")
        gc.collect()

    look_up()
    tracemalloc.start()
    look_up()
    before = tracemalloc.get_traced_memory()[0]
    look_up()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert not host.readable(0)
    assert after - before < 10_000, "a message kept for each lookup would be over a million bytes"


@pytest.mark.kernel
def test_32_threads_at_once_each_make_and_delete_links_in_a_namespace_of_their_own_handle(pod: Pod) -> None:
    def work(number: int) -> set[str]:
        with netns.opened(pod.netns) as handle, Netlink.inside(handle) as inside:
            for turn in range(3):
                inside.add_link(f"t{number}-{turn}", "ifb")
            own = {link.name: link.index for link in inside.links() if link.name.startswith(f"t{number}-")}
            inside.delete_link(own.pop(f"t{number}-0"))
            return set(own)

    with ThreadPoolExecutor(32) as pool:
        made = list(pool.map(work, range(32)))
    assert made == [{f"t{number}-1", f"t{number}-2"} for number in range(32)]


@pytest.mark.kernel
def test_links_that_stay_are_in_every_list_while_others_come_and_go(host: Netlink) -> None:
    for number in range(40):
        host.add_link(f"stay{number}", "ifb")
    stopped = threading.Event()

    def churn() -> None:
        with Netlink() as other:
            while not stopped.is_set():
                other.add_link("comes", "ifb")
                link = other.link("comes")
                assert link is not None
                other.delete_link(link.index)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        lists = [{link.name for link in host.links()} for _ in range(30)]
    finally:
        stopped.set()
        thread.join()
    stay = {f"stay{number}" for number in range(40)}
    assert all(stay <= names for names in lists)


@pytest.mark.kernel
def test_an_audit_hook_sees_each_request_that_could_change_something(host: Netlink) -> None:
    # An audit hook stays for the life of the process, so this one sees nothing once the test is over.
    seen: list[tuple[int, str]] | None = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if seen is not None and event == "dragoman_kit.request":
            type_, entry = arguments
            assert isinstance(type_, int)
            assert isinstance(entry, dict)
            seen.append((type_, str(entry.get("ifname"))))

    sys.addaudithook(hook)
    host.add_link("audited", "ifb")
    found, seen = seen, None
    assert found == [(RTM_NEWLINK, "audited")]
