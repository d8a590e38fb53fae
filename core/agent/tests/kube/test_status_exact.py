from __future__ import annotations

import pytest

from dragoman.kube._proto import claim_pb2
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.status_exact import replaced
from dragoman.model.claims import ClaimRef
from dragoman_hookspecs import JsonObject

DRIVER = "net.dragoman.dev"
REF = ClaimRef(uid="u1", namespace="ns", name="c")
ENTRY: JsonObject = {
    "driver": DRIVER,
    "pool": "n1",
    "device": "a",
    "shareID": "3f0c6a1e-52d4-4c55-9c1f-0c8b7f9c2f10",
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Prepared",
            "message": "it is",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }
    ],
    "data": {"b": 1, "a": {"y": True}},
    "networkData": {"interfaceName": "net1", "ips": ["192.0.2.1/24"], "hardwareAddress": "02:00:00:00:00:01"},
}

# Fields of the wire format by hand: number, length, content. What follows them is short.
SPEC = b"\x12\x05spec!"
ALLOCATION = b'\x0a\x11{"mtu":   "9000"}'
RESERVED = b"\x12\x03red"


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def stored(*devices: bytes, uid: bytes = b"u1") -> bytes:
    """Give a claim as a server sends it, with parts that this program does not know."""
    metadata = field(1, b"c") + field(5, uid) + field(6, b"42")
    status = ALLOCATION + RESERVED + b"".join(field(4, each) for each in devices)
    raw = field(1, metadata) + SPEC + field(3, status)
    return b"k8s\x00" + field(1, field(1, b"resource.k8s.io/v1") + field(2, b"ResourceClaim")) + field(2, raw)


def parsed(content: bytes) -> claim_pb2.ResourceClaim:
    assert content.startswith(b"k8s\x00")
    envelope = claim_pb2.Unknown.FromString(content[4:])
    return claim_pb2.ResourceClaim.FromString(envelope.raw)


def test_what_is_not_understood_stays_byte_by_byte() -> None:
    theirs = field(1, b"gpu.example.com") + field(2, b"p") + field(3, b"g0") + field(5, field(1, b'{ "x":1 }'))
    content = replaced(stored(theirs), REF, DRIVER, [ENTRY])
    for part in (SPEC, ALLOCATION, RESERVED, theirs, field(1, b"resource.k8s.io/v1"), field(6, b"42")):
        assert part in content


def test_entries_of_the_driver_are_replaced_and_others_are_kept() -> None:
    old = field(1, DRIVER.encode()) + field(3, b"old")
    theirs = field(1, b"gpu.example.com") + field(3, b"g0")
    found = parsed(replaced(stored(old, theirs), REF, DRIVER, [ENTRY])).status.devices
    assert [(entry.driver, entry.device) for entry in found] == [("gpu.example.com", "g0"), (DRIVER, "a")]
    assert parsed(replaced(stored(old, theirs), REF, DRIVER, [])).status.devices[0].device == "g0"


def test_an_entry_tells_all_that_its_json_tells() -> None:
    (entry,) = parsed(replaced(stored(), REF, DRIVER, [ENTRY])).status.devices
    assert (entry.driver, entry.pool, entry.device, entry.shareID) == (DRIVER, "n1", "a", ENTRY["shareID"])
    (condition,) = entry.conditions
    assert (condition.type, condition.status, condition.reason, condition.message) == (
        "Ready",
        "True",
        "Prepared",
        "it is",
    )
    # 2026-01-02T03:04:05Z: 20,455 days after 1970, and 3 h 4 min 5 s.
    assert condition.lastTransitionTime.seconds == 20_455 * 86_400 + 11_045
    assert entry.data.raw == b'{"a":{"y":true},"b":1}'
    network = entry.networkData
    assert (network.interfaceName, list(network.ips), network.hardwareAddress) == (
        "net1",
        ["192.0.2.1/24"],
        "02:00:00:00:00:01",
    )


def test_an_entry_without_share_data_and_network_has_none() -> None:
    plain = {key: ENTRY[key] for key in ("driver", "pool", "device", "conditions")}
    (entry,) = parsed(replaced(stored(), REF, DRIVER, [plain])).status.devices
    assert not any(entry.HasField(name) for name in ("shareID", "data", "networkData"))


def test_data_is_written_as_the_server_writes_it() -> None:
    entry = ENTRY | {"data": {"note": "a<b>&\u2028\u2029\u00fc"}}
    (found,) = parsed(replaced(stored(), REF, DRIVER, [entry])).status.devices
    # As encoding/json of Go does: https://pkg.go.dev/encoding/json#Marshal
    assert found.data.raw.decode() == r'{"note":"a\u003cb\u003e\u0026\u2028\u2029ü"}'


def test_another_claim_of_that_name_is_not_touched() -> None:
    with pytest.raises(ApiError, match="ns/c was deleted and made again"):
        replaced(stored(uid=b"u2"), REF, DRIVER, [ENTRY])


def test_what_is_no_claim_may_be_one_later() -> None:
    with pytest.raises(ServerUnavailable, match="ns/c cannot be read"):
        replaced(b"k8s\x00<html>", REF, DRIVER, [ENTRY])
