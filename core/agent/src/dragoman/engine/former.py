"""Claims of a former life, while the ledger that knew them is being rebuilt."""

from __future__ import annotations

from dragoman.clock import Clock
from dragoman.engine.waiting import Changes
from dragoman.model.claims import ClaimRef
from dragoman.store.ledger import Ledger
from dragoman_hookspecs import DragomanError


class NotRebuilt(DragomanError):
    """The claim may have been prepared by a former life of the agent, which the ledger does not know yet."""


class FormerClaims:
    """Lets the calls for such claims wait until they are known again."""

    def __init__(self) -> None:
        self._found = Changes()
        self._given_up: set[str] = set()

    async def known(self, ledger: Ledger, clock: Clock, ref: ClaimRef, seconds: float) -> None:
        """Wait until it is settled whether the claim was prepared before. Raises ``NotRebuilt`` after so long."""
        end = clock.monotonic() + seconds
        while ledger.rebuilt and not ledger.knows(ref.uid) and ref.uid not in self._given_up:
            left = end - clock.monotonic()
            if left <= 0 or not await self._found.wait(clock, left):
                raise NotRebuilt(
                    f"{ref} may have been prepared before the ledger of this node was lost, and the ledger is still "
                    "being rebuilt; the state of the agent says what that waits for"
                )

    def give_up(self, ledger: Ledger, claim_uid: str) -> None:
        """Remember that the claim was unprepared in this life, so that no old news of it is believed."""
        if ledger.rebuilt:
            self._given_up.add(claim_uid)

    def is_given_up(self, claim_uid: str) -> bool:
        """Tell whether this life has unprepared the claim."""
        return claim_uid in self._given_up

    def tell(self) -> None:
        """Wake those who wait: claims were found, or all of them were."""
        self._found.notify()
