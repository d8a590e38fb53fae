"""Vectors 1–9, 26 and 30–32 of the reference: what is counted, what is left out, and what a pool says of itself."""

import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.pool_status import PoolIncomplete, failed

from .poolworld import NOW, RULES_OF_1_36, ask, claim, counts, device, devices, message, one, result, rule, slice_

TAINTED = {"taints": [{"key": "k", "effect": "NoSchedule"}]}


class TestAllocated:
    def test_devices_of_claims_are_allocated_and_the_others_available(self) -> None:
        pool = one([slice_(devices(4))], [claim("d1", "d2"), claim("d3")])

        assert counts(pool) == (4, 3, 1, 0)

    def test_a_device_that_is_allocated_and_tainted_is_subtracted_twice(self) -> None:
        given = [device("d1"), device("d2", **TAINTED), device("d3", **TAINTED), device("d4", **TAINTED)]

        assert counts(one([slice_(given)], [claim("d1"), claim("d2")])) == (4, 2, 0, 3)

    def test_a_device_shared_by_five_claims_counts_once(self) -> None:
        world = [slice_(devices(3))], [claim("d1", name=f"c{n}") for n in range(5)]

        assert counts(one(*world)) == (3, 1, 2, 0)
        assert counts(one(*world, features=RULES_OF_1_36)) == (3, 5, 0, 0)

    def test_admin_access_holds_nothing(self) -> None:
        world = [slice_(devices(2))], [claim(result("d1", adminAccess=True))]

        assert counts(one(*world)) == (2, 0, 2, 0)
        assert counts(one(*world, features=RULES_OF_1_36)) == (2, 1, 1, 0)

    def test_a_device_that_is_gone_is_still_allocated(self) -> None:
        assert counts(one([slice_(devices(2))], [claim("old")])) == (2, 1, 1, 0)

    def test_results_of_another_driver_or_pool_do_not_count(self) -> None:
        elsewhere = claim(result("d1", driver="nic.example.com"), result("d1", pool="q"))

        assert counts(one([slice_(devices(2))], [elsewhere])) == (2, 0, 2, 0)

    def test_a_name_in_two_slices_is_two_devices_of_which_one_is_allocated(self) -> None:
        twice = [slice_([device("d1")], count=2), slice_([device("d1")], count=2)]

        assert counts(one(twice, [claim("d1")])) == (2, 1, 1, 0)


class TestUnavailable:
    @pytest.mark.parametrize(("effect", "unavailable"), [("NoSchedule", 1), ("NoExecute", 1), ("None", 0), ("New", 0)])
    def test_only_taints_that_keep_claims_away_count(self, effect: str, unavailable: int) -> None:
        given = [device("d1", taints=[{"key": "k", "effect": effect}]), device("d2")]

        assert one([slice_(given)]).unavailable_devices == unavailable

    @pytest.mark.parametrize(
        ("selector", "unavailable"),
        [
            (None, 0),
            ({}, 2),
            ({"device": "d1"}, 1),
            ({"driver": "nic.example.com"}, 0),
            ({"pool": "p", "device": "d3"}, 0),
        ],
    )
    def test_a_rule_taints_what_it_selects(self, selector: dict[str, str] | None, unavailable: int) -> None:
        assert one([slice_(devices(2))], rules=[rule(selector)]).unavailable_devices == unavailable

    def test_a_rule_without_effect_taints_nothing(self) -> None:
        assert one([slice_(devices(2))], rules=[rule({}, "None")]).unavailable_devices == 0

    def test_rules_are_not_read_where_their_gate_is_off(self) -> None:
        off = Features.of({"DRADeviceTaintRules": False})

        assert one([slice_(devices(2))], rules=[rule({})], features=off).unavailable_devices == 0

    def test_1_36_looks_at_no_taints(self) -> None:
        pool = one([slice_(devices(2, **TAINTED))], rules=[rule({})], features=RULES_OF_1_36)

        assert counts(pool) == (2, 0, 2, 0)


class TestPools:
    def test_only_the_newest_generation_counts_and_a_pool_without_all_its_slices_is_tried_again(self) -> None:
        old = [slice_(devices(2), count=2), slice_(devices(2), count=2)]
        new = slice_(devices(1), generation=2, count=2)

        with pytest.raises(PoolIncomplete) as refused:
            ask([*old, new], [claim("d1")])

        text = "PoolIncomplete: pool gpu.example.com/p is incomplete: observed 1/2 slices at generation 2"
        assert str(refused.value) == text
        (pool,) = refused.value.status.pools or []
        assert (pool.validation_error, pool.generation, pool.node_name) == (text, 2, "n1")
        assert counts(pool) == (None,) * 4
        assert pool.resource_slice_count is None
        assert message(refused.value.status) == "Calculated status for 1 pools (1 incomplete)"

    def test_an_incomplete_pool_has_no_prefix_in_1_36(self) -> None:
        with pytest.raises(PoolIncomplete, match=r"^pool gpu\.example\.com/p is incomplete: observed 1/2"):
            ask([slice_(count=2)], features=RULES_OF_1_36)

    def test_an_error_is_cut_to_256_bytes(self) -> None:
        with pytest.raises(PoolIncomplete) as refused:
            ask([slice_(pool="x" * 250, count=2)])

        assert str(refused.value) == f"PoolIncomplete: pool gpu.example.com/{'x' * 219}"

    def test_pools_beyond_the_limit_are_counted_and_not_listed(self) -> None:
        status = ask([slice_(pool=name) for name in ("c", "a", "b")], limit=2)

        assert status.pool_count == 3
        assert [pool.pool_name for pool in status.pools or ()] == ["a", "b"]
        assert message(status) == "Calculated status for 2 pools"

    def test_an_incomplete_pool_beyond_the_limit_does_not_hold_the_answer_back(self) -> None:
        status = ask([slice_(pool="a"), slice_(pool="b", count=2)], limit=1)

        assert [pool.pool_name for pool in status.pools or ()] == ["a"]

    def test_a_hundred_pools_are_listed_where_the_request_sets_no_limit(self) -> None:
        status = ask([slice_(pool=f"p{number}") for number in range(101)])

        assert (status.pool_count, len(status.pools or ())) == (101, 100)

    def test_a_negative_limit_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match=r"spec\.limit of request q is -1"):
            ask([slice_()], limit=-1)

    def test_a_pool_on_two_nodes_has_no_node(self) -> None:
        assert one([slice_(count=2, node="n1"), slice_(count=2, node="n2")]).node_name is None

    def test_a_slice_for_all_nodes_takes_the_node_from_the_pool(self) -> None:
        assert one([slice_(count=2, node=None), slice_(count=2, node="n1")]).node_name is None

    def test_no_slices_are_no_pools(self) -> None:
        status = ask([])

        assert (status.pool_count, status.pools) == (0, None)
        assert message(status) == "Calculated status for 0 pools"

    def test_more_slices_than_expected_are_complete(self) -> None:
        pool = one([slice_(devices(1)), slice_(devices(1))])

        assert (pool.resource_slice_count, pool.total_devices, pool.validation_error) == (2, 2, None)

    def test_the_number_of_slices_is_that_of_the_first(self) -> None:
        assert one([slice_(count=1), slice_(count=3)]).validation_error is None

    def test_other_drivers_and_other_pools_are_left_out(self) -> None:
        slices = [slice_(), slice_(pool="q"), slice_(driver="nic.example.com")]

        assert [pool.pool_name for pool in ask(slices).pools or ()] == ["p", "q"]
        assert [pool.pool_name for pool in ask(slices, poolName="q").pools or ()] == ["q"]


class TestCondition:
    def test_says_that_it_is_complete_and_when(self) -> None:
        (condition,) = ask([]).conditions or []

        assert (condition.type, condition.status, condition.reason) == ("Complete", "True", "CalculationComplete")
        assert condition.last_transition_time == NOW

    def test_says_what_failed(self) -> None:
        status = failed("Failed to list ResourceClaims: no", NOW)

        (condition,) = status.conditions or []
        assert (condition.type, condition.status, condition.reason) == ("Failed", "True", "CalculationFailed")
        assert (status.pool_count, status.pools, condition.message) == (0, None, "Failed to list ResourceClaims: no")
