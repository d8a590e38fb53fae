from collections.abc import Callable

import pytest

from dragoman_allocator import names

LABEL_63 = "a" * 63

GOOD: list[tuple[Callable[[str], tuple[str, ...]], str]] = [
    (names.label, "d1"),
    (names.label, "0-a"),
    (names.label, LABEL_63),
    (names.subdomain, "gpu.example.com"),
    (names.subdomain, "a" * 253),
    (names.subdomain_of_any_case, "DRA.example.com"),
    (names.subdomain_of_any_case, "\u212aa.\u017f"),
    (names.identifier, "_Model9"),
    (names.label_key, "example.com/Kind_1.a"),
    (names.label_key, "kind"),
    (names.label_value, ""),
    (names.label_value, "a_B.c-1"),
    (names.reason, "ReasonA,ReasonB:c_"),
]
BAD: list[tuple[Callable[[str], tuple[str, ...]], str]] = [
    (names.label, ""),
    (names.label, "A"),
    (names.label, "-a"),
    (names.label, "a."),
    (names.label, "a.b"),
    (names.label, LABEL_63 + "a"),
    (names.label, "ä"),
    (names.label, "a\n"),
    (names.subdomain, "a..b"),
    (names.subdomain, "Gpu.example.com"),
    (names.subdomain, "a" * 254),
    (names.subdomain_of_any_case, "a_b"),
    (names.subdomain_of_any_case, "\u0130a"),
    (names.subdomain_of_any_case, "é"),
    (names.identifier, "9a"),
    (names.identifier, "a-b"),
    (names.identifier, "٣"),
    (names.label_key, "a/b/c"),
    (names.label_key, "/a"),
    (names.label_key, "a/"),
    (names.label_key, "_a"),
    (names.label_key, f"example.com/{LABEL_63}a"),
    (names.label_value, LABEL_63 + "a"),
    (names.label_value, "a b"),
    (names.reason, "9a"),
]


@pytest.mark.parametrize(("rule", "name"), GOOD)
def test_a_good_name_has_no_complaints(rule: Callable[[str], tuple[str, ...]], name: str) -> None:
    assert rule(name) == ()


@pytest.mark.parametrize(("rule", "name"), BAD)
def test_a_bad_name_has_complaints_of_one_line(rule: Callable[[str], tuple[str, ...]], name: str) -> None:
    complaints = rule(name)
    assert complaints
    assert all("\n" not in complaint for complaint in complaints)


def test_length_is_counted_in_bytes() -> None:
    assert names.size("é" * 32) == 64


def test_an_extended_resource_has_a_domain_of_its_own() -> None:
    assert names.extended_resource("example.com/gpu")
    assert not any(
        map(names.extended_resource, ("cpu", "kubernetes.io/gpu", "a.kubernetes.io/gpu", "requests.example.com/gpu"))
    )


def test_only_cpu_memory_and_hugepages_are_node_allocatable() -> None:
    assert all(map(names.node_allocatable, ("cpu", "memory", "hugepages-2Mi")))
    assert not any(map(names.node_allocatable, ("ephemeral-storage", "example.com/gpu", "pods")))
