import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_metadata import (
    Device,
    DeviceMetadata,
    MalformedMetadata,
    NetworkData,
    NoMetadata,
    Request,
    read_claim,
    read_template_claim,
    validate,
)
from dragoman_metadata.cli import main
from dragoman_metadata.stream import encode


def put(base: Path, path: str, metadata: DeviceMetadata) -> None:
    target = base / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(encode(metadata, ["v1beta1", "v1alpha1"]))


def one(driver: str, device: str, request: str = "pair", **network: object) -> DeviceMetadata:
    data = NetworkData(
        interface_name="net1", ips=("10.0.0.1/24", "2001:db8::1/64"), hardware_address="02:00:00:00:00:01"
    )
    made = Device(
        driver=driver,
        pool="n1",
        name=device,
        attributes={"mtu": {"int": 9000}, "fast": {"bool": True}, "modes": {"strings": ["a", "b"]}},
        network_data=data if network.get("data", True) else None,
    )
    return DeviceMetadata(name="c", uid="u", generation=4, requests=(Request(name=request, devices=(made,)),))


def test_a_request_of_a_template_claim_is_read_by_its_pod_name(tmp_path: Path) -> None:
    put(tmp_path, "resourceclaimtemplates/nic/pair/net.example.org-metadata.json", one("net.example.org", "vf-3"))
    assert read_template_claim("nic", "pair", base=tmp_path).devices()[0].name == "vf-3"
    assert read_template_claim("nic", "pair/fast", base=tmp_path).generation == 4
    with pytest.raises(NoMetadata, match="nic"):
        read_claim("nic", "pair", base=tmp_path)


def test_drivers_of_one_request_are_merged_in_name_order_without_an_identity(tmp_path: Path) -> None:
    put(tmp_path, "resourceclaims/c/pair/net.example.org-metadata.json", one("net.example.org", "vf-3"))
    put(tmp_path, "resourceclaims/c/pair/accel.example.org-metadata.json", one("accel.example.org", "acc-0"))
    merged = read_claim("c", "pair", base=tmp_path)
    assert [(request.name, [d.name for d in request.devices]) for request in merged.requests] == [
        ("pair", ["acc-0", "vf-3"])
    ]
    assert (merged.name, merged.uid, merged.generation) == ("", "", 0)


def test_all_requests_of_a_claim(tmp_path: Path) -> None:
    put(tmp_path, "resourceclaims/c/a/x.org-metadata.json", one("x.org", "d0", "a"))
    put(tmp_path, "resourceclaims/c/b/x.org-metadata.json", one("x.org", "d1", "b/sub"))
    assert [request.name for request in read_claim("c", base=tmp_path).requests] == ["a", "b/sub"]


def test_one_unreadable_file_fails_the_whole_read(tmp_path: Path) -> None:
    put(tmp_path, "resourceclaims/c/pair/a.org-metadata.json", one("a.org", "d0"))
    (tmp_path / "resourceclaims/c/pair/b.org-metadata.json").write_text("{")
    with pytest.raises(MalformedMetadata, match=r"b\.org"):
        read_claim("c", "pair", base=tmp_path)


@pytest.mark.parametrize("name", ["../x", "", ".", "a/b/c"])
def test_a_claim_name_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        read_claim(name, "r", base=tmp_path)


def test_validation_lists_every_fault_with_its_path() -> None:
    bad = DeviceMetadata(
        generation=-1,
        pod_claim_name="A",
        requests=(
            Request(
                name="",
                devices=(
                    Device(
                        driver="-x",
                        pool="a//b",
                        name="Vf_3",
                        attributes={
                            "two": {"int": 1, "bool": True},
                            "odd": {"float": 1},
                            "wrong": {"int": "1"},
                            "long": {"strings": ["x" * 65]},
                            "none": {"ints": []},
                        },
                        network_data=NetworkData(interface_name="i" * 257, ips=("a", "a"), hardware_address="h" * 129),
                    ),
                ),
            ),
        ),
    )
    device = "requests[0].devices[0]"
    assert {fault.partition(": ")[0] for fault in validate(bad)} == {
        "metadata.generation",
        "podClaimName",
        "requests[0].name",
        f"{device}.driver",
        f"{device}.pool",
        f"{device}.name",
        f"{device}.attributes[two]",
        f"{device}.attributes[odd]",
        f"{device}.attributes[wrong].int",
        f"{device}.attributes[long].strings",
        f"{device}.attributes[none].ints",
        f"{device}.networkData.interfaceName",
        f"{device}.networkData.ips",
        f"{device}.networkData.hardwareAddress",
    }


def test_validation_finds_nothing_in_a_good_document() -> None:
    assert validate(one("net.example.org", "vf-3")) == []


def test_show_prints_what_a_shell_asks_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "resourceclaimtemplates/nic/pair/net.example.org-metadata.json", one("net.example.org", "vf-3"))
    base = ["show", "--base", str(tmp_path)]
    assert main([*base, "--pod-claim", "nic", "--get", "interface"]) == 0
    assert main([*base, "--get", "ips"]) == 0
    assert main([*base, "--get", "modes"]) == 0
    assert main([*base, "--get", "fast"]) == 0
    assert capsys.readouterr().out.split() == ["net1", "10.0.0.1/24", "2001:db8::1/64", "a", "b", "true"]
    assert main(base) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["REQUEST", "DEVICE", "DRIVER", "INTERFACE", "MAC", "IPS"]
    assert row.split()[:4] == ["pair", "vf-3", "net.example.org", "net1"]


def test_show_of_nothing_is_one_clear_line_and_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--claim", "c"], [], ["--claim", "../.."]):
        assert main(["show", "--base", str(tmp_path), *arguments]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "unbuffered"), [(["--help"], ""), (["show"], ""), (["show"], "1")], ids=["help", "show", "unbuffered"]
)
def test_output_on_a_full_disk_is_one_line_and_exit_code_1(
    tmp_path: Path, arguments: list[str], unbuffered: str
) -> None:
    put(tmp_path, "resourceclaims/c/r/d-metadata.json", one("d", "a"))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = run(tmp_path, arguments, unbuffered, full.fileno())
    assert (done.returncode, done.stderr) == (1, "dragoman-metadata: cannot write: No space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "unbuffered"), [(["--help"], ""), (["show"], ""), (["show"], "1")], ids=["help", "show", "unbuffered"]
)
def test_output_that_nobody_reads_any_more_is_exit_code_1_without_a_word(
    tmp_path: Path, arguments: list[str], unbuffered: str
) -> None:
    put(tmp_path, "resourceclaims/c/r/d-metadata.json", one("d", "a"))
    reader, writer = os.pipe()
    os.close(reader)
    done = run(tmp_path, arguments, unbuffered, writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def run(base: Path, arguments: list[str], unbuffered: str, stdout: int) -> subprocess.CompletedProcess[str]:
    """Run the command as a shell does."""
    where = ["--base", str(base)] if "show" in arguments else []
    return subprocess.run(
        [sys.executable, "-m", "dragoman_metadata.cli", *arguments, *where],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )


@pytest.mark.parametrize("form", [["--get", "name"], ["-o", "json"]], ids=" ".join)
def test_half_a_character_is_shown_as_the_sign_for_one_that_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    put(tmp_path, "resourceclaims/c/r/d-metadata.json", one("d", "a"))
    file = tmp_path / "resourceclaims/c/r/d-metadata.json"
    file.write_text(file.read_text().replace('"fast"', '"name": {"string": "x\\ud800y"}, "fast"'))
    assert main(["show", "--base", str(tmp_path), *form]) == 0
    assert "x\ufffdy" in capsys.readouterr().out


def test_a_request_without_its_claim_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "resourceclaims/c/r/d-metadata.json", one("d", "a"))
    with pytest.raises(SystemExit) as usage:
        main(["show", "--base", str(tmp_path), "--request", "other"])
    assert usage.value.code == 2
    assert "--request needs --claim or --pod-claim" in capsys.readouterr().err


def test_what_no_device_has_is_told_and_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path, "resourceclaims/c/r/d-metadata.json", one("d", "a", data=None))
    assert main(["show", "--base", str(tmp_path), "--get", "interfce"]) == 1
    told = "dragoman-metadata: no device has an attribute interfce; there are fast, modes, mtu\n"
    assert capsys.readouterr() == ("", told)
    assert main(["show", "--base", str(tmp_path), "--get", "interface"]) == 0


@pytest.mark.parametrize("value", [{"ints": 3}, {"strings": "ab"}, {"bools": True}])
def test_a_list_that_is_none_is_a_fault(value: dict[str, object]) -> None:
    device = Device(driver="d", pool="p", name="n", attributes={"x": value})
    (fault,) = validate(DeviceMetadata(requests=(Request(name="r", devices=(device,)),)))
    assert fault.endswith(": is of the wrong type")
