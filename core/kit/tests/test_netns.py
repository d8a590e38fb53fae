"""Namespaces: named safely, entered and left, and no descriptor stays behind on any way."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from dragoman_hookspecs import Netns
from dragoman_kit import netns
from dragoman_testkit.descriptors import held
from dragoman_testkit.netns import Pod

pytestmark = pytest.mark.kernel


def where() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


def test_a_thread_is_back_in_its_own_namespace_after_the_body_even_if_it_raises(pod: Pod) -> None:
    home = where()
    with pod.entered():
        assert where() != home
        assert [name for _, name in socket.if_nameindex()] == ["lo"]
    with pytest.raises(RuntimeError), pod.entered():
        raise RuntimeError
    assert where() == home


def test_entering_moves_the_calling_thread_only(pod: Pod) -> None:
    seen: list[str] = []
    other = threading.Event()
    done = threading.Event()

    def look() -> None:
        other.wait(60)
        seen.append(where())
        done.set()

    home = where()
    threading.Thread(target=look).start()
    with pod.entered():
        other.set()
        assert done.wait(60)
    assert seen == [home]


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/dev/null", "/proc", "17", "", "x" * 5000, "/dev/null/x"])
def test_a_path_that_names_no_namespace_is_a_missing_file(path: str) -> None:
    before = held()
    with pytest.raises(FileNotFoundError):
        netns.identify(path)
    assert not netns.same(Netns(path=path, cookie="1:2"))
    assert held() - before == set()


def test_a_namespace_of_another_type_is_not_taken_for_a_network_namespace() -> None:
    with pytest.raises(FileNotFoundError):
        netns.identify("/proc/self/ns/mnt")


def test_a_fifo_does_not_hang_the_caller(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileNotFoundError):
        netns.identify(str(tmp_path / "fifo"))


def test_a_path_that_names_another_namespace_by_now_is_not_the_same(pod: Pod) -> None:
    assert netns.same(pod.netns)
    other = Netns(path=pod.netns.path, cookie=netns.own().cookie)
    assert not netns.same(other)
    with pytest.raises(FileNotFoundError), netns.opened(other):
        pass


def test_a_namespace_is_gone_when_its_holder_lets_it_go(pod: Pod) -> None:
    pod.end()
    assert not netns.same(pod.netns)


def test_a_handle_that_was_made_is_removed_and_removing_again_is_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "cni-1")
    try:
        made = netns.create(path)
        assert made.cookie != netns.own().cookie
        with pytest.raises(FileExistsError):
            netns.create(path)
    finally:
        netns.remove(path)
    assert not Path(path).exists()
    netns.remove(path)


def test_a_thousand_namespaces_opened_missing_and_existing_leave_no_descriptor(pod: Pod) -> None:
    before = held()
    for _ in range(1000):
        with netns.opened(pod.netns) as handle, netns.entered(handle):
            pass
        with pytest.raises(FileNotFoundError):
            netns.identify("/nowhere")
    assert held() - before == set()
