"""CEL expressions over devices.

Selectors and derived attributes (KEP-4381, KEP-6080), as the scheduler of Kubernetes 1.37 evaluates them.
"""

from dragoman_allocator.cel.environment import Environment, Program
from dragoman_allocator.cel.errors import Aborted, CompileError, EvaluationError, RefusedError

__all__ = ["Aborted", "CompileError", "Environment", "EvaluationError", "Program", "RefusedError"]
