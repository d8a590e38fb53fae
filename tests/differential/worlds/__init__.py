"""Worlds: questions of every kind, which a seed and a number decide alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential.worlds import allocate, cel, pods, pool_status, quantities, spoil, validation
from tests.differential.worlds.dice import Dice

KINDS: dict[str, Callable[[Dice, str], dict[str, Any]]] = {
    "quantity": quantities.make,
    "cel": cel.make,
    "allocate": allocate.make,
    "validate": validation.make,
    "poolstatus": pool_status.make,
    "podAllocatable": pods.make,
}

SIZES = ("small", "mixed", "hard", "wild")
"""``wild``: a mixed one, of which something is spoilt that an API server would not let pass."""

_KEPT = {"gates", "features", "expression", "subresource", "namespaceLabels"}


def make(kind: str, size: str, seed: int, number: int) -> dict[str, Any]:
    """Make one question; its ``id`` names it for good."""
    name = f"{kind}.{size}.{seed}.{number}"
    dice = Dice(name)
    question = KINDS[kind](dice, "mixed" if size == "wild" else size)
    if size == "wild":
        for _ in range(dice.number(1, 3)):
            # Two objects of one kind never share a name, so names are left alone.
            spoil.one(dice, question, (dice.one(sorted(question.keys() - _KEPT)),), but="metadata")
    return {"id": name, "kind": kind} | question


def again(name: str) -> dict[str, Any]:
    """Make the question of that ``id`` once more. Raises ``ValueError`` for what is none."""
    kind, size, seed, number = name.split(".")
    if kind not in KINDS or size not in SIZES:
        raise ValueError(f"{name!r} is no world: there are {', '.join(KINDS)} in {', '.join(SIZES)}")
    return make(kind, size, int(seed), int(number))
