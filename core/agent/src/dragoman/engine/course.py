"""The states of an agent between its start and its end, and which may follow which."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from loguru import logger

from dragoman.model.states import IllegalTransition


class State(enum.StrEnum):
    """Where an agent is between its start and its end."""

    LOADING = "loading"
    """Plugins and settings are loaded; the lock was not asked for."""
    ASKING = "asking"
    """Another agent holds the lock and is asked for it."""
    LOCKING = "locking"
    """The holder has given up the lock."""
    RECOVERING = "recovering"
    """The lock is held; ledger and devices are brought in order."""
    ACTIVE = "active"
    """This is the agent that serves the node."""
    DRAINING = "draining"
    """A newcomer has asked; operations come to their end."""
    PASSIVE = "passive"
    """Another agent is the active one; this one keeps its sockets and hands calls on."""


TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.LOADING: frozenset({State.ASKING, State.RECOVERING}),
    State.ASKING: frozenset({State.ASKING, State.LOCKING, State.RECOVERING}),
    State.LOCKING: frozenset({State.ASKING, State.RECOVERING}),
    State.RECOVERING: frozenset({State.ACTIVE, State.LOADING, State.PASSIVE}),
    State.ACTIVE: frozenset({State.DRAINING}),
    State.DRAINING: frozenset({State.ACTIVE, State.PASSIVE}),
    State.PASSIVE: frozenset({State.PASSIVE, State.RECOVERING}),
}
"""From a state to the next. RECOVERING goes back to where it came from when recovery fails."""


class Course:
    """The state of one agent, and a sentence for people that says why it is not active."""

    def __init__(self) -> None:
        self.state = State.LOADING
        self.reason = "the agent is loading"

    def go(self, state: State, reason: str = "") -> None:
        """Enter a state. Raises ``IllegalTransition``."""
        if state not in TRANSITIONS[self.state]:
            raise IllegalTransition(f"an agent cannot go from {self.state} to {state}")
        if (self.state, self.reason) != (state, reason):
            logger.info("agent is {}{}", state, f": {reason}" if reason else "")
        self.state, self.reason = state, reason
