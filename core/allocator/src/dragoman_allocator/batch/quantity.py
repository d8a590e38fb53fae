"""Kind ``quantity``: what the API makes of a text, and of two texts together."""

from __future__ import annotations

from dragoman_allocator.batch.line import Line
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.quantity import InvalidQuantity, parse_text


def answer(line: Line) -> JsonObject:
    """Answer ``text`` with ``canonical``, ``value``, ``milliValue``; with ``other`` also ``cmp``, ``add``, ``sub``.

    A text that is no quantity is an answer (``error``), not a bad line.
    """
    text, other = line.text("text"), line.text("other")
    try:
        first = parse_text(text)
        answers: JsonObject = {"canonical": first.text, "value": first.units, "milliValue": first.millis}
        if line.raw("other") is not None:
            second = parse_text(other)
            answers["cmp"] = first.compare(second)
            answers["add"], answers["sub"] = (first + second).text, (first - second).text
    except InvalidQuantity as error:
        return {"error": str(error)}
    return answers
