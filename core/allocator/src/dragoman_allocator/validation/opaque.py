"""Rules about JSON that drivers define: parameters and device data."""

from __future__ import annotations

import json
from math import isinf
from typing import Final

from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import formats
from dragoman_allocator.validation.errors import Errors, invalid, required, too_long

PARAMETERS_SIZE: Final = 10 * 1024
_OMITTED: Final = "<value omitted>"


def configuration(config: JsonObject, path: str, *, stored: bool) -> Errors:
    """Check what holds ``opaque``; ``stored`` configurations may have grown before there was a limit."""
    if "opaque" not in config:
        return [required(f"{path}.opaque")]
    opaque = config["opaque"]
    errors = formats.driver_covered(opaque.get("driver", ""), f"{path}.opaque.driver")
    return errors + parameters(opaque.get("parameters", b""), f"{path}.opaque.parameters", stored=stored)


def parameters(raw: bytes, path: str, *, stored: bool = False) -> Errors:
    """Check JSON of a driver: an object of at most 10 KiB."""
    if not raw:
        return [required(path)]
    if not stored and len(raw) > PARAMETERS_SIZE:
        return [too_long(path, PARAMETERS_SIZE)]
    try:
        value = json.loads(raw, parse_int=_number, parse_float=_number)
    except (ValueError, RecursionError) as error:
        return [invalid(path, _OMITTED, f"error parsing data as JSON: {error}")]
    if value is None:
        return [required(path)]
    return [] if isinstance(value, dict) else [invalid(path, _OMITTED, "must be a valid JSON object")]


def _number(text: str) -> float:
    """Read a number as the API server does. Raises ``ValueError`` with its text for one that is beyond 64 bits."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return number
