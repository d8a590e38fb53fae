"""Equality of URLs, which compares what Go's ``net/url`` prints."""

from __future__ import annotations

import pytest

from .celworld import verdict


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://u:p@h/", "http://%75:%70@h/", True),
        ("http://u!:p@h/", "http://u%21:p@h/", True),
        ("http://u:p:q@h/", "http://u:p%3aq@h/", True),
        ("http://u%3ap@h/", "http://u:p@h/", False),
        ("http://u:@h/", "http://u@h/", False),
        ("http://h/#a b", "http://h/#a%20b", True),
        ("http://h/#ä", "http://h/#%C3%A4", True),
        ("http://h/#%c3%a4", "http://h/#%C3%A4", False),
        ("http://h/#!", "http://h/#%21", False),
        ("http://h/#", "http://h/", True),
        ("http://h/a b", "http://h/a%20b", True),
        ("http://h/%41", "http://h/A", False),
        ("*", "*", True),
    ],
)
def test_urls_are_equal_if_they_print_the_same(one: str, other: str, same: bool) -> None:
    assert verdict(f'url("{one}") == url("{other}")') is same
