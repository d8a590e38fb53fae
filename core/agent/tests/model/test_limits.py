from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.fitting import Fitted, fit_counter_sets, fit_device
from dragoman.model.limits import Server, cut, is_dns_label, is_label_key, is_label_value, is_qualified_name, is_semver
from dragoman_hookspecs import Capacity, CounterConsumption, CounterSet, Device, Taint, Version

DRIVER = "net.example.org"
DEVICE = Device(name="dummy0", identity="tag", attributes={"deviceManager": "dummy", "pool": "a"})
COUNTERS = {"lanes": CounterSet(name="lanes", counters={"free": "8", "used": "0"})}


def fit(device: Device, server: Server | None = None, taint: Taint | None = None, **more: Any) -> Fitted:
    return fit_device(device, driver=DRIVER, server=server or Server(), sets=COUNTERS, taint=taint, **more)


def with_attributes(**attributes: Any) -> Device:
    return replace(DEVICE, attributes={**DEVICE.attributes, **attributes})


def kept(device: Device, **more: Any) -> Device:
    fitted = fit(device, **more).device
    assert fitted is not None
    return fitted


def why(device: Device, **more: Any) -> list[str]:
    return [f"{warning.what}: {warning.why}" for warning in fit(device, **more).warnings]


def test_a_good_device_is_left_as_it_is() -> None:
    fitted = fit(with_attributes(mtu=1500, up=True, model="x" * 64, firmware=Version("1.2.3-rc.1+b"), numa=(0, 1)))
    assert fitted.warnings == ()
    assert fitted.device is not None
    assert fitted.device.attributes["numa"] == (0, 1)


@pytest.mark.parametrize("name", ["", "Eth0", "eth0.5", "eth_0", "-a", "a-", "a" * 64, "é"])
def test_a_device_whose_name_is_no_dns_label_is_left_out_with_the_reason(name: str) -> None:
    fitted = fit(replace(DEVICE, name=name))
    assert fitted.device is None
    assert "DNS label" in fitted.refusal
    assert [warning.what for warning in fitted.warnings] == ["not published"]


def test_a_string_of_many_bytes_is_cut_on_a_character_boundary() -> None:
    assert kept(with_attributes(model="x" * 67)).attributes["model"] == "x" * 64
    assert kept(with_attributes(model="é" * 33)).attributes["model"] == "é" * 32
    assert kept(with_attributes(model="x" + "€" * 22)).attributes["model"] == "x" + "€" * 21
    assert why(with_attributes(model="x" * 65)) == ["attribute model: cut to 64 bytes"]


def test_every_string_of_a_list_is_cut() -> None:
    assert kept(with_attributes(ips=("a", "y" * 100))).attributes["ips"] == ("a", "y" * 64)


@settings(derandomize=True, max_examples=100)
@given(st.text(st.characters(), max_size=80))
def test_what_is_cut_fits_and_is_a_beginning_of_what_was_given(text: str) -> None:
    short = cut(text)
    assert len(short.encode()) <= 64
    assert text.encode(errors="replace").startswith(short.encode())
    assert len(short.encode()) > 60 or short.encode() == text.encode(errors="replace")


def test_text_that_is_not_unicode_is_published_with_question_marks() -> None:
    assert kept(with_attributes(alias="nic\udcff")).attributes["alias"] == "nic?"


@pytest.mark.parametrize("name", ["", "a-b", "9a", "a" * 33, "/a", "a/b/c", "x_y/a", "d" * 64 + "/a", "é"])
def test_an_attribute_with_a_name_that_the_api_refuses_is_dropped(name: str) -> None:
    assert name not in kept(with_attributes(**{name: "x"})).attributes
    assert not is_qualified_name(name)


@pytest.mark.parametrize("name", ["a", "_a1", "A" * 32, "resource.kubernetes.io/pciBusID", "Dra.x/y"])
def test_an_attribute_with_a_qualified_name_is_kept(name: str) -> None:
    assert name in kept(with_attributes(**{name: "x"})).attributes


@pytest.mark.parametrize("text", ["v1.2.3", "1.02.3", "1.2", "1.2.3-01", "", "1.2.3+" + "a" * 59])
def test_a_version_that_is_not_semantic_is_dropped(text: str) -> None:
    assert "firmware" not in kept(with_attributes(firmware=Version(text))).attributes
    assert not is_semver(text)


@pytest.mark.parametrize(
    "value", [(), ("a", 1), (True, 1), (Version("1.0"),), 1.5, None, {"a": 1}, 2**63, -(2**63) - 1]
)
def test_a_value_that_the_api_cannot_hold_is_dropped_and_the_others_stay(value: object) -> None:
    device = kept(with_attributes(bad=value, good=2**63 - 1))
    assert "bad" not in device.attributes
    assert device.attributes["good"] == 2**63 - 1


def test_of_the_two_spellings_of_one_attribute_the_bare_one_stays() -> None:
    attributes = kept(with_attributes(**{"mtu": 1, f"{DRIVER}/mtu": 2, f"{DRIVER}/alone": 3})).attributes
    assert (attributes["mtu"], attributes[f"{DRIVER}/alone"]) == (1, 3)
    assert f"{DRIVER}/mtu" not in attributes


def test_list_attributes_are_dropped_where_the_cluster_does_not_take_them() -> None:
    device = with_attributes(numa=(0, 1))
    for server in (Server(minor=35), Server(minor=37, lists=False)):
        assert "numa" not in kept(device, server=server).attributes
    assert "numa" in kept(device, server=Server(minor=36)).attributes


def test_of_too_many_attributes_those_of_core_and_of_the_standard_domain_stay_then_the_first_by_name() -> None:
    many = {f"a{number:02}": number for number in range(40)}
    device = kept(with_attributes(**many, **{"resource.kubernetes.io/numaNode": 1}))
    assert len(device.attributes) == 32
    assert {"pool", "deviceManager", "resource.kubernetes.io/numaNode", "a00", "a28"} <= device.attributes.keys()
    assert "a29" not in device.attributes


def test_capacities_count_among_the_entries_of_a_device() -> None:
    device = replace(
        with_attributes(**{f"a{number:02}": 1 for number in range(30)}),
        capacity={f"c{number}": Capacity(value="1") for number in range(5)},
    )
    fitted = kept(device)
    assert (len(fitted.attributes), len(fitted.capacity)) == (27, 5)


def test_a_list_counts_by_its_length_and_what_still_fits_stays() -> None:
    device = kept(with_attributes(a=tuple(range(40)), b=tuple(range(10)), c=1))
    assert device.attributes.keys() == {"a", "c", "deviceManager", "pool"}
    assert len(kept(with_attributes(a=tuple(range(46)))).attributes) == 3
    assert len(kept(with_attributes(a=tuple(range(47)))).attributes) == 2


def test_the_partition_type_attribute_is_kept_before_others() -> None:
    device = with_attributes(**{f"a{number:02}": 1 for number in range(31)}, kind="half")
    assert "kind" in kept(device, first=("kind",)).attributes


def test_shareable_devices_need_kubernetes_1_34() -> None:
    device = replace(DEVICE, allow_multiple_allocations=True)
    fitted = fit(device, server=Server(minor=33))
    assert fitted.device is None
    assert fitted.refusal == "shareable devices need Kubernetes 1.34, this is 1.33"
    assert kept(device, server=Server(minor=34)) == device
    assert kept(device) == device


# --- taints, counters, conditions --------------------------------------------------------------------------------


def test_the_gravest_taints_stay_when_there_are_too_many_and_that_of_the_health_always() -> None:
    taints = tuple(Taint(key=f"k{number}", effect="None") for number in range(16))
    device = replace(DEVICE, taints=(*taints, Taint(key="stop", effect="NoExecute"), Taint(key="wait")))
    own = Taint(key=f"{DRIVER}/unhealthy", value="true")
    keys = [taint.key for taint in kept(device, taint=own).taints]
    assert keys == [f"{DRIVER}/unhealthy", "stop", "wait", *(f"k{number}" for number in range(13))]


def test_a_taint_value_that_is_no_label_value_is_emptied_and_the_taint_stays() -> None:
    device = replace(DEVICE, taints=(Taint(key="k", value="link is down"),))
    assert kept(device).taints == (Taint(key="k", value=""),)


@pytest.mark.parametrize("taint", [Taint(key="a b"), Taint(key=""), Taint(key="k", effect="Never")])
def test_a_device_whose_taint_cannot_be_published_is_left_out(taint: Taint) -> None:
    assert "taint" in fit(replace(DEVICE, taints=(taint,))).refusal


def consumes(*sets: tuple[str, dict[str, str]]) -> Device:
    return replace(DEVICE, counters=tuple(CounterConsumption(counter_set=name, counters=c) for name, c in sets))


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (consumes(("other", {"free": "1"})), "counter set other, which is not published"),
        (consumes(("lanes", {"speed": "1"})), "counter set lanes has no counter speed"),
        (consumes(("lanes", {"free": "x"})), "'x' is not a quantity"),
        (consumes(("lanes", {})), "1 to 32 counters"),
        (consumes(("lanes", {"free": "1"}), ("lanes", {"used": "1"})), "from one twice"),
    ],
)
def test_a_device_that_consumes_what_is_not_there_is_left_out(device: Device, reason: str) -> None:
    assert reason in fit(device).refusal


def test_a_device_that_consumes_what_is_there_is_kept() -> None:
    assert kept(consumes(("lanes", {"free": "1"}))).counters


def test_counter_sets_that_the_api_refuses_are_dropped_with_the_reason() -> None:
    warnings: list[str] = []
    sets = [
        CounterSet(name="good", counters={"a": "1"}),
        CounterSet(name="good", counters={"b": "1"}),
        CounterSet(name="Bad", counters={"a": "1"}),
        CounterSet(name="empty", counters={}),
        CounterSet(name="large", counters={f"c{number}": "1" for number in range(33)}),
        CounterSet(name="named", counters={"a_b": "1"}),
        CounterSet(name="taken", counters={"a": "1"}),
    ]
    good = fit_counter_sets(sets, {"taken"}, lambda what, _: warnings.append(what))
    assert good == {"good": CounterSet(name="good", counters={"a": "1"})}
    assert warnings == [f"counter set {name}" for name in ("good", "Bad", "empty", "large", "named", "taken")]


@pytest.mark.parametrize(
    ("ready", "failed", "reason"),
    [
        (("a",), (), "need each other"),
        ((), ("a",), "need each other"),
        (("a", "b"), ("b",), "b is both"),
        (tuple("abcde"), ("f",), "more than 4"),
        (("a b",), ("c",), "'a b' cannot be"),
    ],
)
def test_binding_conditions_that_contradict_the_api_leave_the_device_out(
    ready: tuple[str, ...], failed: tuple[str, ...], reason: str
) -> None:
    device = replace(DEVICE, binding_conditions=ready, binding_failure_conditions=failed)
    assert reason in fit(device).refusal


def test_a_binding_condition_that_stands_twice_is_kept_once() -> None:
    device = kept(replace(DEVICE, binding_conditions=("a", "a"), binding_failure_conditions=("x.org/b",)))
    assert (device.binding_conditions, device.binding_failure_conditions) == (("a",), ("x.org/b",))


ATTRIBUTES = st.dictionaries(
    st.text(max_size=40) | st.from_regex(r"([a-z]{1,5}[.]example[.]org/)?[a-zA-Z_]{1,34}", fullmatch=True),
    st.text(max_size=80)
    | st.integers()
    | st.booleans()
    | st.text(max_size=8).map(Version)
    | st.lists(st.text(max_size=70), max_size=30).map(tuple)
    | st.lists(st.integers(), max_size=30).map(tuple),
    max_size=45,
)
CAPACITY = st.dictionaries(
    st.from_regex(r"[a-z]{1,3}", fullmatch=True),
    st.builds(lambda value: Capacity(value=value), st.sampled_from(["1", "4Gi", "x", "1.5"])),
    max_size=35,
)


@settings(derandomize=True, max_examples=80, deadline=None)
@given(ATTRIBUTES, CAPACITY)
def test_what_fits_keeps_every_limit_and_fits_again_without_a_warning(attributes: Any, capacity: Any) -> None:
    fitted = kept(replace(with_attributes(**attributes), capacity=capacity))
    assert len(fitted.attributes) + len(fitted.capacity) <= 32
    assert sum(len(v) if isinstance(v, tuple) else 1 for v in fitted.attributes.values()) <= 48
    assert all(is_qualified_name(name) for name in (*fitted.attributes, *fitted.capacity))
    assert fit(fitted) == Fitted(device=fitted)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (is_dns_label, ["a", "0", "a-b", "a" * 63], ["", "A", "a.b", "a\n"]),
        (is_label_key, ["a", "A.b_c", "x.org/Ready", "a" * 63], ["", "x_y/a", "a/", "a" * 64, "a/b/c", "-a"]),
        (is_label_value, ["", "true", "A-1.2_3"], ["a b", "-", "a" * 64, "a\n"]),
    ],
)
def test_names_follow_the_rules_of_the_api(check: Any, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not check(text)] == []
    assert [text for text in bad if check(text)] == []
