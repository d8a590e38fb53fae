"""The search: depth first, one device after the other, the first complete solution wins (api-semantics 2.6 and 2.7).

The stack is a list of frames rather than Python's own, so that its depth has no limit; one *step* is one call of the
recursion that upstream has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from dragoman_allocator.allocation.capacity import Amounts
from dragoman_allocator.allocation.checks import Check
from dragoman_allocator.allocation.devices import DeviceRecord
from dragoman_allocator.allocation.groups import Saved
from dragoman_allocator.allocation.pools import Pool
from dragoman_allocator.allocation.rules import RESULTS_LIMIT, Copy, Rules
from dragoman_allocator.allocation.taints import untolerated
from dragoman_allocator.allocation.target import ClaimPlan, RequestPlan, Target
from dragoman_allocator.errors import AllocationFailed, TooManySteps
from dragoman_allocator.objects import Node

_NODE_OPERATIONS = "DRAOptionalNodeOperations"
_STEPS_BETWEEN_QUESTIONS = 2000
"""Some milliseconds: what is asked must neither cost much nor be late."""


class _Outcome(Enum):
    CALL = auto()
    DONE = auto()
    FAILED = auto()
    EXCEEDED = auto()


class Choice:
    """A device being chosen for a target, and what has to be given back for it."""

    __slots__ = ("_charged", "_groups", "_pushed", "_taken", "amounts", "device", "index", "pool", "position", "target")

    def __init__(self, target: Target, index: int, position: int) -> None:
        self.target = target
        self.index = index
        self.position = position
        self._charged = self._taken = False
        self._groups: Saved | None = None
        self._pushed = 0

    def take(self, device: DeviceRecord, pool: Pool, amounts: Amounts, rules: Rules) -> Check | None:
        """Run the checks that depend on other devices and take the device; give the check that failed.

        Raises ``AllocationFailed``; whatever was charged until then, ``release`` returns.
        """
        self.device, self.pool, self.amounts = device, pool, amounts
        failed = self._charge(rules) if device.consumes else None
        if failed is None and device.blocking and untolerated(device.blocking, self.target.tolerations):
            failed = Check.TAINT
        if failed is None and self.target.constraints and not self._constrain():
            failed = Check.CONSTRAINT
        if failed is None and self.target.takes_all and not amounts.fit(device.use):
            failed = Check.CAPACITY_USED
        if failed is not None:
            self.release()
            return failed
        self._taken = True
        if device.shareable:
            device.use.share(amounts.taken, 1)
        else:
            device.use.marks.append(self.target.claim)
        return None

    def release(self) -> None:
        """Give back the device, or what was charged for one that was not taken."""
        if self._taken:
            self._taken = False
            if self.device.shareable:
                self.device.use.share(self.amounts.taken, -1)
            else:
                self.device.use.marks.pop()
        while self._pushed:
            self._pushed -= 1
            self.target.constraints[self._pushed][0].pop()
        if self._groups is not None and self.pool.groups is not None:
            self.pool.groups.give(self._groups)
            self._groups = None
        if self._charged and self.pool.counters is not None:
            self.pool.counters.give(self.device)
            self._charged = False

    def _charge(self, rules: Rules) -> Check | None:
        if not rules.partitionable:
            return Check.COUNTERS_OFF
        use = self.device.use
        if self.device.shareable and (use.attempt_shares or (use.shared if rules.fixed else use.recorded)):
            return None
        if self.pool.groups is not None:
            self._groups = self.pool.groups.take(self.device)
            if self._groups is None:
                return Check.GROUPS
        self._charged = self.pool.counters is not None and self.pool.counters.take(self.device)
        return None if self._charged else Check.COUNTERS

    def _constrain(self) -> bool:
        for constraint, look in self.target.constraints:
            value = look(self.device)
            if value is None or not constraint.push(value):
                return False
            self._pushed += 1
        return True


@dataclass(frozen=True, slots=True)
class Solution:
    """What was found for one claim: the target of every request, and the devices in their order."""

    targets: list[Target]
    choices: list[Choice]


class _Preference:
    """The subrequests of a request being tried one after the other."""

    __slots__ = ("all_exceeded", "index", "plan")

    def __init__(self, plan: RequestPlan) -> None:
        self.plan = plan
        self.index = 0
        self.all_exceeded = True


class _ClaimEnd:
    """Where the search went on to the next claim."""

    __slots__ = ()


class Search:
    """One attempt on one node, of at most ``limit`` steps and until ``give_up`` says so, where these are given."""

    def __init__(
        self,
        node: Node,
        plans: Sequence[ClaimPlan],
        rules: Rules,
        *,
        limit: int | None = None,
        give_up: Callable[[], bool] | None = None,
    ) -> None:
        self.steps = 0
        self._limit = sys.maxsize if limit is None else limit
        self._give_up = give_up
        self._next_question = self._limit if give_up is None else 0
        self._plans = plans
        self._rules = rules
        self._permute = rules.stable
        self._refuse_skips = rules.copy is Copy.EXPERIMENTAL and not (
            rules.node_operations and _NODE_OPERATIONS in (node.status.declared_features or ())
        )
        self._stack: list[Choice | _Preference | _ClaimEnd] = []
        self._results = [0] * len(plans)
        self._go_to(0, 0)

    def run(self) -> list[Solution] | None:
        """Give what was chosen for each claim, or None where there is no solution.

        Nothing is used any more afterwards. Raises ``AllocationFailed``, ``TooManySteps``.
        """
        try:
            return self._solutions() if self._solve() else None
        finally:
            for frame in reversed(self._stack):
                if isinstance(frame, Choice):
                    frame.release()

    def _solve(self) -> bool:
        outcome = _Outcome.CALL
        while outcome is not _Outcome.DONE:
            if outcome is _Outcome.CALL:
                if self.steps >= self._next_question:
                    self._go_on()
                self.steps += 1
                outcome = self._enter()
            elif self._stack:
                outcome = self._go_back(outcome)
            else:
                return False
        return True

    def _go_on(self) -> None:
        if self.steps >= self._limit or (self._give_up is not None and self._give_up()):
            raise TooManySteps(self.steps)
        self._next_question = min(self._limit, self.steps + _STEPS_BETWEEN_QUESTIONS)

    def _go_to(self, claim: int, request: int, target: Target | None = None, index: int = 0, start: int = 0) -> None:
        self._claim = claim
        self._request = request
        self._target = target
        self._index = index
        self._start = start

    def _enter(self) -> _Outcome:
        if self._claim == len(self._plans):
            return _Outcome.DONE
        requests = self._plans[self._claim].requests
        if self._request == len(requests):
            self._stack.append(_ClaimEnd())
            self._go_to(self._claim + 1, 0)
            return _Outcome.CALL
        plan = requests[self._request]
        if self._target is None and plan.prioritized:
            self._stack.append(_Preference(plan))
            self._target = plan.targets[0]
            return _Outcome.CALL
        return self._enter_target(self._target or plan.targets[0])

    def _enter_target(self, target: Target) -> _Outcome:
        if target.takes_all and not target.everything:
            return _Outcome.FAILED
        if self._index >= target.needed:
            self._go_to(self._claim, self._request + 1)
            return _Outcome.CALL
        if self._results[self._claim] + target.needed - self._index > RESULTS_LIMIT:
            return _Outcome.EXCEEDED
        choice = Choice(target, self._index, self._start)
        self._stack.append(choice)
        return self._advance(choice)

    def _advance(self, choice: Choice) -> _Outcome:
        """Take the next device for a choice on top of the stack, which goes where there is none."""
        target = choice.target
        if not (self._pick_all(choice) if target.takes_all else self._pick(choice)):
            self._stack.pop()
            return _Outcome.FAILED
        self._results[target.claim] += 1
        self._go_to(target.claim, target.request, target, choice.index + 1, 0 if self._permute else choice.position)
        return _Outcome.CALL

    def _go_back(self, outcome: _Outcome) -> _Outcome:
        frame = self._stack[-1]
        if isinstance(frame, Choice):
            frame.release()
            self._results[frame.target.claim] -= 1
            if outcome is _Outcome.FAILED and not frame.target.takes_all:
                return self._advance(frame)
        elif isinstance(frame, _Preference):
            return self._next_preference(frame, outcome)
        else:
            outcome = _Outcome.FAILED
        self._stack.pop()
        return outcome

    def _next_preference(self, frame: _Preference, outcome: _Outcome) -> _Outcome:
        frame.all_exceeded = frame.all_exceeded and outcome is _Outcome.EXCEEDED
        frame.index += 1
        if frame.index == len(frame.plan.targets):
            self._stack.pop()
            return _Outcome.EXCEEDED if frame.all_exceeded else _Outcome.FAILED
        target = frame.plan.targets[frame.index]
        self._go_to(target.claim, target.request, target)
        return _Outcome.CALL

    def _pick(self, choice: Choice) -> bool:
        target = choice.target
        selection = target.selection
        assert selection is not None
        members = selection.members
        position = choice.position
        admin = target.admin
        while position < len(members) or selection.extend(target):
            member = members[position]
            position += 1
            if member is None:
                continue
            device, pool, amounts = member
            use = device.use
            # What ``blocked`` says, without a call: most devices of a search that goes back and forth end here.
            if target.claim in use.marks if admin else use.held or use.marks:
                failed = Check.IN_USE
            elif amounts is None and (amounts := selection.settle(position - 1, target)) is None:
                continue
            elif not amounts.fit(use):
                failed = Check.CAPACITY_USED if amounts.fit_alone() else Check.CAPACITY_UNFIT
            elif device.skips and self._refuse_skips:
                failed = Check.NODE_OPERATIONS
            else:
                refused = choice.take(device, pool, amounts, self._rules)
                if refused is None:
                    choice.position = position
                    return True
                failed = refused
            if target.observer is not None:
                target.report(device.id, failed)
        return False

    def _pick_all(self, choice: Choice) -> bool:
        target = choice.target
        device, pool, amounts = target.everything[choice.index]
        if target.blocked(device.use):
            failed: Check | None = Check.IN_USE
        elif device.skips and self._refuse_skips:
            failed = Check.NODE_OPERATIONS
        else:
            failed = choice.take(device, pool, amounts, self._rules)
        if failed is None:
            return True
        target.report(device.id, failed)
        if failed is Check.CONSTRAINT:
            raise AllocationFailed(
                f"{target.where}: cannot add device {device.path} because a claim constraint would not be satisfied"
            )
        return False

    def _solutions(self) -> list[Solution]:
        solutions = [Solution([plan.targets[0] for plan in claim.requests], []) for claim in self._plans]
        for frame in self._stack:
            if isinstance(frame, Choice):
                solutions[frame.target.claim].choices.append(frame)
            elif isinstance(frame, _Preference):
                target = frame.plan.targets[frame.index]
                solutions[target.claim].targets[target.request] = target
        return solutions
