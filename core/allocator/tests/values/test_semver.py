import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.semver import is_version, normalize, parse


@pytest.mark.parametrize(
    "text", ["1.2.3", "0.0.0", "1.2.3-rc.1+build.5", "1.0.0--", "1.0.0-0a.x-y", "1.0.0+001", "10.20.30"]
)
def test_a_version_keeps_its_text(text: str) -> None:
    assert parse(text).text == text
    assert is_version(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.2",
        "v1.2.3",
        "1.02.3",
        "01.2.3",
        "1.2.3.4",
        "1.2.3-",
        "1.2.3+",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3 ",
        "1.2.٣",
        "a.b.c",
    ],
)
def test_what_is_no_version_is_refused(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(InvalidInput, match="not a semantic version"):
        parse(text)


def test_a_number_beyond_64_bits_passes_the_api_but_is_not_read() -> None:
    text = f"{2**64}.0.0"
    assert is_version(text)
    assert parse(f"{2**64 - 1}.0.0").major == 2**64 - 1
    with pytest.raises(InvalidInput, match="above 18446744073709551615"):
        parse(text)


def test_versions_are_ordered_by_precedence_as_semver_org_lists_them() -> None:
    order = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
    ]
    order += ["1.0.1", "1.2.0", "1.10.0", "2.0.0"]
    assert [version.text for version in sorted(map(parse, reversed(order)))] == order


def test_equality_ignores_build_metadata() -> None:
    assert parse("1.2.3+a") == parse("1.2.3+b")
    assert hash(parse("1.2.3+a")) == hash(parse("1.2.3"))
    assert parse("1.2.3") != parse("1.2.3-a")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("v1.0.0", "1.0.0"),
        ("1.0", "1.0.0"),
        ("1", "1.0.0"),
        ("v01.02.03", "1.2.3"),
        ("00.0.000", "0.0.0"),
        ("1.2.03-rc.01", "1.2.3-rc.01"),
        ("1.2.0-a", "1.2.0-a"),
        ("1.2.-a", "1.2.0-a"),
        ("vv1.0", "0v1.0.0"),
        ("", ".0.0"),
    ],
)
def test_normalizing_drops_v_and_zeros_and_fills_in_numbers(text: str, normal: str) -> None:
    assert normalize(text) == normal


def test_a_short_version_with_a_pre_release_is_not_normalized() -> None:
    with pytest.raises(InvalidInput, match="short version"):
        normalize("1.2-rc1")


def test_a_very_long_text_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput):
        parse("1.2." + "3" * 10**6)
