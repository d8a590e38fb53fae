"""What claims add to a pod (KEP-5517): one test for each rule, with the amounts worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator import accounting
from dragoman_allocator.accounting import AllocatedClaim, Amounts, DeviceGone, Devices, UnknownCharge
from dragoman_allocator.decode import decode, to_json
from dragoman_allocator.objects import Node, Pod, ResourceClaim, ResourceSlice
from dragoman_allocator.objects.pods import NodeAllocatableClaimStatus

DRIVER = "driver-a"


def devices(node: Node | None = None, **resources: Any) -> Devices:
    """Give devices by name with their ``nodeAllocatableResources``."""
    parts = {
        "metadata": {"name": "s1"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n1",
            "devices": [{"name": name, "nodeAllocatableResources": each} for name, each in resources.items()],
        },
    }
    return Devices([decode(ResourceSlice, parts)], node)


def claim(name: str, *results: dict[str, Any], names: tuple[str, ...] = ()) -> AllocatedClaim:
    """Give a claim allocated to devices (``d1`` unless said), which the pod knows by its name unless said."""
    given = [{"request": "r", "driver": DRIVER, "pool": "p", "device": "d1"} | result for result in results or ({},)]
    made = decode(
        ResourceClaim,
        {
            "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
            "status": {"allocation": {"devices": {"results": given}}},
        },
    )
    return AllocatedClaim(made, made.status.allocation, names or (name,))


def container(name: str, requests: dict[str, str] | None = None, *claims: str, **more: Any) -> dict[str, Any]:
    resources = {"requests": requests or {}, "claims": [{"name": each} for each in claims]}
    return {"name": name, "resources": resources | more.pop("resources", {})} | more


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **spec: Any) -> Pod:
    return decode(
        Pod,
        {
            "metadata": {"name": "pod", "namespace": "ns", "uid": "uid-pod"},
            "spec": {"containers": list(containers), "initContainers": list(init), **spec},
        },
    )


def charged(of: Pod, claims: list[AllocatedClaim], found: Devices) -> Pod:
    return accounting.charged(of, accounting.charges(of, claims, found))


def requests(of: Pod) -> dict[str, str]:
    return accounting.texts(accounting.pod_requests(of, claims=True))


def shown(amounts: Amounts) -> dict[str, str]:
    return accounting.texts(amounts)


def statuses(found: list[NodeAllocatableClaimStatus]) -> list[dict[str, Any]]:
    return [to_json(each) for each in found]


OVERHEAD = {"memory": {"overhead": {"perPod": "1Gi", "perContainer": "500Mi"}}}


def test_a_device_multiplier_counts_once_for_each_device() -> None:
    found = devices(
        d1={"cpu": {"mapping": {"deviceMultiplier": "8"}}}, d2={"cpu": {"mapping": {"deviceMultiplier": "8"}}}
    )
    (status,) = accounting.charges(pod(), [claim("a", {"device": "d1"}, {"device": "d2"})], found)
    assert to_json(status)["mapping"] == [{"name": "cpu", "quantity": "16"}]


def test_an_admin_result_counts_like_any_other() -> None:
    found = devices(d1={"cpu": {"mapping": {"deviceMultiplier": "8"}}})
    (status,) = accounting.charges(pod(), [claim("a", {"adminAccess": True})], found)
    assert to_json(status)["mapping"] == [{"name": "cpu", "quantity": "8"}]


@pytest.mark.parametrize(
    ("consumed", "factor", "amount"),
    [("8", "2", "16"), ("3Gi", "1.5", "4608Mi"), ("3", "0.5", "1500m"), ("4Gi", "1", "4Gi")],
)
def test_consumed_capacity_is_multiplied_and_keeps_its_format(consumed: str, factor: str, amount: str) -> None:
    found = devices(d1={"memory": {"mapping": {"capacityKey": "mem", "capacityMultiplier": factor}}})
    (status,) = accounting.charges(pod(), [claim("a", {"consumedCapacity": {"mem": consumed}})], found)
    assert to_json(status)["mapping"] == [{"name": "memory", "quantity": amount}]


def test_a_capacity_that_is_not_consumed_adds_nothing() -> None:
    found = devices(d1={"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}})
    assert accounting.charges(pod(), [claim("a", {"consumedCapacity": {"other": "1"}})], found) == []


def test_a_result_without_consumed_capacity_cannot_be_charged_by_a_capacity() -> None:
    found = devices(d1={"cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}})
    with pytest.raises(UnknownCharge, match="claim ns/a, device d1: ConsumedCapacity is nil, but Capacity key 'cores'"):
        accounting.charges(pod(), [claim("a")], found)


def test_a_claim_that_one_container_uses_adds_to_the_requests_of_all() -> None:
    found = devices(
        d1={"cpu": {"mapping": {"deviceMultiplier": "4"}}}, d2={"cpu": {"mapping": {"deviceMultiplier": "2"}}}
    )
    two = pod(container("c1", {"cpu": "1"}, "a", "b"), container("c2", {"cpu": "2"}, "a"))
    result = charged(two, [claim("a", {"device": "d1"}), claim("b", {"device": "d2"})], found)
    assert requests(result) == {"cpu": "9"}


def test_overhead_counts_for_the_pod_and_for_each_container_that_uses_the_claim() -> None:
    result = charged(pod(container("c1", None, "a"), container("c2", None, "a")), [claim("a")], devices(d1=OVERHEAD))
    assert requests(result) == {"memory": "2024Mi"}
    assert [shown(accounting.container_claims(result, name)) for name in ("c1", "c2")] == [{"memory": "1524Mi"}] * 2


def test_a_claim_that_no_container_uses_adds_the_part_of_the_pod() -> None:
    assert requests(charged(pod(container("c1")), [claim("a")], devices(d1=OVERHEAD))) == {"memory": "1Gi"}


def test_each_pod_that_shares_a_claim_is_charged_for_its_own_containers() -> None:
    first = pod(container("c1", None, "a"), container("c2", None, "a"))
    second = pod(container("c1", None, "a"))
    totals = [requests(charged(each, [claim("a")], devices(d1=OVERHEAD))) for each in (first, second)]
    assert totals == [{"memory": "2024Mi"}, {"memory": "1524Mi"}]


def test_mapping_and_overhead_of_one_resource_add_up() -> None:
    both = {"cpu": {"mapping": {"deviceMultiplier": "4"}, "overhead": {"perPod": "500m", "perContainer": "250m"}}}
    assert requests(charged(pod(container("c1", None, "a")), [claim("a")], devices(d1=both))) == {"cpu": "4750m"}


def test_a_container_that_names_a_claim_twice_is_listed_and_counted_twice() -> None:
    twice = container("c1", None, "a", "a")
    result = charged(pod(twice, container("c2", None, "a")), [claim("a")], devices(d1=OVERHEAD))
    (status,) = result.status.node_allocatable_resource_claim_statuses or []
    assert status.containers == ["c1", "c1", "c2"]
    only = charged(pod(twice), [claim("a")], devices(d1=OVERHEAD))
    assert requests(only) == {"memory": "2024Mi"}


def test_init_containers_stand_first_and_count_like_others_without_a_peak_of_their_own() -> None:
    overhead = {"cpu": {"overhead": {"perPod": "1", "perContainer": "1"}}}
    both = pod(container("main", {"cpu": "1"}, "a"), init=(container("init", {"cpu": "3"}, "a"),))
    result = charged(both, [claim("a")], devices(d1=overhead))
    (status,) = result.status.node_allocatable_resource_claim_statuses or []
    assert status.containers == ["init", "main"]
    assert requests(result) == {"cpu": "6"}


def test_requests_of_the_whole_pod_replace_all_but_its_overhead() -> None:
    found = devices(d1={"cpu": {"mapping": {"deviceMultiplier": "5"}}})
    whole = pod(container("c1", {"cpu": "3"}, "a"), resources={"requests": {"cpu": "8"}}, overhead={"cpu": "250m"})
    assert requests(charged(whole, [claim("a")], found)) == {"cpu": "8250m"}


def test_limits_grow_only_where_they_are_stated_and_hugepages_always_do() -> None:
    found = devices(
        d1={
            "cpu": {"mapping": {"deviceMultiplier": "5"}},
            "memory": {"mapping": {"deviceMultiplier": "1Gi"}},
            "hugepages-2Mi": {"mapping": {"deviceMultiplier": "64Mi"}},
        }
    )
    limited = pod(container("c1", {"cpu": "2"}, "a", resources={"limits": {"cpu": "4"}, "claims": [{"name": "a"}]}))
    result = charged(limited, [claim("a")], found)
    assert shown(accounting.pod_limits(result, claims=True)) == {"cpu": "9", "hugepages-2Mi": "64Mi"}


def test_sidecars_run_beside_later_init_containers_and_beside_the_containers() -> None:
    sidecar = container("side", {"cpu": "2"}, restartPolicy="Always")
    peak = pod(container("main", {"cpu": "1"}), init=(sidecar, container("init", {"cpu": "5"})))
    steady = pod(container("main", {"cpu": "6"}), init=(container("init", {"cpu": "5"}), sidecar))
    assert [requests(each) for each in (peak, steady)] == [{"cpu": "7"}, {"cpu": "8"}]


def test_claims_that_add_nothing_are_left_out_and_the_others_stand_in_name_order() -> None:
    found = devices(d1={"cpu": {"mapping": {"deviceMultiplier": "1"}}}, d2={})
    given = [claim("b"), claim("nothing", {"device": "d2"}), claim("a")]
    assert [each.resource_claim_name for each in accounting.charges(pod(), given, found)] == ["a", "b"]


def test_a_claim_whose_other_device_is_gone_cannot_be_charged() -> None:
    found = devices(d1={"cpu": {"mapping": {"deviceMultiplier": "1"}}})
    with pytest.raises(UnknownCharge, match="device gone not found in pool p for driver driver-a"):
        accounting.charges(pod(), [claim("a", {"device": "d1"}, {"device": "gone"})], found)


def test_a_claim_all_of_whose_devices_are_gone_adds_nothing() -> None:
    assert accounting.charges(pod(), [claim("a", {"device": "gone"})], devices()) == []


def test_devices_of_another_node_are_not_found() -> None:
    (result,) = claim("a").results
    with pytest.raises(DeviceGone):
        devices(decode(Node, {"metadata": {"name": "n2"}}), d1={}).find(result)
    assert devices(decode(Node, {"metadata": {"name": "n1"}}), d1={}).find(result).name == "d1"
