"""What the text of an environment variable means is decided by the type at its path."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import cast
from dragoman_hookspecs import InvalidConfig


class Mode(enum.Enum):
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    vendor_ids: frozenset[str] = frozenset()
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    driver_name: str = ""
    interval: float = 1
    count: int | None = None
    active: bool = True
    mode: Mode = Mode.BRIDGE
    root: Path = Path("/")
    inner: Inner = field(default_factory=Inner)
    inners: tuple[Inner, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    sections: Mapping[str, Any] = field(default_factory=dict)


TAKEN = [
    ("driverName", "007", "007"),
    ("driverName", "true", "true"),
    ("driverName", "", ""),
    ("driverName", '"quoted"', '"quoted"'),
    ("interval", "0.5", 0.5),
    ("interval", "3", 3),
    ("count", "3", 3),
    ("count", "null", None),
    ("active", "false", False),
    ("mode", "bridge", "bridge"),
    ("root", "/host", "/host"),
    ("inner.vendorIDs", '["15b3"]', ["15b3"]),
    ("inner.count", "-3", -3),
    ("inner", '{"count": 3}', {"count": 3}),
    ("inners", '[{"count": 3}]', [{"count": 3}]),
    ("inners.0.count", "3", 3),
    ("limits.start", "3", 3),
    ("limits", '{"start": 3}', {"start": 3}),
    ("sections.dummy.count", "3", 3),
    ("sections.dummy.name", "eth0", "eth0"),
    ("sections.dummy", '{"enabled": false}', {"enabled": False}),
]


@pytest.mark.parametrize(("path", "text", "value"), TAKEN)
def test_text_is_read_as_the_type_wants_it(path: str, text: str, value: object) -> None:
    found = cast(Outer, path.split("."), text)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    ("count", "three", 'count: must be a whole number, not "three"'),
    ("count", "3.0", "count: must be a whole number, not 3.0"),
    ("active", "True", 'active: must be true or false, not "True"'),
    ("active", "yes", 'active: must be true or false, not "yes"'),
    ("active", "1", "active: must be true or false, not 1"),
    ("interval", "NaN", 'interval: must be a number, not "NaN"'),
    ("mode", "vepa", "mode: must be 'bridge', not \"vepa\""),
    ("inner", "x", 'inner: must be an object, not "x" (write it as JSON)'),
    ("inner.vendorIDs", "15b3,8086", 'inner.vendorIDs: must be a list, not "15b3,8086" (write it as JSON)'),
    ("inner.vendorIDs", '["a", 3]', "inner.vendorIDs[1]: must be text, not 3"),
    ("inner.vendor_ids", "[]", "inner.vendor_ids: is not a known key; did you mean vendorIDs?"),
    ("iner.count", "3", "iner: is not a known key; did you mean inner or inners or interval?"),
    ("driverName.x", "3", "driverName.x: is not a known key; none is known here"),
    ("inners.x", "3", "inners.x: is not a known key; none is known here"),
]


@pytest.mark.parametrize(("path", "text", "message"), REFUSED)
def test_text_that_the_type_does_not_take_is_refused_with_its_path(path: str, text: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        cast(Outer, path.split("."), text)
    assert str(caught.value) == message
