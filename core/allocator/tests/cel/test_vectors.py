"""The CEL vectors of api-semantics 7.11 and the rules of 3.1 to 3.4, row by row."""

from __future__ import annotations

import pytest

from dragoman_allocator.cel import CompileError, Environment
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Attribute, Capacity, Device

from .celworld import DRIVER, verdict

LISTS_OFF = Environment(Features(frozenset({"DRAConsumableCapacity"})), stored=False)
LISTS_ON = Environment(Features(frozenset({"DRAConsumableCapacity", "DRAListTypeAttributes"})), stored=False)
SHARING_OFF = Environment(Features(frozenset()), stored=False)


def attributes(**named: Attribute) -> Device:
    return Device(attributes=dict(named))


def test_attributes_are_found_by_driver_and_by_domain() -> None:
    assert verdict("device.attributes[D].name > 0", attributes(name=Attribute(int_=1))) is True
    other = Device(attributes={"other.example.com/name": Attribute(bool_=True)})
    assert verdict('device.attributes["other.example.com"].name', other) is True
    assert verdict(
        "device.attributes.exists_one(x, x == D])".replace("D]", f'"{DRIVER}"'), attributes(a=Attribute(int_=1))
    )


def test_unknown_domains_are_empty_maps_for_lookups_only() -> None:
    assert verdict('"no-such" in device.attributes') is False
    assert verdict('has(device.attributes["no-such"].x)') is False
    assert verdict('device.attributes[?"no-such"].hasValue()') is True
    assert verdict("has(device.attributes.nope)") is True
    assert verdict('device.attributes["nope"].size() == 0') is True


def test_unknown_names_are_errors_that_name_them() -> None:
    text = verdict('device.attributes["no-such"].x.isGreaterThan(quantity("0"))')
    assert text == "run: no such key: x"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes[D].?x.orValue("z") == "z"', True),
        ("false && device.attributes[D].nope", False),
        ("device.attributes[D].nope && false", False),
        ("device.attributes[D].nope || true", True),
        ("device.attributes[D].nope || false", "run: no such key: nope"),
    ],
)
def test_logic_and_optionals_absorb_missing_names(expression: str, expected: bool | str) -> None:
    assert verdict(expression) == expected


def test_results_must_be_bool_or_of_the_unknown_type() -> None:
    assert verdict("1") == "compile: must evaluate to bool or the unknown type, not int"
    assert str(verdict("device.attributes[D].ss")).startswith(
        "run: CEL result of type list could not be converted to bool"
    )
    assert verdict("dyn(true)") is True
    assert verdict("dyn(true)", environment=LISTS_OFF) == (
        "compile: must evaluate to bool or the unknown type, not dyn"
    )


def test_a_range_must_be_iterable() -> None:
    text = str(verdict("device.attributes[D].i.exists(x, x > 0)"))
    assert text.startswith("run: ")
    assert text.endswith("expected iterable type")


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (Attribute(string="abcd"), True),
        (Attribute(strings=["x", "abcd"]), True),
        (Attribute(strings=["x"]), False),
    ],
)
def test_includes_takes_scalars_and_lists(attribute: Attribute, expected: bool) -> None:
    assert verdict('device.attributes[D].name.includes("abcd")', attributes(name=attribute)) is expected


def test_versions_are_compared_by_precedence() -> None:
    assert verdict('device.attributes[D].vs.all(x, x.isGreaterThan(semver("0.0.1")))') is True
    version = attributes(name=Attribute(version="1.0.0"))
    expression = 'device.attributes[D].name.isGreaterThan(semver("v0.0.1", true)) && isSemver("v1.0.0", true)'
    assert verdict(expression, version) is True
    assert verdict('device.attributes[D].v == semver("1.2.3")') is True


def test_capacity_is_compared_by_value() -> None:
    memory = Device(capacity={"name": Capacity(value="1Mi")})
    inside = '"name" in device.capacity[D] && device.capacity[D].name.isGreaterThan(quantity("1Ki"))'
    assert verdict(inside, memory) is True
    outside = '!("name" in device.capacity[D]) || device.capacity[D].name.isGreaterThan(quantity("1Ki"))'
    assert verdict(outside, Device()) is True
    assert verdict('device.capacity[D].mem == quantity("1024Mi")') is True
    assert verdict('quantity("1.5").asInteger() == 1') == "run: cannot convert value to integer"


def test_sharing_is_false_where_it_is_not_set() -> None:
    assert verdict("device.allowMultipleAllocations == false", Device()) is True
    assert "undefined field" in str(verdict("device.allowMultipleAllocations", environment=SHARING_OFF))


def test_wrapped_values_are_not_equal_to_others_only_from_the_right() -> None:
    assert verdict('device.attributes[D].v == "1.2.3"') == "run: no such overload"
    assert verdict('"1.2.3" == device.attributes[D].v') is False
    assert verdict('device.attributes[D].v != "x"') is True
    assert str(verdict('device.attributes[D].v in ["1.2.3"]')).startswith("run: internal error")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes[D].i == "3"', False),
        ("device.attributes[D].i == 3.0", True),
        ("device.attributes[D].s < 3", "run: no such overload"),
        ("1 < 1.5", True),
    ],
)
def test_types_that_are_not_known_before_are_compared_when_it_runs(expression: str, expected: bool | str) -> None:
    assert verdict(expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("noSuchVar", "undeclared reference to 'noSuchVar'"),
        ("1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
        ("[1, device.attributes[D].i].size() == 2", "expected type 'int' but found 'dyn'"),
        ("device.attributes[D].name + ", "Syntax error"),
        ("[1].all(1, true)", "argument must be a simple name"),
        ('"a".matches("(")', "invalid matches argument"),
        ('duration("x") > duration("1s")', "invalid duration argument"),
    ],
)
def test_faults_are_found_before_any_device_is_looked_at(expression: str, expected: str) -> None:
    text = str(verdict(expression))
    assert text.startswith("compile: compilation failed: ERROR: <input>:1:")
    assert expected in text


def test_lists_need_their_gate_in_new_expressions() -> None:
    expression = 'device.attributes[D].ss.all(x, x != "")'
    assert "cannot be range of a comprehension" in str(verdict(expression, environment=LISTS_OFF))
    assert verdict(expression, environment=LISTS_ON) is True
    assert verdict(expression) is True
    assert "undeclared reference to 'includes'" in str(verdict('"a".includes("a")', environment=LISTS_OFF))


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (Attribute(version="v1"), "run: attribute name: parse semantic version: "),
        (Attribute(), "run: attribute name: unsupported attribute value"),
    ],
)
def test_an_attribute_without_a_value_spoils_every_expression(attribute: Attribute, expected: str) -> None:
    assert str(verdict("true", attributes(name=attribute))).startswith(expected)


def test_new_expressions_have_at_most_10240_bytes_and_stored_ones_100000_characters() -> None:
    comment = "true //"
    assert LISTS_ON.compile(comment + "x" * (10_240 - 7))
    for longer in ("x" * (10_240 - 6), "é" * 5_120):
        with pytest.raises(CompileError, match="Too long: may not be more than 10240 bytes"):
            LISTS_ON.compile(comment + longer)
        assert verdict(comment + longer) is True
    assert verdict(comment + "é" * (100_000 - 7)) is True
    assert str(verdict(comment + "é" * (100_000 - 6))).startswith("compile: expression code point size exceeds limit")
