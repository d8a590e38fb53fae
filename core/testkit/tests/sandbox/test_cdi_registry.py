"""CDI as runtimes read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_testkit.sandbox.cdi import CdiRegistry, Unresolvable, parse
from dragoman_testkit.sandbox.cdi_schema import InvalidSpec


def spec(*names: str, version: str = "0.3.0", kind: str = "net.example.com/nic", **more: Any) -> dict[str, Any]:
    devices = [{"name": name, "containerEdits": {"env": [f"DEVICE={name}"]}} for name in names]
    return {"cdiVersion": version, "kind": kind, "devices": devices, **more}


def edited(version: str, edits: dict[str, Any], **more: Any) -> dict[str, Any]:
    device = {"name": "a", "containerEdits": {"env": ["A=1"]} | edits}
    return {"cdiVersion": version, "kind": "net.example.com/nic", "devices": [device], **more}


def write(folder: Path, name: str, content: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def text(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode()


def test_edits_of_the_devices_and_once_those_of_their_file_are_given(tmp_path: Path) -> None:
    content = spec("a", "b", containerEdits={"env": ["FILE=1"]})
    content["devices"][1]["containerEdits"] = {
        "mounts": [
            {"hostPath": "/srv/deep", "containerPath": "/etc/x/y", "options": ["ro", "bind"]},
            {"hostPath": "/srv", "containerPath": "/etc"},
        ]
    }
    write(tmp_path, "one.json", content)
    edits = CdiRegistry([tmp_path]).resolve(["net.example.com/nic=a", "net.example.com/nic=b"])
    assert edits.env == {"FILE": "1", "DEVICE": "a"}
    assert [(mount.container_path, mount.host_path) for mount in edits.sorted_mounts()] == [
        ("/etc", "/srv"),
        ("/etc/x/y", "/srv/deep"),
    ]


def test_a_device_that_nobody_gives_is_named(tmp_path: Path) -> None:
    write(tmp_path, "one.json", spec("a"))
    with pytest.raises(Unresolvable, match=r"^unresolvable CDI devices net.example.com/nic=b, x/y=z$"):
        CdiRegistry([tmp_path, tmp_path / "missing"]).resolve(
            ["net.example.com/nic=a", "net.example.com/nic=b", "x/y=z"]
        )


def test_a_spec_written_later_is_found(tmp_path: Path) -> None:
    registry = CdiRegistry([tmp_path])
    with pytest.raises(Unresolvable):
        registry.resolve(["net.example.com/nic=a"])
    write(tmp_path, "one.json", spec("a"))
    assert registry.resolve(["net.example.com/nic=a"]).env == {"DEVICE": "a"}


def test_a_device_in_two_files_of_one_folder_is_given_by_neither(tmp_path: Path) -> None:
    write(tmp_path, "one.json", spec("a", "b"))
    write(tmp_path, "two.json", spec("a", "c"))
    registry = CdiRegistry([tmp_path])
    with pytest.raises(Unresolvable, match=r"nic=a$"):
        registry.resolve(["net.example.com/nic=a"])
    assert registry.resolve(["net.example.com/nic=b", "net.example.com/nic=c"]).env == {"DEVICE": "c"}


def test_the_later_folder_wins(tmp_path: Path) -> None:
    write(tmp_path / "etc", "one.json", edited("0.3.0", {"env": ["FROM=etc"]}))
    write(tmp_path / "run", "one.json", edited("0.3.0", {"env": ["FROM=run"]}))
    registry = CdiRegistry([tmp_path / "etc", tmp_path / "run"])
    assert registry.resolve(["net.example.com/nic=a"]).env == {"FROM": "run"}


@pytest.mark.parametrize("name", ["a.json.tmp", ".a.tmp", "a.yml", "a"])
def test_other_suffixes_are_not_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, spec("a"))
    registry = CdiRegistry([tmp_path])
    with pytest.raises(Unresolvable):
        registry.resolve(["net.example.com/nic=a"])
    assert registry.errors == {}


def test_yaml_is_read_and_only_its_first_document_counts(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(json.dumps(spec("a")) + "\n---\nnot: a spec\n")
    assert CdiRegistry([tmp_path]).resolve(["net.example.com/nic=a"]).env == {"DEVICE": "a"}


def test_an_invalid_file_is_skipped_with_its_reason_and_others_are_read(tmp_path: Path) -> None:
    bad = write(tmp_path, "bad.json", spec("a", owner="us"))
    write(tmp_path, "good.json", spec("b"))
    registry = CdiRegistry([tmp_path])
    assert registry.resolve(["net.example.com/nic=b"]).env == {"DEVICE": "b"}
    assert registry.errors == {str(bad): ".owner is not a known key"}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (spec("a", note="x"), r"\.note is not a known key"),
        (edited("0.3.0", {"mount": []}), r"\.devices\[0\]\.containerEdits\.mount is not"),
        (edited("0.3.0", {"mounts": [{"hostPath": "/a", "containerPath": ""}]}), "containerPath is required"),
        (edited("0.3.0", {"env": ["=x"]}), "must be NAME=VALUE"),
        (edited("0.3.0", {"env": "A=1"}), "env must be a list"),
        (spec(), "devices is required"),
        (spec("a", "a"), "twice"),
        (spec("a", kind="1net.example.com/nic"), "kind"),
        (spec("a/b"), "device names"),
        (spec("a", version="0.3.1"), "not known"),
        (spec("a", version="1.2.0"), "not known"),
        ({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [{"name": "a", "containerEdits": {}}]}, "must not be empty"),
        ({"cdiVersion": "0.3.0", "devices": []}, "kind is required"),
    ],
)
def test_what_a_runtime_refuses_is_refused(content: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidSpec, match=fault):
        parse(text(content))


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe\x00"])
def test_what_is_no_document_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidSpec):
        parse(raw)


@pytest.mark.parametrize(
    ("least", "below", "content"),
    [
        ("0.3.0", "0.2.0", spec("a")),
        ("0.4.0", "0.3.0", edited("", {"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "bind"}]})),
        ("0.5.0", "0.4.0", spec("1a")),
        ("0.5.0", "0.4.0", edited("", {"deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b"}]})),
        ("0.6.0", "0.5.0", spec("a", annotations={"x": "y"})),
        ("0.6.0", "0.5.0", spec("a", kind="net.example.com/nic.x")),
        ("0.7.0", "0.6.0", edited("", {"additionalGids": [5]})),
        ("0.7.0", "0.6.0", edited("", {"intelRdt": {"closID": "x"}})),
        ("1.1.0", "1.0.0", edited("", {"netDevices": [{"hostInterfaceName": "nic0", "name": "net1"}]})),
        ("1.1.0", "1.0.0", edited("", {"intelRdt": {"enableMonitoring": True}})),
    ],
)
def test_a_version_below_what_the_content_needs_is_refused(least: str, below: str, content: dict[str, Any]) -> None:
    assert parse(text(content | {"cdiVersion": least})).devices
    assert parse(text(content | {"cdiVersion": f"v{least}"})).devices
    with pytest.raises(InvalidSpec, match="less than its content needs"):
        parse(text(content | {"cdiVersion": below}))


def test_a_version_that_an_older_runtime_does_not_know_is_refused_there() -> None:
    content = text(spec("a", version="1.1.0"))
    assert parse(content).devices
    with pytest.raises(InvalidSpec, match="not known"):
        parse(content, latest="1.0.0")
