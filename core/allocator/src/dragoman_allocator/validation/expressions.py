"""Rules about CEL expressions of selectors and derived attributes: length, compilation, estimated cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from dragoman_allocator import names
from dragoman_allocator.cel.errors import ProgramError
from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.validation.errors import INTERNAL, Errors, FieldError, forbidden, invalid, too_long

EXPRESSION_SIZE: Final = 10 * 1024
EXPRESSION_COST: Final = 1_000_000
CLAIM_COST: Final = 1_000_000
"""For all derived attributes of a claim together."""

_TOO_COMPLEX: Final = "too complex, exceeds cost limit"
_ALL_TOO_COMPLEX: Final = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"


class Compiler(Protocol):
    """What compiles expressions and estimates what the worst device would cost them."""

    def cost(self, expression: str, *, derived: bool) -> int:
        """Give the estimated cost, at most. Raises ``InvalidInput`` for what does not compile."""
        ...


@dataclass(slots=True)
class Budget:
    """Checks the expressions of one object, and adds up the cost of its derived attributes."""

    compiler: Compiler
    spent: int = 0

    def selector(self, expression: str, path: str) -> Errors:
        """Check the expression of a selector."""
        cost, errors = self._cost(expression, path, derived=False)
        return [forbidden(path, _TOO_COMPLEX)] if cost > EXPRESSION_COST else errors

    def derived(self, expression: str, path: str) -> Errors:
        """Check the expression of a derived attribute."""
        cost, errors = self._cost(expression, path, derived=True)
        self.spent = (self.spent + cost) % 2**64  # as upstream adds
        return [forbidden(path, _TOO_COMPLEX)] if cost > EXPRESSION_COST else errors

    def total(self, path: str) -> Errors:
        """Check what all derived attributes cost together."""
        return [forbidden(path, _ALL_TOO_COMPLEX)] if self.spent > CLAIM_COST else []

    def _cost(self, expression: str, path: str, *, derived: bool) -> tuple[int, Errors]:
        if names.size(expression) > EXPRESSION_SIZE:
            return 0, [too_long(path, EXPRESSION_SIZE)]
        try:
            return self.compiler.cost(expression, derived=derived), []
        except ProgramError as error:
            return 0, [FieldError(path, INTERNAL, str(error), None)]
        except InvalidInput as error:
            return 0, [invalid(path, expression, str(error))]
