"""Vectors 21–23 and 33 of the reference: capacity of devices that several claims share."""

from collections.abc import Mapping
from typing import Any

from dragoman_allocator.objects import PoolStatus

from .poolworld import DRIVER, amounts, claim, counters, counts, device, one, partition, partitions, result, slice_


def shared(name: str, capacity: Mapping[str, str]) -> dict[str, Any]:
    return device(name, allowMultipleAllocations=True, capacity=amounts(capacity))


def share(name: str, **consumed: str) -> dict[str, Any]:
    return result(name, consumedCapacity=consumed)


def capacities(pool: PoolStatus) -> dict[str, tuple[object, ...]]:
    assert pool.shareable_summary is not None
    return {each.name: (each.total, each.consumed, each.available) for each in pool.shareable_summary.capacity or ()}


def availability(pool: PoolStatus) -> tuple[int, int]:
    assert pool.shareable_summary is not None
    return pool.shareable_summary.fully_available_devices, pool.shareable_summary.partially_available_devices


class TestShareable:
    def test_shares_are_summed_over_claims_and_devices(self) -> None:
        nics = [shared(f"nic{n}", {"bw": "10Gi"}) for n in range(3)]
        claims = [claim(share("nic0", bw="3Gi")), claim(share("nic0", bw="4Gi")), claim(share("nic1", bw="2Gi"))]
        pool = one([slice_(nics)], claims)

        assert availability(pool) == (1, 2)
        assert capacities(pool) == {"bw": ("30Gi", "9Gi", "21Gi")}
        assert pool.allocated_devices == 2

    def test_each_key_sums_the_devices_that_have_it(self) -> None:
        pool = one([slice_([shared("d2", {"b": "5"}), shared("d1", {"a": "10"})])])

        assert list(capacities(pool).items()) == [("a", ("10", "0", "10")), ("b", ("5", "0", "5"))]

    def test_never_less_than_nothing_is_available(self) -> None:
        stale = [claim(share("gone", bw="40Gi"))]

        assert capacities(one([slice_([shared("d", {"bw": "30Gi"})])], stale)) == {"bw": ("30Gi", "40Gi", "0")}

    def test_amounts_print_canonically_even_when_there_is_only_one(self) -> None:
        pool = one([slice_([shared("d", {"bw": "1.500"})])], [claim(share("d", bw="0.250"))])

        assert capacities(pool) == {"bw": ("1500m", "250m", "1250m")}

    def test_admin_access_consumes_nothing(self) -> None:
        look = claim(result("d", adminAccess=True, consumedCapacity={"bw": "5"}))
        pool = one([slice_([shared("d", {"bw": "10"})])], [look])

        assert (availability(pool), capacities(pool)) == ((1, 0), {"bw": ("10", "0", "10")})

    def test_a_holder_without_amounts_makes_the_device_partial(self) -> None:
        pool = one([slice_([shared("d", {"bw": "10"})])], [claim("d")])

        assert (availability(pool), capacities(pool)) == ((0, 1), {"bw": ("10", "0", "10")})

    def test_capacity_of_devices_for_one_claim_is_left_out(self) -> None:
        alone = device("a", capacity=amounts({"bw": "7"}))

        assert capacities(one([slice_([alone, shared("d", {"bw": "10"})])])) == {"bw": ("10", "0", "10")}
        assert one([slice_([alone])]).shareable_summary is None

    def test_33_keys_leave_no_summary_at_all(self) -> None:
        many = shared("d", {f"k{n}": "1" for n in range(33)})
        half = partition("p1", "Half", {"gpu": {"memory": "40Gi"}})
        pool = one([counters({"gpu": {"memory": "80Gi"}}), partitions([half, many])])

        text = f"pool {DRIVER}/p has 33 shareable capacity keys, exceeding the maximum of 32"
        assert pool.validation_error == f"ShareableSummaryOverCap: {text}"
        assert (pool.partition_summary, pool.shareable_summary) == (None, None)
        assert counts(pool) == (2, 0, 2, 0)
