"""Kind ``validate``: what the API server would say of an object."""

from __future__ import annotations

from typing import Any

from dragoman_allocator.batch.line import Line
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import DecodeError, FieldError, check
from dragoman_allocator.validation.instants import Instant


def answer(line: Line) -> JsonObject:
    """Answer ``object`` (on update with ``old``, for a status with ``subresource``, under ``gates``).

    Gives ``errors`` (each with ``field``, ``type``, ``detail``, ``badValue``), and where they apply ``decodeError`` and
    ``strictErrors``. A bad value that is neither text, number nor truth value is null.
    ``namespaceLabels`` are those of the object's namespace, for admin access. Raises ``InvalidInput`` for a bad line.
    """
    obj = line.raw("object")
    if obj is None:
        return {"errors": [], "decodeError": "object is missing"}
    labels = line.typed("namespaceLabels", dict[str, str], {})
    try:
        report = check(
            obj,
            line.raw("old"),
            line.text("subresource") or None,
            Features.of(line.get("gates")),
            admin=labels.get("resource.kubernetes.io/admin-access") == "true",
        )
    except DecodeError as error:
        return {"errors": [], "decodeError": str(error)}
    answers: JsonObject = {"errors": [_row(error) for error in report.errors]}
    told = [f'unknown field "{path}"' for path in report.unknown]
    told += [f'duplicate field "{path}"' for path in report.repeated]
    if told:
        answers["strictErrors"] = sorted(told)
    return answers


def _row(error: FieldError) -> JsonObject:
    return {"field": error.field, "type": error.type, "detail": error.detail, "badValue": _plain(error.bad_value)}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) and not isinstance(value, Instant) else None
