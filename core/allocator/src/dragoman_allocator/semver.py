"""Semantic versions 2.0.0, with numbers of 64 bits as Kubernetes reads them."""

from __future__ import annotations

import re
from functools import lru_cache, total_ordering
from typing import Final

from dragoman_allocator.errors import InvalidInput

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_LABEL: Final = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_FORM: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_LABEL}(?:\.{_LABEL})*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)
_LARGEST: Final = 2**64 - 1
_LONGEST: Final = 4096


@total_ordering
class Version:
    """A version; ordered by precedence, so that equality ignores build metadata. Immutable; made by ``parse``."""

    __slots__ = ("_precedence", "major", "minor", "patch", "text")

    def __init__(self, text: str, numbers: tuple[int, int, int], labels: tuple[str, ...]) -> None:
        """Hold the text, the three numbers and the labels of a pre-release (none for a release)."""
        self.text = text
        self.major, self.minor, self.patch = numbers
        # A release is above its pre-releases; numeric labels are below others and compare as numbers.
        ranked = tuple((0, int(label), "") if label.isdigit() else (1, 0, label) for label in labels)
        self._precedence = (numbers, not labels, ranked)

    def __eq__(self, other: object) -> bool:
        return self._precedence == other._precedence if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self._precedence < other._precedence

    def __hash__(self) -> int:
        return hash(self._precedence)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


def is_version(text: str) -> bool:
    """Tell whether the API takes the text as a version: also numbers beyond 64 bits, which ``parse`` refuses."""
    return _FORM.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def parse(text: str) -> Version:
    """Read a version such as ``1.2.3-rc.1+build``. Raises ``InvalidInput``."""
    form = _FORM.fullmatch(text) if len(text) <= _LONGEST else None
    if form is None:
        raise InvalidInput(
            f"{text[:100]!r} is not a semantic version: write major.minor.patch without a leading v or zeros"
        )
    major, minor, patch, labels, _ = form.groups(default="")
    pre_release = tuple(labels.split(".")) if labels else ()
    if any(len(part) > 20 or int(part) > _LARGEST for part in (major, minor, patch, *pre_release) if part.isdigit()):
        raise InvalidInput(f"{text[:100]!r} is not a semantic version that is read: a number of it is above {_LARGEST}")
    return Version(text, (int(major), int(minor), int(patch)), pre_release)


def normalize(text: str) -> str:
    """Drop a leading ``v`` and leading zeros and fill in missing numbers: ``v01.2`` becomes ``1.2.0``.

    The result may still be no version. Raises ``InvalidInput`` for a short version with pre-release or build metadata.
    """
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(mark in parts[-1] for mark in "+-"):
        raise InvalidInput(f"{text[:100]!r} is a short version, which cannot have pre-release or build metadata")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("0123456789") else f"0{stripped}"
