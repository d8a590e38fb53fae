"""What the kernel refuses is told in a sentence, and nothing on the way of a link makes a process."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from dragoman_hookspecs import DeviceError, Link, Parameters
from dragoman_kit.configure import step
from dragoman_kit.links import move_back, move_in, snapshot
from dragoman_kit.netlink import LinkInfo
from dragoman_testkit.netns import Pod

PROCESSES = ("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "subprocess.Popen")


def refused(number: int) -> str:
    with pytest.raises(DeviceError) as caught, step("move link eth1"):
        raise OSError(number, os.strerror(number))
    return str(caught.value)


def test_a_refusal_for_want_of_privilege_names_the_capabilities() -> None:
    assert refused(errno.EPERM) == (
        "cannot move link eth1: Operation not permitted (this takes the capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN "
        "on the host)"
    )
    assert refused(errno.EBUSY) == "cannot move link eth1: Device or resource busy"


@pytest.mark.kernel
def test_the_way_of_a_link_into_a_pod_and_back_makes_no_process(nic: LinkInfo, pod: Pod) -> None:
    # A fork of a process with threads can hang for ever; an audit hook stays, so this one falls silent by itself.
    made: list[str] | None = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        del arguments
        if made is not None and event in PROCESSES:
            made.append(event)

    sys.addaudithook(hook)
    former = snapshot(Link(name=nic.name, identity=f"mac:{nic.mac}"))
    parameters = Parameters(addresses=("192.0.2.1/24",), interface_sysctl_ipv4={"forwarding": "1"})
    move_in(former, parameters, pod.netns)
    move_back(former, pod.netns)
    found, made = made, None
    assert found == []
    assert Path("/proc/sys/net/ipv4/conf/eth1").exists()
