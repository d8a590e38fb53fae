"""Ways to make the server misbehave on purpose."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dragoman_testkit.sandbox.apiserver.errors import ApiFault, Cause


@dataclass(slots=True)
class _Rule:
    verb: str | None
    path: str
    left: int
    act: Callable[[], ApiFault | None]
    kind: str

    def takes(self, verb: str, path: str) -> bool:
        return self.left > 0 and self.verb in (None, verb) and self.path in path


class Faults:
    """Faults that are armed now. ``verb`` is get, list, watch, create, update, patch, apply, delete or deletecollection
    (None: any), ``path`` a part of the path, ``count`` how many requests are hit.

    ``off`` holds the feature gates that are off: fields behind them are dropped on write.
    ``expire_after``: an ERROR event with 410 is sent to each watch after so many events (None: never).
    ``needs_share_id``: server-side apply refuses entries without ``shareID``, as servers before 1.34 do.
    ``loose_parameters``: the opaque parameters of all claims were sent with blanks. What a server merges or reads as
    JSON has none, so every write of claim status but one in protobuf changes the allocation, and is refused (seen
    with 1.37).
    ``spellings``: other bytes for parts of answers, events of watches included: a server shows opaque JSON as it was
    sent, also what no decoder here can take, such as ``{b'"@"': b'[' * 2000 + b']' * 2000}``.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.off: set[str] = set()
        self.needs_share_id = False
        self.loose_parameters = False
        self.expire_after: int | None = None
        self.spellings: dict[bytes, bytes] = {}
        self.frozen = False
        self.cuts = 0
        self._wake = wake
        self._rules: list[_Rule] = []
        self._released = asyncio.Event()

    def fail(
        self,
        status: int,
        *,
        verb: str | None = None,
        path: str = "",
        count: int = 1,
        reason: str = "InternalError",
        message: str = "told to fail",
        causes: Iterable[Cause] = (),
        retry_after: int | None = None,
    ) -> None:
        """Answer the next matching requests with a failure; they have no effect."""
        fault = ApiFault(status, reason, message, causes=causes, retry_after=retry_after)
        self._rules.append(_Rule(verb, path, count, lambda: fault, "fail"))

    def hang(self, *, verb: str | None = None, path: str = "", count: int = 1) -> None:
        """Leave the next matching requests without an answer, until ``clear`` or the server stops."""
        self._rules.append(_Rule(verb, path, count, lambda: None, "hang"))

    def lose_answer(self, *, verb: str | None = None, path: str = "", count: int = 1) -> None:
        """Do what the next matching requests ask, then cut the connection before the answer."""
        self._rules.append(_Rule(verb, path, count, lambda: None, "lose"))

    def cut_watches(self) -> None:
        """End every running watch cleanly, as servers do after some minutes."""
        self.cuts += 1
        self._wake()

    def freeze_watches(self, frozen: bool = True) -> None:
        """Keep running watches open and silent, without bookmarks: a half-open connection."""
        self.frozen = frozen
        self._wake()

    def clear(self) -> None:
        """Behave again, and answer what hangs with 503."""
        self._rules.clear()
        self.off.clear()
        self.spellings.clear()
        self.frozen = self.needs_share_id = self.loose_parameters = False
        self.expire_after = None
        self._released.set()
        self._released = asyncio.Event()
        self._wake()

    def spelled(self, answer: bytes) -> bytes:
        """Give an answer, or an event, as it is sent."""
        for written, sent in self.spellings.items():
            answer = answer.replace(written, sent)
        return answer

    async def meet(self, verb: str, path: str) -> bool:
        """Apply what is armed for a request; True asks for the loss of its answer. Raises ``ApiFault``."""
        rule = next((rule for rule in self._rules if rule.takes(verb, path)), None)
        if rule is None:
            return False
        rule.left -= 1
        if rule.kind == "hang":
            await self._released.wait()
            raise ApiFault(503, "ServiceUnavailable", "the server hung")
        if fault := rule.act():
            raise fault
        return True
