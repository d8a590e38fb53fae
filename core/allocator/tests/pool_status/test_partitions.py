"""Vectors 10–20, 24, 27–29, 34 and 35 of the reference: partition types, and how many of each still fit."""

import pytest

from dragoman_allocator.objects import PoolStatus, ResourceClaim

from .poolworld import (
    DRIVER,
    PROFILE,
    RULES_OF_1_36,
    amounts,
    ask,
    claim,
    counters,
    counts,
    device,
    devices,
    message,
    one,
    partition,
    partitions,
    slice_,
    summary,
)

FULL = partition("full", "Full", {"gpu": {"memory": "80Gi"}})
HALVES = [partition(f"half{number}", "Half", {"gpu": {"memory": "40Gi"}}) for number in (1, 2)]
QUARTERS = [partition(f"quarter{number}", "Quarter", {"gpu": {"memory": "20Gi"}}) for number in (1, 2, 3, 4)]


def gpu(*claims: ResourceClaim, given: object = None, memory: str = "80Gi", default: str | None = None) -> PoolStatus:
    parts = [FULL, *HALVES] if given is None else given
    assert isinstance(parts, list)
    extra = {} if default is None else {"defaultPartitionTypeAttribute": default}
    return one([counters({"gpu": {"memory": memory}}), partitions(parts)], claims, **extra)


def shares(cost: str) -> dict[str, object]:
    return partition(f"share-{cost.lower().replace('.', '')}", "Same", {"gpu": {"memory": cost}})


class TestAllocatable:
    def test_everything_fits_while_nothing_is_used(self) -> None:
        assert summary(gpu()) == {"Full": (1, 1), "Half": (2, 2)}

    def test_a_used_half_leaves_one_half_and_no_full(self) -> None:
        pool = gpu(claim("half1"))

        assert summary(pool) == {"Full": (0, 1), "Half": (1, 2)}
        assert counts(pool) == (3, 1, 2, 0)

    def test_a_used_full_leaves_nothing(self) -> None:
        assert summary(gpu(claim("full"))) == {"Full": (0, 1), "Half": (0, 2)}

    def test_types_are_alternatives_to_each_other(self) -> None:
        pool = gpu(claim("quarter1"), given=[FULL, *HALVES, *QUARTERS])

        assert summary(pool) == {"Full": (0, 1), "Half": (1, 2), "Quarter": (3, 4)}

    def test_no_more_than_exist_are_allocatable(self) -> None:
        assert summary(gpu(memory="800Gi")) == {"Full": (1, 1), "Half": (2, 2)}

    def test_the_scarcest_counter_decides(self) -> None:
        parts = [partition(f"full{n}", "Full", {"mem": {"size": "80Gi"}, "sm": {"count": "8"}}) for n in (1, 2)]
        pool = one([counters({"mem": {"size": "160Gi"}, "sm": {"count": "8"}}), partitions(parts)])

        assert summary(pool) == {"Full": (1, 2)}

    def test_a_shared_partition_takes_its_counters_once(self) -> None:
        shared = partition("s", "Half", {"gpu": {"memory": "40Gi"}}, allowMultipleAllocations=True)
        pool = gpu(*(claim("s", name=f"c{n}") for n in range(3)), given=[shared, *HALVES])

        assert summary(pool) == {"Half": (1, 3)}

    def test_an_unknown_counter_set_fits_nothing(self) -> None:
        pool = gpu(given=[partition("d", "Odd", {"other": {"memory": "1Gi"}})])

        assert (summary(pool), pool.validation_error) == ({"Odd": (0, 1)}, None)

    def test_a_later_set_of_the_same_name_overrides_counters_and_keeps_the_others(self) -> None:
        sets = [
            counters({"gpu": {"memory": "80Gi", "sm": "1"}}, count=3),
            counters({"gpu": {"memory": "40Gi"}}, count=3),
        ]
        both = partition("d", "T", {"gpu": {"memory": "40Gi", "sm": "1"}})

        assert summary(one([*sets, partitions([FULL, both])])) == {"Full": (0, 1), "T": (1, 1)}


class TestTypes:
    def test_are_sorted_by_attribute_then_type(self) -> None:
        pool = gpu(given=[*HALVES, FULL])

        assert [(each.attribute, each.type) for each in pool.partition_summary or ()] == [
            (PROFILE, "Full"),
            (PROFILE, "Half"),
        ]

    def test_set_names_are_part_of_the_cost(self) -> None:
        parts = [partition(f"d{n}", "Half", {f"gpu-{n}": {"memory": "40Gi"}}) for n in (0, 1)]
        pool = one([counters({f"gpu-{n}": {"memory": "80Gi"} for n in (0, 1)}), partitions(parts)])

        assert pool.validation_error == (
            f'PartitionCostMismatch: devices of partition type "Half" in pool {DRIVER}/p consume different counters'
        )
        assert pool.partition_summary is None
        assert counts(pool) == (2, 0, 2, 0)

    @pytest.mark.parametrize(
        ("first", "second", "groups"),
        [("1Gi", "1024Mi", {"Same": (2, 2)}), ("1Gi", "1073741824", None), ("1.234", "1234m", None)],
    )
    def test_costs_are_compared_as_the_api_prints_them(
        self, first: str, second: str, groups: dict[str, tuple[int, int]] | None
    ) -> None:
        pool = gpu(given=[shares(first), shares(second)])

        assert summary(pool) == groups
        assert (pool.validation_error is None) == (groups is not None)

    def test_a_partition_without_the_attribute_is_an_error(self) -> None:
        pool = gpu(
            given=[device("x", consumesCounters=[{"counterSet": "gpu", "counters": amounts({"memory": "1Gi"})}])]
        )

        assert pool.validation_error == (
            f'PartitionTypeMissing: device "x" in pool {DRIVER}/p does not carry partition type attribute "{PROFILE}"'
        )
        assert counts(pool) == (1, 0, 1, 0)

    def test_an_attribute_of_another_type_is_as_good_as_none(self) -> None:
        odd = partition("x", "T", {"gpu": {"memory": "1Gi"}}) | {"attributes": {PROFILE: {"int": 1}}}

        assert str(gpu(given=[odd]).validation_error).startswith('PartitionTypeMissing: device "x"')

    def test_a_plain_device_needs_no_attribute(self) -> None:
        assert summary(gpu(given=[FULL, device("plain")])) == {"Full": (1, 1)}

    def test_the_bare_name_is_found_in_the_domain_of_the_driver_and_the_full_one_wins(self) -> None:
        bare = partition("a", "", {"gpu": {"memory": "1Gi"}}) | {"attributes": {"profile": {"string": "Bare"}}}
        both = partition("b", "", {"gpu": {"memory": "1Gi"}}) | {
            "attributes": {"profile": {"string": "Bare"}, PROFILE: {"string": "Full"}}
        }

        assert summary(gpu(given=[bare, both])) == {"Bare": (1, 1), "Full": (1, 1)}

    def test_more_than_32_are_an_error(self) -> None:
        parts = [partition(f"d{n}", f"T{n}", {"gpu": {"memory": "1Gi"}}) for n in range(33)]

        assert summary(gpu(given=parts[:32])) == {f"T{n}": (1, 1) for n in range(32)}
        assert gpu(given=parts).validation_error == (
            f"PartitionSummaryOverCap: pool {DRIVER}/p has 33 partition types, exceeding the maximum of 32"
        )

    def test_names_in_messages_are_quoted_as_go_does(self) -> None:
        parts = [partition(f"d{n}", 'a"\n\u200b\x01é', {"gpu": {"memory": f"{n}Gi"}}) for n in (1, 2)]

        assert r'partition type "a\"\n\u200b\x01é" in pool' in str(gpu(given=parts).validation_error)


class TestDefaultAttribute:
    def test_groups_devices_where_no_slice_declares_one(self) -> None:
        undeclared = slice_([FULL, *HALVES], count=2)
        world = [counters({"gpu": {"memory": "80Gi"}}), undeclared]

        assert summary(one(world)) is None
        assert summary(one(world, defaultPartitionTypeAttribute=PROFILE)) == {"Full": (1, 1), "Half": (2, 2)}

    def test_flags_a_pool_without_counters(self) -> None:
        status = ask([slice_(devices(2))], [claim("d1")], defaultPartitionTypeAttribute=PROFILE)

        (pool,) = status.pools or []
        assert pool.validation_error == (
            f"PartitionTypeMissing: pool {DRIVER}/p declares partitionTypeAttribute but publishes no sharedCounters"
        )
        assert counts(pool) == (2, 1, 1, 0)
        assert message(status) == "Calculated status for 1 pools (1 incomplete)"

    def test_applies_to_no_device_where_one_slice_declares_another(self) -> None:
        other = slice_([HALVES[0] | {"attributes": {"b.example.com/b": {"string": "B"}}}], count=3)
        declared = slice_([FULL], count=3, partitionTypeAttribute=PROFILE)
        world = [counters({"gpu": {"memory": "80Gi"}}, count=3), declared, other]

        assert summary(one(world, defaultPartitionTypeAttribute="b.example.com/b")) == {"Full": (1, 1)}

    def test_a_slice_without_devices_declares_nothing(self) -> None:
        empty = slice_([], count=3, partitionTypeAttribute="b.example.com/b")
        world = [counters({"gpu": {"memory": "80Gi"}}, count=3), empty, slice_([FULL], count=3)]

        assert summary(one(world, defaultPartitionTypeAttribute=PROFILE)) == {"Full": (1, 1)}


class TestBesideOtherViews:
    def test_an_error_of_partitions_leaves_the_shareable_summary(self) -> None:
        shared = device("s", allowMultipleAllocations=True, capacity=amounts({"memory": "10Gi"}))
        pool = gpu(given=[shares("1Gi"), shares("2Gi"), shared])

        assert str(pool.validation_error).startswith("PartitionCostMismatch: ")
        assert pool.shareable_summary is not None
        assert pool.shareable_summary.fully_available_devices == 1

    def test_1_36_has_no_summaries(self) -> None:
        shared = device("s", allowMultipleAllocations=True)
        pool = one([counters({"gpu": {"memory": "80Gi"}}), partitions([FULL, shared])], features=RULES_OF_1_36)

        assert (pool.partition_summary, pool.shareable_summary, pool.validation_error) == (None, None, None)
