"""From a checked tree to closures that evaluate it.

Constants are folded as cel-go's planner folds them, since that decides what costs nothing and which faults are found
before any device
is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dragoman_allocator.cel import calls, folds
from dragoman_allocator.cel.attributes import Attribute, Evaluate, Step, valid_key
from dragoman_allocator.cel.costs import NEW_LIST, NEW_MAP, Frame, price_of
from dragoman_allocator.cel.errors import Abort, EvaluationError, ProgramError
from dragoman_allocator.cel.functions import Function
from dragoman_allocator.cel.operators import Members
from dragoman_allocator.cel.syntax import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select
from dragoman_allocator.cel.values import MISSING, Map, Optional, Value, key_of, type_of

CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a part is evaluated.

    ``constant`` is its value if that is known already, ``attribute`` its chain if it is one.
    """

    run: Evaluate
    constant: Value = MISSING
    attribute: Attribute | None = None

    @property
    def known(self) -> bool:
        """Whether the value is known already."""
        return self.constant is not MISSING


def constant(value: Value) -> Plan:
    """Plan a value that is known."""
    return Plan(lambda _: value, value)


def chain(attribute: Attribute) -> Plan:
    """Plan a chain."""
    return Plan(attribute.evaluation(), attribute=attribute)


class Planner:
    """Plans one expression; ``slots`` is how many variables its loops need."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._scopes: list[dict[str, Evaluate]] = []
        self._plans: dict[int, Plan] = {}
        self.slots = 0
        self._visit: dict[type[Node], Callable[[Any], Plan]] = {
            Literal: lambda node: constant(node.value),
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListNode: self._list,
            MapNode: self._map,
            Fold: self._fold,
        }
        self._special: dict[str, Callable[[Call], Plan]] = {
            "_[_]": self._index,
            "_[?_]": self._index,
            "_?._": self._index,
            "_?_:_": self._conditional,
            "_&&_": self._logical,
            "_||_": self._logical,
            "_==_": self._equality,
            "_!=_": self._equality,
            "@not_strictly_false": self._strict,
            "@in": self._membership,
            "or": self._or_value,
            "orValue": self._or_value,
        }

    def plan(self, node: Node) -> Plan:
        """Plan a part. Raises ``ProgramError`` for a fault in constants."""
        found = self._plans.get(id(node))
        if found is None:
            found = self._plans[id(node)] = self._visit[type(node)](node)
        return found

    def _ident(self, node: Ident) -> Plan:
        if node.stands_for is not None:
            return constant(node.stands_for)
        if node.root:
            return chain(Attribute(lambda frame: frame.device, 1))
        read = next(scope[node.name] for scope in reversed(self._scopes) if node.name in scope)
        return chain(Attribute(read, 1))

    def _select(self, node: Select) -> Plan:
        if node.ident is not None:
            return self._ident(node.ident)
        attribute = self._chain(node.operand).then(Step(node.field))
        if node.test:
            attribute = Attribute(attribute.root, attribute.base_cost, attribute.steps, test=True)
        return chain(attribute)

    def _chain(self, node: Node) -> Attribute:
        planned = self.plan(node)
        if planned.attribute is None or planned.attribute.test:
            return Attribute(planned.run, 1)
        return planned.attribute

    def _call(self, node: Call) -> Plan:
        return self._special.get(node.function, self._function)(node)

    def _index(self, node: Call) -> Plan:
        optional = node.function != "_[_]"
        key = self.plan(node.args[1])
        if key.known and not valid_key(key.constant):
            raise _unplanned(f"invalid qualifier type: {type_of(key.constant).name}")
        if key.known:
            step = Step(key.constant, optional=optional)
        elif key.attribute is not None and not key.attribute.test:
            step = Step(evaluate=key.attribute.evaluation(counted=False), optional=optional)
        else:
            step = Step(evaluate=key.run, optional=optional)
        return chain(self._chain(node.args[0]).then(step))

    def _conditional(self, node: Call) -> Plan:
        condition = self.plan(node.args[0]).run
        then, other = (self._branch(arg) for arg in node.args[1:])
        return chain(Attribute(calls.conditional(condition, then, other), 0))

    def _branch(self, node: Node) -> Evaluate:
        planned = self.plan(node)
        if planned.attribute is None:
            return planned.run
        return planned.attribute.evaluation(counted=False)

    def _logical(self, node: Call) -> Plan:
        terms = tuple(self.plan(arg).run for arg in node.args)
        return Plan(calls.conjunction(terms) if node.function == "_&&_" else calls.disjunction(terms))

    def _equality(self, node: Call) -> Plan:
        left, right = (self.plan(arg).run for arg in node.args)
        return Plan(calls.equality(left, right) if node.function == "_==_" else calls.inequality(left, right))

    def _strict(self, node: Call) -> Plan:
        return Plan(calls.not_strictly_false(self.plan(node.args[0]).run))

    def _membership(self, node: Call) -> Plan:
        value, container = (self.plan(arg) for arg in node.args)
        if node.overloads == ["in_list"] and container.known:
            if not container.constant:
                return constant(False)
            if Members.fit(container.constant):
                return Plan(calls.membership(value.run, Members(container.constant)))
        return self._function(node)

    def _or_value(self, node: Call) -> Plan:
        if node.target is None:
            return self._function(node)
        first, second = self.plan(node.target).run, self.plan(node.args[0]).run
        return Plan(calls.or_value(first, second) if node.function == "orValue" else calls.or_optional(first, second))

    def _function(self, node: Call) -> Plan:
        args = [self.plan(arg) for arg in (node.args if node.target is None else [node.target, *node.args])]
        function = self._functions[node.function]
        overload = node.overloads[0] if len(node.overloads) == 1 else None
        run = calls.implementation(function, overload, [arg.constant for arg in args])
        planned = Plan(calls.call(run, tuple(arg.run for arg in args), price_of(node.function, overload)))
        if node.function in CONVERSIONS and len(args) == 1 and args[0].known:
            return _fold_constant(planned)
        return planned

    def _list(self, node: ListNode) -> Plan:
        elements = [self.plan(element) for element in node.elements]
        run = _list_of(tuple(element.run for element in elements), node.optional)
        if all(element.known for element in elements):
            return _fold_constant(Plan(run))
        return Plan(run)

    def _map(self, node: MapNode) -> Plan:
        entries = [(self.plan(entry.key), self.plan(entry.value), entry.optional) for entry in node.entries]
        run = _map_of(tuple((key.run, value.run, optional) for key, value, optional in entries))
        if all(key.known and value.known for key, value, _ in entries):
            return _fold_constant(Plan(run))
        return Plan(run)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _fold(self, node: Fold) -> Plan:
        init, over = self.plan(node.init).run, self.plan(node.range).run
        accumulator, first = self._slot(), self._slot()
        second = self._slot() if node.variable2 is not None else None
        names = {node.accumulator: folds.accumulator(accumulator, init)}
        inner = {node.variable: folds.variable(first)}
        if node.variable2 is not None and second is not None:
            inner[node.variable2] = folds.variable(second)
        self._scopes += (names, inner)
        condition, step = self.plan(node.condition).run, self.plan(node.step).run
        self._scopes.pop()
        result = self.plan(node.result).run
        self._scopes.pop()
        if second is None:
            return Plan(folds.loop(over, (accumulator, first), condition, step, result))
        return Plan(folds.loop_over_entries(over, (accumulator, first, second), condition, step, result))


def _unplanned(message: str) -> ProgramError:
    return ProgramError(f"program instantiation failed: {message}")


def _fold_constant(planned: Plan) -> Plan:
    try:
        return constant(planned.run(Frame(None, 0)))
    except (EvaluationError, Abort) as error:
        raise _unplanned(str(error)) from None


def _list_of(elements: tuple[Evaluate, ...], optional: frozenset[int]) -> Evaluate:
    def run(frame: Frame) -> list[Value]:
        frame.cost += NEW_LIST
        return [element(frame) for element in elements]

    def run_optional(frame: Frame) -> list[Value]:
        frame.cost += NEW_LIST
        made = []
        for at, element in enumerate(elements):
            value = element(frame)
            if at in optional:
                if type(value) is not Optional:
                    raise EvaluationError("cannot initialize optional list element from non-optional value")
                if value.value is MISSING:
                    continue
                value = value.value
            made.append(value)
        return made

    return run_optional if optional else run


def _map_of(entries: tuple[tuple[Evaluate, Evaluate, bool], ...]) -> Evaluate:
    def run(frame: Frame) -> Map:
        frame.cost += NEW_MAP
        made = Map()
        for key_run, value_run, optional in entries:
            key, value = key_of(key_run(frame)), value_run(frame)
            if optional:
                if type(value) is not Optional:
                    raise EvaluationError("cannot initialize optional entry from non-optional value")
                value = value.value
            if value is MISSING:
                made.pop(key, None)
            else:
                made[key] = value
        return made

    return run
