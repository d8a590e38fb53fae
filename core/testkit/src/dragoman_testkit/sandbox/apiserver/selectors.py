"""Label and field selectors: equality and the set forms of labels, equality of fields."""

from __future__ import annotations

import re
from collections.abc import Callable

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.errors import bad_request
from dragoman_testkit.sandbox.apiserver.resources import Resource

Matcher = Callable[[JsonObject], bool]

_SET_FORM = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s+\((?P<values>[^)]*)\)$")


def fields(resource: Resource, text: str) -> Matcher:
    """Compile a field selector. Raises ``ApiFault`` 400 for a field that the kind does not offer."""
    known = {"metadata.name", "metadata.namespace", *resource.selectors}
    terms = [_term(part) for part in text.split(",") if part]
    for path, _, _ in terms:
        if path not in known:
            raise bad_request(f'"{path}" is not a known field selector: only {", ".join(sorted(known))}')
    return lambda obj: all((_dig(obj, path) == value) is equal for path, value, equal in terms)


def labels(text: str) -> Matcher:
    """Compile a label selector."""
    tests = [_label_test(part.strip()) for part in re.split(r",(?![^(]*\))", text) if part.strip()]
    return lambda obj: all(test(obj["metadata"].get("labels") or {}) for test in tests)


def _label_test(part: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET_FORM.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        inside = found["op"] == "in"
        return lambda have: (have.get(key) in values) is inside
    if "=" in part:
        key, value, equal = _term(part)
        return lambda have: (have.get(key) == value) is equal
    if part.startswith("!"):
        return lambda have: part[1:] not in have
    return lambda have: part in have


def _term(part: str) -> tuple[str, str, bool]:
    key, operator, value = re.split(r"(!=|==|=)", part, maxsplit=1) if "=" in part else (part, "=", "")
    return key.strip(), value.strip(), operator != "!="


def _dig(obj: JsonObject, path: str) -> str:
    value: object = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return "" if value is None else str(value)
