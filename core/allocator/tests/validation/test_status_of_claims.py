"""Rows of api-semantics 7.16 about the status of claims."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.validation import check

from .apiobjects import ALL, DRIVER, SHARE, Json, allocated, claim, consumer, fields, request, result, stored, told

DELETED = "2024-01-01T00:00:00Z"


def written(new: Json, old: Json | None = None, *, gates: Features = ALL, **meta: Any) -> list[tuple[str, str]]:
    """Give the errors of an update that writes a status over another."""
    before = stored(claim(status=old or {}))
    after = stored(claim(status=new))
    for one in (before, after):
        one["metadata"].update(meta)
    return fields(after, before, gates=gates, subresource="status")


def test_an_allocation_is_written_once_and_may_be_cleared() -> None:
    assert written(allocated(result())) == []
    assert written({}, allocated(result())) == []
    assert written(allocated(result()), allocated(result())) == []
    assert written(allocated(result("other")), allocated(result())) == [("status.allocation", "Invalid")]
    assert written(allocated(result(), result("other")), allocated(result())) == [("status.allocation", "Invalid")]


def test_reservations_need_an_allocation() -> None:
    assert written(allocated(result(), reservedFor=[consumer()])) == []
    assert written({"reservedFor": [consumer()]}) == [("status.reservedFor", "Forbidden")]


def test_a_claim_has_up_to_256_reservations() -> None:
    assert written(allocated(result(), reservedFor=[consumer(n) for n in range(256)])) == []
    too_many = [consumer(n) for n in range(257)]
    assert written(allocated(result(), reservedFor=too_many)) == [("status.reservedFor", "TooMany")]


def test_nothing_is_reserved_while_the_claim_is_deleted() -> None:
    old = allocated(result(), reservedFor=[consumer(1), consumer(2)])
    new = allocated(result(), reservedFor=[consumer(3)])
    assert written(new, old) == []
    assert written(new, old, deletionTimestamp=DELETED) == [("status.reservedFor", "Forbidden")]
    fewer = allocated(result(), reservedFor=[consumer(1)])
    assert written(fewer, old, deletionTimestamp=DELETED) == []


def report(name: str = "d", **members: Any) -> Json:
    return {"driver": DRIVER, "pool": "pool", "device": name, **members}


def test_drivers_report_about_allocated_devices_only() -> None:
    assert written(allocated(result(), devices=[report()])) == []
    assert written(allocated(result(), devices=[report("other")])) == [("status.devices[0]", "Invalid")]
    assert written(allocated(result(), devices=[report(shareID=SHARE)])) == [("status.devices[0]", "Invalid")]
    assert written(allocated(result(), devices=[report(), report()])) == [("status.devices[1]", "Duplicate")]


def test_reports_about_deallocated_devices_go_with_the_allocation() -> None:
    old = allocated(result(), devices=[report()])
    assert written({"devices": [report()]}, old) == []


@pytest.mark.parametrize("share", [SHARE.replace("1", "A"), "x", "", "{" + SHARE + "}", SHARE.replace("-", "")])
def test_share_ids_are_lower_case_uuids(share: str) -> None:
    assert written(allocated(result(shareID=SHARE))) == []
    assert written(allocated(result(shareID=share))) == [("status.allocation.devices.results[0].shareID", "Invalid")]


def test_an_allocation_has_up_to_32_results_and_may_have_none() -> None:
    path = "status.allocation.devices.results"
    assert written(allocated()) == []
    assert written(allocated(*(result(f"d{n}") for n in range(32)))) == []
    assert written(allocated(*(result(f"d{n}") for n in range(33)))) == [(path, "TooMany")]


def test_results_name_requests_of_the_claim() -> None:
    path = "status.allocation.devices.results[0].request"
    assert written(allocated(result(request="other"))) == [(path, "Invalid")]
    assert written(allocated(result(request="a/b/c"))) == [(path, "Invalid")]


@pytest.mark.parametrize(("data", "error"), [
    ({"interfaceName": "x" * 257}, [("interfaceName", "TooLong")]),
    ({"hardwareAddress": "x" * 129}, [("hardwareAddress", "TooLong")]),
    ({"ips": ["10.1.2.3/24", "2001:db8::1/64"]}, []),
    ({"ips": ["10.1.2.3"]}, [("ips[0]", "Invalid")]),
    ({"ips": ["10.01.2.3/24"]}, [("ips[0]", "Invalid")]),
    ({"ips": ["2001:DB8::1/64"]}, [("ips[0]", "Invalid")]),
    ({"ips": ["10.1.2.3/24"] * 2}, [("ips[1]", "Duplicate")]),
    ({"ips": [f"10.0.0.{n}/32" for n in range(17)]}, [("ips", "TooMany")]),
])  # fmt: skip
def test_network_data(data: Json, error: list[tuple[str, str]]) -> None:
    found = written(allocated(result(), devices=[report(networkData=data)]))
    assert found == [(f"status.devices[0].networkData.{where}", kind) for where, kind in error]


@pytest.mark.parametrize(("address", "canonical"), [
    ("00001::/64", "1::/64"),
    ("2001:db8:0:00::01/064", "2001:db8::1/64"),
    ("::ffff:010.2.3.004/120", "10.2.3.4/24"),
    ("010.0.0.1/08", "10.0.0.1/8"),
])  # fmt: skip
def test_zeros_in_front_make_an_address_one_that_is_not_canonical(address: str, canonical: str) -> None:
    claimed = stored(claim(request()))
    status = allocated(result(), devices=[report(networkData={"ips": [address]})])
    path, form = "status.devices[0].networkData.ips[0]", f'must be in canonical form ("{canonical}")'
    assert told({**claimed, "status": status}, claimed, subresource="status") == [
        f'{path}: Invalid value: "{address}": {form}'
    ]


@pytest.mark.parametrize(("year", "error"), [
    ("0000", []),
    ("0001", [("status.devices[0].conditions[0].lastTransitionTime", "Required")]),
])  # fmt: skip
def test_the_zero_time_is_that_of_the_year_one(year: str, error: list[tuple[str, str]]) -> None:
    condition = {"type": "Ready", "status": "True", "reason": "Ok", "lastTransitionTime": f"{year}-01-01T00:00:00Z"}
    assert written(allocated(result(), devices=[report(conditions=[condition])])) == error


def test_conditions_of_a_device() -> None:
    good = {"type": "Ready", "status": "True", "lastTransitionTime": DELETED, "reason": "Ok", "message": ""}
    path = "status.devices[0].conditions"
    many = [{**good, "type": f"T{number}"} for number in range(9)]
    assert written(allocated(result(), devices=[report(conditions=many[:8])])) == []
    assert written(allocated(result(), devices=[report(conditions=many)])) == [(path, "TooMany")]
    assert written(allocated(result(), devices=[report(conditions=[{"type": "Ready"}])])) == [
        (f"{path}[0].lastTransitionTime", "Required"),
        (f"{path}[0].reason", "Required"),
        (f"{path}[0].status", "Required"),
    ]


def test_what_a_gate_turns_off_is_dropped_before_anything_is_checked() -> None:
    off = Features.of({"DRAConsumableCapacity": False})
    assert written(allocated(result(shareID="bad")), gates=off) == []
    in_use = allocated(reservedFor=[], devices=[report(shareID=SHARE)])
    assert written(allocated(result(shareID="bad")), in_use, gates=off) != []


def test_a_status_is_only_updated() -> None:
    with pytest.raises(InvalidInput, match="only ever updated"):
        check(claim(request()), None, "status")
    with pytest.raises(InvalidInput, match="no subresource 'scale'"):
        check(claim(request()), None, "scale")
