import json
from pathlib import Path

from dragoman.cdi import CdiFolder, device_name
from dragoman.model.records import AllocationKey
from dragoman_hookspecs import ContainerEdits, Netns

UID = "11111111-2222-3333-4444-555555555555"


def key(**changes: str) -> AllocationKey:
    values = {"claim_uid": UID, "request": "net", "driver": "net.dragoman.dev", "pool": "n1", "device": "dummy0"}
    return AllocationKey(**(values | changes))


def test_names_of_different_allocations_differ() -> None:
    share = "99999999-2222-3333-4444-555555555555"
    keys = [key(), key(request="net/fast"), key(device="dummy1"), key(share_id=share), key(request="a")]
    assert len({device_name(k) for k in keys}) == len(keys)


async def test_a_device_without_edits_still_sets_a_variable(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path / "cdi", "net.dragoman.dev")
    await folder.write_device(key(device="0000-03-00-1"), ContainerEdits())
    (name,) = await folder.present()
    spec = json.loads((tmp_path / "cdi" / name).read_text())
    assert spec["kind"] == "net.dragoman.dev/device"
    # A device name that begins with a digit (a claim UID does) needs 0.5.0.
    assert spec["cdiVersion"] == "0.5.0"
    (device,) = spec["devices"]
    assert folder.device_id(key(device="0000-03-00-1")) == f"net.dragoman.dev/device={device['name']}"
    assert device["containerEdits"] == {"env": ["DRA_DEVICE_0000_03_00_1=net"]}


async def test_the_guard_mounts_the_namespace_handle_read_only(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path, "net.dragoman.dev")
    await folder.open_guard(key(), Netns(path="/run/netns/cni-1", cookie="4:1"))
    (name,) = await folder.present()
    (device,) = json.loads((tmp_path / name).read_text())["devices"]
    (mount,) = device["containerEdits"]["mounts"]
    assert mount["hostPath"] == "/run/netns/cni-1"
    assert "ro" in mount["options"]
    assert folder.file_names(key()) >= {name}


async def test_the_longest_names_fit_a_file_name(tmp_path: Path) -> None:
    driver = "d" * 63
    folder = CdiFolder(tmp_path, driver)
    long = key(driver=driver, request="r" * 63 + "/" + "s" * 63, device="x" * 63, share_id=UID)
    await folder.write_device(long, ContainerEdits())
    await folder.open_guard(long, Netns(path="/n", cookie="1:1"))
    assert len(await folder.present()) == 2
    await folder.remove(long)
    assert await folder.present() == []
    await folder.remove(long)


async def test_writing_the_same_again_keeps_the_file(tmp_path: Path) -> None:
    folder = CdiFolder(tmp_path, "net.dragoman.dev")
    await folder.write_device(key(), ContainerEdits(env={"A": "1"}))
    (name,) = await folder.present()
    inode = (tmp_path / name).stat().st_ino
    await folder.write_device(key(), ContainerEdits(env={"A": "1"}))
    assert (tmp_path / name).stat().st_ino == inode
    await folder.write_device(key(), ContainerEdits(env={"A": "2"}))
    assert "A=2" in (tmp_path / name).read_text()
