"""Compiles expressions in the environment for new ones, and estimates their cost."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from dragoman_allocator.cel import Environment
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.validation.expressions import Compiler

_NOTHING: Final = (
    "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-',"
    " '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


class CelCompiler:
    """A ``Compiler`` by gates."""

    def __init__(self, features: Features) -> None:
        self._environment = _environment(features)

    def cost(self, expression: str, *, derived: bool) -> int:
        """Give the estimated cost. Raises ``CompileError``."""
        if not expression:
            raise InvalidInput(_NOTHING)
        self._environment.compile(expression, derived=derived)
        return self._environment.estimate(expression)


@lru_cache(maxsize=8)
def _environment(features: Features) -> Environment:
    return Environment(features, stored=False)


_: type[Compiler] = CelCompiler
