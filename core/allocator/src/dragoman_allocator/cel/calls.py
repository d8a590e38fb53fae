"""Closures for operators and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman_allocator.cel.attributes import Evaluate
from dragoman_allocator.cel.costs import Frame, Price, size
from dragoman_allocator.cel.errors import EvaluationError, ProgramError, no_such_overload
from dragoman_allocator.cel.functions import Function, Overload, Run
from dragoman_allocator.cel.operators import WRAPPERS, Members, equal
from dragoman_allocator.cel.regexes import InvalidPattern, compiled
from dragoman_allocator.cel.values import KINDS, MISSING, Optional, Value

FAILED = object()
"""What a price sees of an argument or result that is an error."""
_ALL_EVALUATED = 2
"""Up to as many arguments are all evaluated upstream, and the call is paid for, although one fails."""
_PATTERNS = ("matches", "find", "findAll")


def conjunction(terms: tuple[Evaluate, ...]) -> Evaluate:
    """Evaluate ``a && b && c``: false if any term is false, also where another one fails."""
    return _absorbing(terms, decisive=False)


def disjunction(terms: tuple[Evaluate, ...]) -> Evaluate:
    """Evaluate ``a || b || c``: true if any term is true, also where another one fails."""
    return _absorbing(terms, decisive=True)


def _absorbing(terms: tuple[Evaluate, ...], *, decisive: bool) -> Evaluate:
    other = not decisive

    def run(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value = term(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if value is decisive:
                return not other
            if value is not other:
                failure = failure or no_such_overload()
        if failure is not None:
            raise failure.with_traceback(None)
        return other

    return run


def conditional(condition: Evaluate, then: Evaluate, other: Evaluate) -> Evaluate:
    """Evaluate ``c ? a : b``."""

    def run(frame: Frame) -> Value:
        value = condition(frame)
        if value is True:
            return then(frame)
        if value is False:
            return other(frame)
        raise no_such_overload()

    return run


def _both(frame: Frame, first: Evaluate, second: Evaluate) -> tuple[Value, Value, EvaluationError | None]:
    """Evaluate two arguments; the second also where the first fails, since it may cost too much."""
    a = b = FAILED
    failure: EvaluationError | None = None
    try:
        a = first(frame)
    except EvaluationError as error:
        failure = error
    try:
        b = second(frame)
    except EvaluationError as error:
        failure = failure or error
    return a, b, failure


def equality(left: Evaluate, right: Evaluate) -> Evaluate:
    """Evaluate ``a == b``."""

    def run(frame: Frame) -> bool:
        a, b, failure = _both(frame, left, right)
        frame.cost += -(-min(size(a), size(b)) // 10) if type(a) not in WRAPPERS else 1
        if failure is not None:
            raise failure.with_traceback(None)
        return equal(a, b)

    return run


def inequality(left: Evaluate, right: Evaluate) -> Evaluate:
    """Evaluate ``a != b``, which is true where ``a == b`` fails."""

    def run(frame: Frame) -> bool:
        a, b, failure = _both(frame, left, right)
        frame.cost += -(-min(size(a), size(b)) // 10)
        if failure is not None:
            raise failure.with_traceback(None)
        try:
            return not equal(a, b)
        except EvaluationError:
            return True

    return run


def not_strictly_false(term: Evaluate) -> Evaluate:
    """Evaluate the condition of ``all`` and ``exists``: only false ends the loop."""

    def run(frame: Frame) -> bool:
        frame.cost += 1
        try:
            return term(frame) is not False
        except EvaluationError:
            return True

    return run


def membership(value: Evaluate, members: Members) -> Evaluate:
    """Evaluate ``x in [constants]``."""
    return lambda frame: members.holds(value(frame))


def or_value(first: Evaluate, second: Evaluate) -> Evaluate:
    """Evaluate ``optional.orValue(value)``; the value only where it is needed."""

    def run(frame: Frame) -> Value:
        found = first(frame)
        if type(found) is not Optional:
            raise no_such_overload()
        return second(frame) if found.value is MISSING else found.value

    return run


def or_optional(first: Evaluate, second: Evaluate) -> Evaluate:
    """Evaluate ``optional.or(optional)``; the second only where it is needed."""

    def run(frame: Frame) -> Value:
        found = first(frame)
        if type(found) is not Optional:
            raise no_such_overload()
        return second(frame) if found.value is MISSING else found

    return run


def call(run: Run, args: tuple[Evaluate, ...], price: Price | None) -> Evaluate:
    """Evaluate a call: all arguments, then the function; None as price means 1."""
    if price is not None:
        return _priced(run, args, price)
    if len(args) == 1:
        return _unary(run, args[0])
    if len(args) == 2:
        return _binary(run, *args)

    def evaluate(frame: Frame) -> Value:
        frame.cost += 1
        return run(*[arg(frame) for arg in args])

    return evaluate


def _unary(run: Run, arg: Evaluate) -> Evaluate:
    def evaluate(frame: Frame) -> Value:
        frame.cost += 1
        return run(arg(frame))

    return evaluate


def _binary(run: Run, first: Evaluate, second: Evaluate) -> Evaluate:
    def evaluate(frame: Frame) -> Value:
        frame.cost += 1
        a, b, failure = _both(frame, first, second)
        if failure is not None:
            raise failure.with_traceback(None)
        return run(a, b)

    return evaluate


def _priced(run: Run, args: tuple[Evaluate, ...], price: Price) -> Evaluate:
    def evaluate(frame: Frame) -> Value:
        values, failure = _evaluated(frame, args)
        result: Value = FAILED
        if failure is None:
            try:
                result = run(*values)
            except EvaluationError as error:
                failure = error
        frame.cost += price(values, result)
        frame.check()
        if failure is not None:
            raise failure.with_traceback(None)
        return result

    return evaluate


def _evaluated(frame: Frame, args: tuple[Evaluate, ...]) -> tuple[tuple[Value, ...], EvaluationError | None]:
    """Evaluate arguments, and give the first error; two are always evaluated, of more none after an error."""
    values: list[Value] = []
    failure: EvaluationError | None = None
    for arg in args:
        try:
            values.append(arg(frame))
        except EvaluationError as error:
            if len(args) > _ALL_EVALUATED:
                raise
            failure = failure or error
            values.append(FAILED)
    return tuple(values), failure


def implementation(function: Function, overload: str | None, constants: Sequence[Value]) -> Run:
    """Give what runs a call: one overload if the checker found one, else whichever takes the values.

    ``constants`` are arguments known already (``MISSING`` if not); a constant regular expression is compiled here.
    Raises ``ProgramError``.
    """
    if function.name in _PATTERNS and type(constants[1]) is str:
        try:
            compiled(constants[1])
        except InvalidPattern as error:
            raise ProgramError(f"program instantiation failed: {error}") from None
    if function.run is not None:
        return function.run
    candidates = [o for o in function.overloads if o.run is not None and (overload is None or o.id == overload)]
    return _dispatch(function.name, tuple(candidates))


def _dispatch(name: str, candidates: tuple[Overload, ...]) -> Run:
    simple = all(not param.params for o in candidates if o.guarded for param in o.params)
    chosen: dict[Any, Run] = {}

    def choose(args: tuple[Value, ...]) -> Run:
        for candidate in candidates:
            if candidate.takes(args) and candidate.run is not None:
                return candidate.run
        shown = ", ".join(KINDS[type(arg)].name for arg in args)
        raise EvaluationError(f"no such overload: {name}({shown})")

    def run(*args: Value) -> Value:
        if not simple:
            return choose(args)(*args)
        key = tuple([type(arg) for arg in args])
        found = chosen.get(key)
        if found is None:
            found = chosen[key] = choose(args)
        return found(*args)

    return run
