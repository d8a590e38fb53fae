"""Kind ``quantity``: what the API makes of a text or bare number, and of two of them together."""

from __future__ import annotations

from dragoman_allocator.batch.line import Line
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.quantity import InvalidQuantity, Quantity, parse, parse_text


def answer(line: Line) -> JsonObject:
    """Answer ``text`` with ``canonical``, ``value``, ``milliValue``; with ``other`` also ``cmp``, ``add``, ``sub``.

    A text that is no quantity is an answer (``error``), not a bad line.
    """
    try:
        first = _amount(line, "text")
        answers: JsonObject = {"canonical": first.text, "value": first.units, "milliValue": first.millis}
        if line.raw("other") is not None:
            second = _amount(line, "other")
            answers["cmp"] = first.compare(second)
            answers["add"], answers["sub"] = (first + second).text, (first - second).text
    except InvalidQuantity as error:
        return {"error": str(error)}
    return answers


def _amount(line: Line, name: str) -> Quantity:
    value = line.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return parse(value)
    return parse_text(line.text(name))
