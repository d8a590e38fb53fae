"""When two answers say the same.

Share ids are random, quantities in results are compared by value, and the wording of the CEL engine is its own. Where
upstream leaves an order to a map, both answers are sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """``where`` in the answer, and what each program says there."""

    where: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.where or 'answer'}: upstream {self.theirs!r}, ours {self.ours!r}"


def differences(kind: str, theirs: Json, ours: Json) -> list[Difference]:
    """List where the answers to one question differ."""
    if verdict(theirs) in {"input", "panic", "crash"} and verdict(ours) not in {"crash", "timeout"}:
        return []  # what upstream cannot even read, or dies of, has no right answer but a calm one
    if verdict(theirs) == "timeout" and verdict(ours) != "crash":
        return []  # nobody knows the right one
    left, right = _SHAPES[kind](theirs), _SHAPES[kind](ours)
    if theirs.get("steps") is None or ours.get("steps") is None:  # they are optional
        left.pop("steps", None)
        right.pop("steps", None)
    return list(_walk("", left, right))


def verdict(answer: Json) -> str:
    """Tell the class of an answer: what it is about, whatever its words."""
    error = answer.get("error")
    if any("timed out trying to allocate" in reason for reason in (answer.get("filter") or {}).get("reasons") or ()):
        return "timeout"
    if not error:
        return "node" if answer.get("errorOnNode") else "ok"
    for word in ("timeout", "crash", "input", "panic"):
        if error.startswith(f"{word}:"):
            return word
    if "context deadline exceeded" in error:
        return "timeout"
    return "node" if answer.get("errorOnNode") else "fatal"


def _walk(where: str, theirs: Any, ours: Any) -> Iterator[Difference]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            yield from _walk(f"{where}.{key}" if where else key, theirs.get(key), ours.get(key))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, (left, right) in enumerate(zip(theirs, ours, strict=True)):
            yield from _walk(f"{where}[{i}]", left, right)
    elif isinstance(theirs, list) and isinstance(ours, list):
        yield Difference(where, [one for one in theirs if one not in ours], [one for one in ours if one not in theirs])
    elif theirs != ours or isinstance(theirs, bool) != isinstance(ours, bool):
        yield Difference(where, theirs, ours)


def _allocate(answer: Json) -> Json:
    error = answer.get("error") or (answer["errorOnNode"] if isinstance(answer.get("errorOnNode"), str) else "")
    told = "" if verdict(answer) == "input" else _words(error)
    found = {"verdict": verdict(answer), "error": told, "results": None, "steps": answer.get("steps")}
    if answer.get("results") is not None:
        found["results"] = [_allocation(one) for one in answer["results"]]
    return found


def _allocation(result: Json | None) -> Json | None:
    if result is None:
        return None
    devices = result.get("devices") or {}
    found = {key: value for key, value in result.items() if key not in {"devices", "allocationTimestamp"}}
    found["results"] = [_device(one) for one in devices.get("results") or ()]
    found["config"] = _without_empty(devices.get("config") or [])
    return found


def _device(result: Json) -> Json:
    found = {key: value for key, value in result.items() if value not in (None, "", [], {})}
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(found.get("shareID", ""))):
        found["shareID"] = "<share>"
    if found.get("consumedCapacity"):
        found["consumedCapacity"] = {key: amount(text) for key, text in found["consumedCapacity"].items()}
    return found


def _quantity(answer: Json) -> Json:
    found = {key: answer.get(key) for key in ("canonical", "value", "milliValue", "cmp", "add", "sub")}
    return found | {"verdict": "error" if verdict(answer) in {"fatal", "input"} else verdict(answer)}


def _cel(answer: Json) -> Json:
    return {
        "verdict": verdict(answer),
        "compileError": bool(answer.get("compileError")),
        "runtimeError": bool(answer.get("runtimeError")),
        "result": answer.get("result"),
    }


def _pool_status(answer: Json) -> Json:
    return {"verdict": verdict(answer), "status": _without_empty(answer.get("status"))}


def _validate(answer: Json) -> Json:
    rows = [
        {"field": row["field"], "type": row["type"], "detail": _words(row["detail"]), "badValue": row.get("badValue")}
        for row in answer.get("errors") or ()
    ]
    return {
        "verdict": verdict(answer),
        "errors": sorted(rows, key=lambda row: (row["field"], row["type"], row["detail"], str(row["badValue"]))),
        "decodeError": bool(answer.get("decodeError")),
        "strictErrors": sorted(answer.get("strictErrors") or ()),
    }


def _pod(answer: Json) -> Json:
    found: Json = {"verdict": verdict(answer)}
    for step in ("preFilter", "filter", "reserve"):
        said = answer.get(step)
        found[step] = said and {
            "code": said["code"],
            "reasons": sorted(_words(text) for text in said.get("reasons") or ()),
        }
    found["allocations"] = [_allocation(one) for one in answer.get("allocations") or ()]
    for key in ("nodeAllocatableResourceClaimStatuses", "podRequests", "podLimits", "containers"):
        found[key] = _without_empty(answer.get(key))
    return found


def _bench(answer: Json) -> Json:
    counted = {key: value for key, value in answer.items() if key not in {"id", "elapsedMs", "error"}}
    return counted | {"verdict": verdict(answer)}


_SHAPES: dict[str, Callable[[Json], Json]] = {
    "allocate": _allocate,
    "quantity": _quantity,
    "cel": _cel,
    "poolstatus": _pool_status,
    "validate": _validate,
    "podAllocatable": _pod,
    "bench": _bench,
}

_ENGINE = re.compile(
    r"(?s)((?:CEL runtime error|CEL compile error|compile derived attribute \S+ failed|compilation failed"
    r"|evaluate derived attribute .*? failed):|failed to parse node selector|node selection for device).*"
)


def _words(text: str) -> str:
    """Cut what the CEL engine says off an error."""
    return _ENGINE.sub(r"\1", text)


def _without_empty(value: Any) -> Any:
    """Leave out members that say nothing, for an absent list and an empty one are the same to the API."""
    if isinstance(value, dict):
        kept = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, "", [], {})}
    if isinstance(value, list):
        return [_without_empty(one) for one in value]
    return value


_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def amount(text: str | int) -> Fraction:
    """Read a canonical quantity as a number. Raises ``ValueError`` for what is none."""
    parts = re.fullmatch(r"([+-]?[0-9]*\.?[0-9]*)(?:([KMGTPE])i|([numkMGTPE]?)|[eE]([+-]?[0-9]+))", str(text))
    if not parts:
        raise ValueError(f"{text!r} is no quantity")
    digits, binary, decimal, exponent = parts.groups()
    if binary:
        return Fraction(digits or 0) * (1 << 10 * ("KMGTPE".index(binary) + 1))
    power = int(exponent) if exponent else _POWERS[decimal or ""]
    scale = Fraction(10 ** max(power, 0), 10 ** max(-power, 0))
    return Fraction(digits or 0) * scale
