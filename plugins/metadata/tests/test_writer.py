import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman_hookspecs import Context, InvalidConfig, MetadataClaim, MetadataDevice, RemoveMetadata, WriteMetadata
from dragoman_metadata import decode
from dragoman_metadata.writer import InvalidMetadata, MetadataSettings, MetadataWriter, plugin

UID = "5b1d3c9e-6a40-4f0b-9f7d-2f1f6d2a9c11"
DRIVER = "net.example.org"


@pytest.fixture
def writer(tmp_path: Path) -> MetadataWriter:
    context = Context(node_name="node-7", driver_name=DRIVER, state_dir=tmp_path / "state", cdi_dir=tmp_path / "cdi")
    made = plugin.create(context, MetadataSettings())
    assert isinstance(made, MetadataWriter)
    return made


def claim(**changes: Any) -> MetadataClaim:
    values = {"uid": UID, "namespace": "lab", "name": "trainer-0-nics-x7k2p", "pod_claim_name": "nics"}
    return MetadataClaim(**(values | changes))


def device(name: str = "vf-3", request: str = "uplink/fast", **changes: Any) -> MetadataDevice:
    values: dict[str, Any] = {
        "request": request,
        "driver": DRIVER,
        "pool": "node-7",
        "device": name,
        "share_id": None,
        "attributes": {"mtu": {"int": 9000}},
    }
    return MetadataDevice(**(values | changes))


def spec(tmp_path: Path) -> dict[str, Any]:
    (path,) = (tmp_path / "cdi").iterdir()
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def mounted(tmp_path: Path, index: int = 0) -> tuple[Path, str]:
    (mount,) = spec(tmp_path)["devices"][index]["containerEdits"]["mounts"]
    assert "ro" in mount["options"]
    return Path(mount["hostPath"]), mount["containerPath"]


def test_a_template_claim_is_mounted_at_the_path_of_the_protocol(writer: MetadataWriter, tmp_path: Path) -> None:
    written = writer.write_metadata(WriteMetadata(claim=claim(), devices=[device()]))
    host, container = mounted(tmp_path)
    assert container == (
        "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nics/uplink/net.example.org-metadata.json"
    )
    metadata = decode(host.read_bytes())
    assert (metadata.generation, metadata.pod_claim_name) == (1, "nics")
    assert [request.name for request in metadata.requests] == ["uplink/fast"]
    assert host.stat().st_mode & 0o777 == 0o644
    assert written.cdi_devices == {"uplink": (f"{DRIVER}/metadata={spec(tmp_path)['devices'][0]['name']}",)}
    assert spec(tmp_path)["cdiVersion"] == "0.5.0"  # the name begins with a digit of the UID


def test_a_direct_claim_is_mounted_under_its_own_name(writer: MetadataWriter, tmp_path: Path) -> None:
    direct = claim(name="c" * 253, pod_claim_name=None)
    writer.write_metadata(WriteMetadata(claim=direct, devices=[device(request="net")]))
    host, container = mounted(tmp_path)
    assert container.endswith(f"/resourceclaims/{'c' * 253}/net/net.example.org-metadata.json")
    assert host.exists()


def test_one_file_for_each_request_and_none_without_devices(writer: MetadataWriter, tmp_path: Path) -> None:
    assert writer.write_metadata(WriteMetadata(claim=claim(), devices=[])).cdi_devices == {}
    assert not (tmp_path / "cdi").exists()
    devices = [device("a", "x"), device("b", "y/sub"), device("c", "x")]
    written = writer.write_metadata(WriteMetadata(claim=claim(), devices=devices))
    assert list(written.cdi_devices) == ["x", "y"]
    host, _ = mounted(tmp_path, 0)
    assert [d.name for d in decode(host.read_bytes()).devices()] == ["a", "c"]


def test_the_generation_counts_changes_and_survives_a_new_life(writer: MetadataWriter, tmp_path: Path) -> None:
    request = WriteMetadata(claim=claim(), devices=[device()])
    writer.write_metadata(request)
    host, _ = mounted(tmp_path)
    inode = host.stat().st_ino
    writer.write_metadata(request)
    assert (decode(host.read_bytes()).generation, host.stat().st_ino) == (1, inode)
    attached = device(network_data={"interfaceName": "net1", "ips": ["10.0.0.1/24"], "hardwareAddress": "02::1"})
    writer.write_metadata(WriteMetadata(claim=claim(), devices=[attached]))
    assert decode(host.read_bytes()).generation == 2
    context = Context(node_name="node-7", driver_name=DRIVER, state_dir=tmp_path / "state", cdi_dir=tmp_path / "cdi")
    again = MetadataWriter(context, MetadataSettings())
    again.write_metadata(request)
    assert decode(host.read_bytes()).generation == 3


def test_an_emptied_cdi_folder_is_filled_again(writer: MetadataWriter, tmp_path: Path) -> None:
    request = WriteMetadata(claim=claim(), devices=[device()])
    first = writer.write_metadata(request)
    for path in (tmp_path / "cdi").iterdir():
        path.unlink()
    assert writer.write_metadata(request) == first
    assert spec(tmp_path)["kind"] == f"{DRIVER}/metadata"


def test_remove_takes_everything_of_that_claim_only_and_absent_is_success(
    writer: MetadataWriter, tmp_path: Path
) -> None:
    writer.write_metadata(WriteMetadata(claim=claim(), devices=[device()]))
    writer.write_metadata(WriteMetadata(claim=claim(uid="other"), devices=[device()]))
    for _ in range(2):
        writer.remove_metadata(RemoveMetadata(claim_uid=UID))
    host, _ = mounted(tmp_path)
    assert host.parent.name == "other"
    assert [path.name for path in (tmp_path / "state" / "claims").iterdir()] == ["other"]


@pytest.mark.parametrize("name", ["../..", "a/b"])
def test_a_name_that_is_no_path_component_is_refused(writer: MetadataWriter, name: str) -> None:
    with pytest.raises(InvalidMetadata, match="no metadata path"):
        writer.write_metadata(WriteMetadata(claim=claim(pod_claim_name=name), devices=[device()]))


def test_metadata_that_the_api_does_not_allow_is_refused_by_path(writer: MetadataWriter, tmp_path: Path) -> None:
    bad = device(attributes={"mtu": {"int": 1, "string": "1"}})
    with pytest.raises(InvalidMetadata, match=r"attributes\[mtu\]"):
        writer.write_metadata(WriteMetadata(claim=claim(), devices=[bad]))
    assert not (tmp_path / "cdi").exists()


@pytest.mark.parametrize(
    ("versions", "path"),
    [
        ((), "versions"),
        (("v1alpha1",), "versions"),
        (("v1beta1", "v2"), "versions[1]"),
        (("v1beta1",) * 2, "versions[1]"),
    ],
)
def test_wrong_versions_are_refused(versions: tuple[str, ...], path: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        MetadataSettings(versions=versions)
    assert [fault.path for fault in caught.value.faults] == [path]
    assert plugin.strict_settings  # so says the source document: the start of the agent stops


@pytest.mark.parametrize("versions", [("v1beta1",), ("v1alpha1", "v1beta1")])
def test_the_configured_versions_are_written_in_their_order(tmp_path: Path, versions: tuple[str, ...]) -> None:
    context = Context(node_name="n", driver_name=DRIVER, state_dir=tmp_path / "s", cdi_dir=tmp_path / "cdi")
    writer = MetadataWriter(context, MetadataSettings(versions=versions))
    writer.write_metadata(WriteMetadata(claim=claim(), devices=[device()]))
    host, _ = mounted(tmp_path)
    found = [line.split('"')[3].rpartition("/")[2] for line in host.read_text().splitlines() if '"apiVersion"' in line]
    assert found == list(versions)


def test_the_reader_needs_nothing_of_the_plugin_api() -> None:
    probe: Callable[[str], str] = "import sys, dragoman_metadata, dragoman_metadata.cli; print({})".format
    code = probe("sorted({m.split('.')[0] for m in sys.modules} & {'pluggy', 'dragoman_kit', 'dragoman_hookspecs'})")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
