from __future__ import annotations

import ipaddress
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.kube.status_json import bounded_data, canonical_ips, encoded_size, entry_json
from dragoman.model.status import Condition, DeviceStatus
from dragoman_hookspecs import NetworkData

NOW = "2026-11-30T00:00:00Z"


def status(*conditions: Condition, network: NetworkData | None = None, share: str | None = None) -> DeviceStatus:
    return DeviceStatus(
        driver="d", pool="p", device="x", share_id=share, conditions=conditions, data={"v": 1}, network_data=network
    )


def test_an_entry_has_the_shape_of_the_api() -> None:
    ready = Condition(type="Ready", status="True", reason="Prepared", message="done")
    network = NetworkData(interface_name="eth1", hardware_address="02:00:00:00:00:01", ips=("10.9.8.7/24",))
    assert entry_json(status(ready, network=network, share="s"), {"Ready": NOW}) == {
        "driver": "d",
        "pool": "p",
        "device": "x",
        "shareID": "s",
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Prepared", "message": "done", "lastTransitionTime": NOW}
        ],
        "data": {"v": 1},
        "networkData": {
            "interfaceName": "eth1",
            "hardwareAddress": "02:00:00:00:00:01",
            "ips": ["10.9.8.7/24"],
        },
    }


def test_a_dedicated_device_has_no_share_id() -> None:
    assert "shareID" not in entry_json(status(), {})


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("Prepared", "Prepared"), ("link missing!", "link_missing"), ("", "Unspecified"), ("1st", "st"), ("A:", "A")],
)
def test_a_reason_is_made_a_word(reason: str, expected: str) -> None:
    condition = Condition(type="Ready", status="False", reason=reason)
    assert entry_json(status(condition), {"Ready": NOW})["conditions"][0]["reason"] == expected


def test_a_long_message_is_cut_at_a_character() -> None:
    condition = Condition(type="Ready", status="False", reason="R", message="x" + "é" * 20000)
    message = entry_json(status(condition), {"Ready": NOW})["conditions"][0]["message"]
    assert message == "x" + "é" * 16383


def test_of_two_conditions_of_a_type_the_last_counts_and_eight_is_the_most() -> None:
    many = [Condition(type=f"T{n}", status="True", reason="R") for n in range(9)]
    twice = Condition(type="T0", status="False", reason="R")
    entry = entry_json(status(*many, twice), {f"T{n}": NOW for n in range(9)})
    assert [c["type"] for c in entry["conditions"]] == [f"T{n}" for n in range(8)]
    assert entry["conditions"][0]["status"] == "False"


@pytest.mark.parametrize(
    ("given_ips", "expected"),
    [
        (("10.0.0.1",), ["10.0.0.1/32"]),
        (("2001:DB8:0::1/64",), ["2001:db8::1/64"]),
        (("10.0.0.1/24", "10.0.0.1/24"), ["10.0.0.1/24"]),
        (("::ffff:10.0.0.1/96", "nonsense", "10.0.0.256/24"), []),
        (("fe80::1%eth0/64",), ["fe80::1/64"]),
        (tuple(f"10.0.0.{n}/24" for n in range(20)), [f"10.0.0.{n}/24" for n in range(16)]),
    ],
)
def test_addresses_are_canonical_unique_and_sixteen_at_most(given_ips: tuple[str, ...], expected: list[str]) -> None:
    assert canonical_ips(given_ips) == expected


@settings(derandomize=True, max_examples=50)
@given(st.ip_addresses(v=6), st.integers(0, 128))
def test_an_ipv6_address_in_long_form_becomes_canonical(address: ipaddress.IPv6Address, prefix: int) -> None:
    expected = [] if address.ipv4_mapped else [f"{address}/{prefix}"]
    assert canonical_ips([f"{address.exploded.upper()}/{prefix}"]) == expected


def test_what_does_not_fit_the_network_data_is_left_out() -> None:
    network = NetworkData(interface_name="i" * 257, hardware_address="h" * 129, ips=("bad",))
    assert "networkData" not in entry_json(status(network=network), {})


def test_data_within_the_limit_is_untouched() -> None:
    data = {"config": {"a": "x" * 10000}, "state": {"b": 1}}
    assert bounded_data(data) == data


def test_data_beyond_the_limit_loses_its_config_first_and_says_so() -> None:
    data = {"config": {"a": "x" * 6000}, "state": {"b": "y" * 6000}}
    assert bounded_data(data) == {"state": {"b": "y" * 6000}, "truncated": ["config"]}


def test_the_size_counts_what_go_escapes() -> None:
    assert encoded_size("<>&") == len(r'"\u003c\u003e\u0026"')


TEXT = st.text(alphabet="a<é", max_size=8000)


@settings(derandomize=True, max_examples=50)
@given(st.dictionaries(st.sampled_from(["config", "state", "manager", "pool", "note"]), TEXT))
def test_bounded_data_fits_and_names_what_is_missing(data: dict[str, str]) -> None:
    result = bounded_data(data)
    gone = result.pop("truncated", [])
    assert len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c").encode()) <= 10240
    assert set(result) | set(gone) == set(data)
    assert all(result[key] == data[key] for key in result)
