"""Feature gates as a user names them."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features, default_gates, known_gates


def test_gates_by_name_stand_over_the_newest_defaults_and_null_is_off_as_in_go() -> None:
    off = Features.of({"DRAAdminAccess": False, "DRADerivedAttributes": True})
    assert off.gates == default_gates() - {"DRAAdminAccess"} | {"DRADerivedAttributes"}
    assert Features.of({"DRAAdminAccess": None}) == Features.of({"DRAAdminAccess": False})


def test_a_release_has_its_defaults_and_all_turns_on_everything() -> None:
    assert Features.of("1.36").gates == default_gates("1.36") < known_gates()
    assert Features.of("all").gates == known_gates()
    assert Features.of(None) == Features()


@pytest.mark.parametrize("value", ["1.2", "", 7, ["DRAAdminAccess"], {"Nothing": True}, {"DRAAdminAccess": 1}])
def test_what_is_no_gate_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        Features.of(value)


@pytest.mark.parametrize(
    ("value", "why"),
    [({"Nothing": True}, "Nothing is not known: .*DRAAdminAccess"), ({"DRAAdminAccess": 1}, "neither true nor false")],
)
def test_a_refused_gate_is_told_with_those_that_are_known(value: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Features.of(value)
