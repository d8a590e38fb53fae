"""Whether a pod fits what a node has left."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.accounting import fits, lists
from dragoman_allocator.decode import decode
from dragoman_allocator.objects import Node, Pod


def shortages(allocatable: dict[str, Any], taken: dict[str, Any], needed: dict[str, Any]) -> tuple[list[str], bool]:
    node = decode(Node, {"status": {"allocatable": allocatable}})
    pod = decode(Pod, {"spec": {"containers": [{"name": "c", "resources": {"requests": taken}}]}})
    return fits.shortages(node, [pod], lists.read(needed), claims=False)


@pytest.mark.parametrize(
    ("allocatable", "taken", "needed", "expected"),
    [
        ("4", "1", "3", ([], False)),
        ("4", "2", "3", (["Insufficient memory"], False)),
        ("4", "0", "5", (["Insufficient memory"], True)),
        ("4", "5", "0", ([], False)),
        ("4500m", "1", "4", ([], False)),
    ],
)
def test_amounts_are_compared_in_whole_units(
    allocatable: str, taken: str, needed: str, expected: tuple[list[str], bool]
) -> None:
    assert shortages({"memory": allocatable}, {"memory": taken}, {"memory": needed}) == expected


def test_amounts_beyond_64_bits_wrap_around_as_the_scheduler_has_them() -> None:
    most = "9223372036854775808"  # 2**63, which is -2**63 there
    assert shortages({"memory": most}, {"memory": "1"}, {"memory": "1Gi"}) == ([], False)
    assert shortages({"memory": most}, {}, {"memory": "1Gi"}) == (["Insufficient memory"], True)


def test_hugepages_are_missing_also_where_none_are_needed() -> None:
    held = {"hugepages-2Mi": "4Mi"}
    assert shortages({}, held, {"hugepages-2Mi": "0"}) == (["Insufficient hugepages-2Mi"], False)
