"""Regular expressions as Go's package ``regexp/syntax`` reads them, where RE2 reads more or other ones."""

from __future__ import annotations

import pytest

from dragoman_allocator.cel.regexes import InvalidPattern, compiled

from .celworld import verdict


@pytest.mark.parametrize(
    "name", ["Latin", "latin", "LATIN", "Lat in", "Lat_in-", "^Greek", "l", "Lowercase Letter", "any"]
)
def test_classes_are_found_in_any_spelling(name: str) -> None:
    assert verdict(rf'"a".matches("^\\p{{{name}}}$")') is True


def test_a_class_of_one_letter_needs_no_braces() -> None:
    assert verdict(r'"a".matches("^\\pl$") && !"a".matches("\\Pl")') is True


@pytest.mark.parametrize("name", ["Old_Italic", "Old Italic", "OldItalic", "SignWriting", "Phags_Pa", "Nope", ""])
def test_scripts_of_several_words_are_refused(name: str) -> None:
    # unicodeTable looks for the name without blanks and underscores, which the keys of unicode.Scripts keep
    assert str(verdict(rf'"a".matches("\\p{{{name}}}")')).startswith("compile: ")


@pytest.mark.parametrize("name", ["LC", "Cn", "ASCII", "Assigned", "unassigned", "cased letter"])
def test_classes_that_re2_does_not_have_are_refused_and_not_misread(name: str) -> None:
    assert str(verdict(rf'"a".matches("\\p{{{name}}}")')).startswith("compile: ")


@pytest.mark.parametrize("group", ["(?P<ä>a)", "(?<ä>a)", "((?P<_é>a))"])
def test_names_of_groups_are_ascii(group: str) -> None:
    assert str(verdict(f'"a".matches("{group}")')).startswith("compile: ")
    assert verdict('"a".matches("(?P<_9>a)") && "(?P<ä>".matches("^[(]?[(?P<ä>]+$")') is True


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("[", "missing closing ]: `[`"),
        ("x(", "missing closing ): `x(`"),
        ("x)", "unexpected ): `x)`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\8", r"invalid escape sequence: `\8`"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_told_in_the_words_of_go(pattern: str, words: str) -> None:
    # the codes of regexp/syntax/parse.go
    with pytest.raises(InvalidPattern) as invalid:
        compiled(pattern)
    assert str(invalid.value) == f"error parsing regexp: {words}"
