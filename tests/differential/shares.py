"""How worlds come out, by upstream's answer: a suite of trivial worlds would prove little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.differential import compare

Json = dict[str, Any]


def of(question: Json, answer: Json) -> list[str]:
    """Give every heading that a world counts under."""
    verdict = compare.verdict(answer)
    if verdict != "ok":
        return [f"error ({verdict})"]
    headings = _HEADINGS.get(question["kind"])
    return headings(question, answer) if headings else ["answered"]


def _allocate(question: Json, answer: Json) -> list[str]:
    if answer["results"] is None:
        return ["does not fit"]
    return ["allocated", "allocated after backtracking"] if _backtracked(question, answer) else ["allocated"]


def _backtracked(question: Json, answer: Json) -> bool:
    """Tell whether the search took more steps than the way that it found in the end has."""
    straight = 1
    for claim, result in zip(question["claims"], answer["results"], strict=True):
        requests = ((claim.get("spec") or {}).get("devices") or {}).get("requests") or []
        straight += 1 + len(requests) + sum(bool(request.get("firstAvailable")) for request in requests)
        straight += len(result["devices"].get("results") or ())
    return int(answer.get("steps") or 0) > straight


def _validate(_: Json, answer: Json) -> list[str]:
    return ["refused" if answer.get("errors") or answer.get("decodeError") else "accepted"]


def _cel(_: Json, answer: Json) -> list[str]:
    if "compileError" in answer:
        return ["compile error"]
    return ["run-time error" if "runtimeError" in answer else f"{answer['result']}"]


def _pod(_: Json, answer: Json) -> list[str]:
    steps = [answer[step] for step in ("preFilter", "filter", "reserve") if answer.get(step)]
    return [f"{len(steps)} steps, {steps[-1]['code']}"]


def _pool_status(_: Json, answer: Json) -> list[str]:
    faulty = any(pool.get("validationError") for pool in answer["status"].get("pools") or ())
    return ["with errors" if faulty else "without errors"]


_HEADINGS: dict[str, Callable[[Json, Json], list[str]]] = {
    "allocate": _allocate,
    "validate": _validate,
    "cel": _cel,
    "podAllocatable": _pod,
    "poolstatus": _pool_status,
}
