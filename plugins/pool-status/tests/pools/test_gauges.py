"""Gauges in the text format of Prometheus."""

from dragoman_allocator.objects import PoolStatus
from dragoman_allocator.objects.requests import PartitionSummary, ShareableCapacity, ShareableSummary
from dragoman_pool_status import gauges


def pool(name: str, **members: object) -> PoolStatus:
    return PoolStatus(driver="d", pool_name=name, generation=1, **members)  # type: ignore[arg-type] # as a test names them


def samples(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


COUNTED = {"resource_slice_count": 1, "total_devices": 4, "allocated_devices": 2}
FREE = {"available_devices": 1, "unavailable_devices": 1}


def test_counts_of_all_pools_stand_together_by_metric() -> None:
    text = gauges.exposition([pool("a", node_name="n1", **COUNTED, **FREE), pool("b", **COUNTED, **FREE)])

    assert samples(text)[:2] == [
        'dragoman_pool_complete{driver="d",pool="a",node="n1"} 1',
        'dragoman_pool_complete{driver="d",pool="b",node=""} 1',
    ]
    assert 'dragoman_pool_devices_available{driver="d",pool="a",node="n1"} 1' in text
    assert text.count("# TYPE dragoman_pool_devices gauge\n") == 1


def test_an_incomplete_pool_has_no_counts() -> None:
    assert samples(gauges.exposition([pool("a", validation_error="PoolIncomplete: …")])) == [
        'dragoman_pool_complete{driver="d",pool="a",node=""} 0',
        'dragoman_pool_valid{driver="d",pool="a",node=""} 0',
    ]


def test_partitions_and_shares_have_labels_of_their_own() -> None:
    half = PartitionSummary(attribute="d/profile", type='Ha"lf\\\n', total=2, allocatable=1)
    capacity = ShareableCapacity(name="bw", total="1500m", consumed="1Ki", available="0")
    shared = ShareableSummary(fully_available_devices=1, partially_available_devices=2, capacity=[capacity])
    text = gauges.exposition([pool("a", **COUNTED, **FREE, partition_summary=[half], shareable_summary=shared)])

    of = 'driver="d",pool="a",node=""'
    assert f'dragoman_pool_partitions{{{of},attribute="d/profile",type="Ha\\"lf\\\\\\n"}} 2' in samples(text)
    assert f'dragoman_pool_shareable_capacity{{{of},capacity="bw"}} 1.5' in samples(text)
    assert f'dragoman_pool_shareable_capacity_consumed{{{of},capacity="bw"}} 1024' in samples(text)
    assert f"dragoman_pool_shareable_devices_used{{{of}}} 2" in samples(text)


def test_requests_are_counted_by_driver() -> None:
    text = gauges.counters({"b": 2, "a": 1}, {})

    assert samples(text) == [
        'dragoman_pool_status_requests_processed_total{driver="a"} 1',
        'dragoman_pool_status_requests_processed_total{driver="b"} 2',
    ]
    assert gauges.counters({}, {}) == gauges.exposition([]) == ""
