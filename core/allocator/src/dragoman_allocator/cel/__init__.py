"""CEL expressions over devices.

Selectors and derived attributes (KEP-4381, KEP-6080), as the scheduler of Kubernetes 1.37 evaluates them: same
verdicts, same errors, same cost. The parser, checker and evaluator are our own, because no CEL engine for Python can be
given Kubernetes' macros, types, defaults and costs; README.md in this folder says what was tried, how this is made, and
which expressions are refused.
"""

from dragoman_allocator.cel.environment import Environment, Program
from dragoman_allocator.cel.errors import Aborted, CompileError, EvaluationError, RefusedError

__all__ = ["Aborted", "CompileError", "Environment", "EvaluationError", "Program", "RefusedError"]
