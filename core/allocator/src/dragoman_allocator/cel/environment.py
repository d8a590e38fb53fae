"""The environment of device selectors and derived attributes: what may be written, and how it is run."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from dragoman_allocator.cel import work
from dragoman_allocator.cel.attributes import Evaluate
from dragoman_allocator.cel.checker import TYPE_NAMES, Checker, Declarations
from dragoman_allocator.cel.cost import Estimator
from dragoman_allocator.cel.costs import LIMIT, Frame
from dragoman_allocator.cel.devices import device_value, to_attribute, to_bool
from dragoman_allocator.cel.errors import Abort, Aborted, CompileError
from dragoman_allocator.cel.libraries import functions
from dragoman_allocator.cel.parser import parse
from dragoman_allocator.cel.plan import Planner
from dragoman_allocator.cel.recursion import with_room
from dragoman_allocator.cel.syntax import Node
from dragoman_allocator.cel.types import ANY, BOOL, DEVICE, DYN, INT, QUANTITY, SEMVER, STRING, Kind, Type, map_of
from dragoman_allocator.cel.validators import validate
from dragoman_allocator.cel.values import Value
from dragoman_allocator.features import Features
from dragoman_allocator.objects import Attribute, Device

LONGEST: Final = 10_240
"""Bytes of the longest expression that the API server takes (``CELSelectorExpressionMaxLength``)."""
STORED_LONGEST: Final = 100_000
"""Characters of the longest one that the compiler itself takes."""

_CACHED: Final = 4096
_DERIVED: Final = (BOOL, INT, STRING, ANY, DYN, SEMVER)
_SCALARS: Final = "must evaluate to a primitive scalar (string, integer, boolean, semver)"


class Program:
    """A compiled expression. It keeps nothing of a device and may be used from several threads."""

    __slots__ = ("_run", "_slots", "expression", "type")

    def __init__(self, expression: str, output: Type, run: Evaluate, slots: int) -> None:
        self.expression = expression
        self.type = output
        self._run = run
        self._slots = slots

    def evaluate(self, driver: str, device: Device) -> bool:
        """Tell whether the selector takes the device. Raises ``EvaluationError``, which ends a scheduling attempt."""
        return to_bool(self.value(device_value(driver, device)))

    def derive(self, driver: str, device: Device) -> Attribute:
        """Give the derived attribute of the device. Raises ``EvaluationError``."""
        return to_attribute(self.value(device_value(driver, device)))

    def value(self, device: Value, limit: int = LIMIT) -> Value:
        """Give the value for a device as ``devices.device_value`` makes it. Raises ``EvaluationError``."""
        return self.measured(device, limit)[0]

    def measured(self, device: Value, limit: int = LIMIT) -> tuple[Value, int]:
        """Give the value and what its evaluation cost in CEL's units. Raises ``EvaluationError``."""
        return with_room(lambda: self._measured(device, limit))

    def _measured(self, device: Value, limit: int) -> tuple[Value, int]:
        frame = Frame(device, self._slots, limit)
        work.start()
        try:
            value = self._run(frame)
            frame.check()
        except Abort as abort:
            raise Aborted(str(abort)) from None
        return value, frame.cost


class Environment:
    """What expressions may use.

    ``stored`` ignores feature gates, as the scheduler does for what the API has accepted before.
    """

    def __init__(self, features: Features | None = None, *, stored: bool = True) -> None:
        gates = features or Features()
        self.lists = stored or gates.on("DRAListTypeAttributes")
        self._stored = stored
        self.attribute_type = DYN if self.lists else ANY
        self._declarations = _declarations(
            self.attribute_type, shared=stored or gates.on("DRAConsumableCapacity"), includes=self.lists
        )
        self._selector = lru_cache(_CACHED)(self._compiled_selector)
        self._derived = lru_cache(_CACHED)(self._compiled_derived)
        self.estimate = lru_cache(_CACHED)(self._estimate)

    def compile(self, expression: str, *, derived: bool = False) -> Program:
        """Compile a selector, or the expression of a derived attribute. Raises ``CompileError``.

        Results are cached, errors too.
        """
        found = (self._derived if derived else self._selector)(expression)
        if isinstance(found, CompileError):
            raise found.with_traceback(None)
        return found

    def _estimate(self, expression: str) -> int:
        """Give what the expression may cost at most; 2**64 - 1 also for "unknown". Raises ``CompileError``."""
        return with_room(lambda: Estimator().cost(self._checked(expression)[0]).most)

    def _compiled_selector(self, expression: str) -> Program | CompileError:
        try:
            program = self._compile(expression)
        except CompileError as error:
            return error
        if program.type in (BOOL, self.attribute_type):
            return program
        return CompileError(f"must evaluate to bool or the unknown type, not {printed(program.type)}")

    def _compiled_derived(self, expression: str) -> Program | CompileError:
        try:
            program = self._compile(expression)
        except CompileError as error:
            return error
        element = program.type.params[0] if self.lists and program.type.kind is Kind.LIST else program.type
        if element in _DERIVED:
            return program
        wanted = f"{_SCALARS} or a list of these scalars" if self.lists else _SCALARS
        return CompileError(f"{wanted}, not {printed(program.type)}")

    def _compile(self, expression: str) -> Program:
        if not self._stored and len(expression.encode("utf-8", "surrogatepass")) > LONGEST:
            raise CompileError(f"Too long: may not be more than {LONGEST} bytes")
        if len(expression) > STORED_LONGEST:
            size = len(expression)
            raise CompileError(f"expression code point size exceeds limit: size: {size}, limit {STORED_LONGEST}")
        return with_room(lambda: self._program(expression))

    def _program(self, expression: str) -> Program:
        tree, output = self._checked(expression)
        planner = Planner(self._declarations.functions)
        work.start()
        try:
            validate(tree, expression)
            run = planner.plan(tree).run
        except Abort as abort:
            raise CompileError(f"compilation failed: {abort}") from None
        return Program(expression, output, run, planner.slots)

    def _checked(self, expression: str) -> tuple[Node, Type]:
        tree = parse(expression)
        return tree, Checker(expression, self._declarations).check(tree)


def printed(t: Type) -> str:
    """Print a type as the API's messages do: with full names."""
    return f"{t.name}({', '.join(map(printed, t.params))})" if t.params else t.name


@cache
def _declarations(attribute: Type, *, shared: bool, includes: bool) -> Declarations:
    fields = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, attribute)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }
    if shared:
        fields["allowMultipleAllocations"] = BOOL
    return Declarations(
        variables={"device": DEVICE},
        type_names=TYPE_NAMES,
        fields={DEVICE.name: fields},
        functions=functions(includes=includes),
    )
