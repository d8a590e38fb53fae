from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kubelet.sockets import (
    SocketFailed,
    SocketPathTooLong,
    dra_socket,
    make_folder,
    registration_socket,
    temporary_socket,
)

REGISTRY = Path("/var/lib/kubelet/plugins_registry")
PLUGINS = Path("/var/lib/kubelet/plugins")
UID = "11111111-2222-3333-4444-555555555555"


def name_of(length: int) -> str:
    return ("a" * length)[: length - 4] + ".dev"


@pytest.mark.parametrize(
    ("driver", "uid", "name"),
    [
        ("driver.example.com", "", "driver.example.com-reg.sock"),
        ("driver.example.com", UID, f"driver.example.com-{UID}-reg.sock"),
        (name_of(27), UID, f"{name_of(27)}-{UID}-reg.sock"),
        (name_of(28), UID, f"{name_of(28)}-Zm_2zKpbPAc-reg.sock"),
        (name_of(52), UID, f"{name_of(52)}-Zm_2zKpbPAc-reg.sock"),
    ],
)
def test_registration_socket_is_the_first_name_that_fits_below_108_bytes(driver: str, uid: str, name: str) -> None:
    assert registration_socket(REGISTRY, driver, uid) == REGISTRY / name


def test_the_last_name_of_the_registration_socket_hashes_driver_and_pod_uid() -> None:
    tight = Path("/") / ("r" * 69)
    found = registration_socket(tight, "driver.example.com", UID)
    assert found.name == "dra-jXVblYwJE1hrreF3JoHX-A-reg.sock"
    assert len(str(registration_socket(REGISTRY, name_of(63), UID))) == 69


@given(length=st.integers(5, 63), uid=st.sampled_from(["", UID]))
@settings(derandomize=True, max_examples=120, deadline=None)
def test_every_driver_name_fits_below_the_default_root(length: int, uid: str) -> None:
    for path in (registration_socket(REGISTRY, name_of(length), uid), dra_socket(PLUGINS, name_of(length), uid)):
        assert len(os.fsencode(path)) < 108
        assert len(os.fsencode(temporary_socket(path, 7))) < 108


def test_dra_socket_names_the_pod_while_that_fits_and_stays_in_the_drivers_folder() -> None:
    assert dra_socket(PLUGINS, name_of(36), UID).name == f"dra-{UID}.sock"
    assert dra_socket(PLUGINS, name_of(37), UID).name == "dra-Zm_2zKpbPAc.sock"
    assert dra_socket(PLUGINS, name_of(63), UID).parent == PLUGINS / name_of(63)
    assert dra_socket(PLUGINS, name_of(63), "").name == "dra.sock"


def test_two_pods_never_share_a_shortened_name() -> None:
    other = UID.replace("1", "9")
    for length in (40, 63):
        assert dra_socket(PLUGINS, name_of(length), UID) != dra_socket(PLUGINS, name_of(length), other)
        assert registration_socket(REGISTRY, name_of(length), UID) != registration_socket(
            REGISTRY, name_of(length), other
        )


def test_a_root_without_room_is_refused_with_the_path_and_its_length() -> None:
    deep = Path("/") / ("r" * 100)
    with pytest.raises(SocketPathTooLong, match=r"/r+/nic/dra\.sock has 114 bytes.*shorter path"):
        dra_socket(deep, "nic")


def test_own_folder_is_closed_to_others_and_a_shared_one_is_left_as_it_is(root: Path) -> None:
    for name in ("own", "shared"):
        (root / name).mkdir(mode=0o755)
        (root / name).chmod(0o755)
        make_folder(root / name, own=name == "own")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}
    assert modes == {"own": 0o750, "shared": 0o755}


def test_a_folder_that_cannot_be_made_is_named_in_the_error(root: Path) -> None:
    (root / "file").write_text("")
    with pytest.raises(SocketFailed, match=f"{root}/file/plugins"):
        make_folder(root / "file" / "plugins", own=True)
