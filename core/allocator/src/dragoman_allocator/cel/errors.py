"""What goes wrong with an expression: it does not compile, or its evaluation ends in an error."""

from __future__ import annotations

from dragoman_allocator.errors import AllocatorError, InvalidInput


class CompileError(InvalidInput):
    """The expression is refused before any device is looked at; the text names the place in the expression."""


class RefusedError(CompileError):
    """Kubernetes takes the expression, this library does not.

    The table in README.md of this package says what and why.
    """


class ProgramError(CompileError):
    """The expression compiles, but a fault in its constants leaves no program; Kubernetes calls that an internal error.

    The text begins with "program instantiation failed".
    """


class EvaluationError(AllocatorError):
    """The expression has no value for this device, for instance because an attribute is missing."""


class Aborted(EvaluationError):
    """The evaluation was ended: it cost too much, its values were too large, or upstream could not go on either."""


class Abort(Exception):
    """Ends an evaluation from within: ``&&``, ``||`` and the macros do not absorb it. Callers see it as ``Aborted``."""


class BudgetExceeded(Abort):
    """The evaluation cost more than its limit."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload(function: str = "") -> EvaluationError:
    """Give the error of an operator or function that the types of its arguments do not have."""
    return EvaluationError(f"no such overload: {function}" if function else "no such overload")
