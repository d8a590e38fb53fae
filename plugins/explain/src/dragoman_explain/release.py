"""Which release's rules and which gates hold: as the server says, or as the options do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import NEWEST, RELEASES, Features
from dragoman_explain.store import Misused, Unusable

_GATE: Final = re.compile(r"(\w+)=(true|false)", re.IGNORECASE)


def features(release: str | None, gates: str | None) -> Features:
    """Give the gates of a release (None: the newest), changed by ``A=true,B=false``. Raises ``Misused``."""
    try:
        known = Features.of_release(release or NEWEST)
        changes = _changes(gates)
        Features.of(changes)  # refuses gates that are not known
    except InvalidInput as error:
        raise Misused(str(error)) from error
    on = {gate for gate, value in changes.items() if value}
    return Features((known.gates | on) - (changes.keys() - on), known.rules)


def release_of(version: Mapping[str, object]) -> str:
    """Give the release whose rules come nearest to those of a server's ``/version``. Raises ``Unusable``."""
    major, minor = (re.match(r"\d+", str(version.get(part))) for part in ("major", "minor"))
    if major is None or minor is None:
        raise Unusable("the API server does not tell its version: give --release")
    release = f"{major[0]}.{minor[0]}"
    if (int(major[0]), int(minor[0])) < _numbers(RELEASES[0]):
        raise Unusable(
            f"the cluster has Kubernetes {release}; its rules are known from {RELEASES[0]} on: give --release"
        )
    return release if release in RELEASES else NEWEST


def _numbers(release: str) -> tuple[int, int]:
    major, _, minor = release.partition(".")
    return int(major), int(minor)


def _changes(gates: str | None) -> dict[str, bool]:
    changes = {}
    for part in (gates or "").split(","):
        if not part.strip():
            continue
        found = _GATE.fullmatch(part.strip())
        if found is None:
            raise Misused(f"--features: {part.strip()!r} is not GATE=true or GATE=false")
        changes[found[1]] = found[2].lower() == "true"
    return changes
