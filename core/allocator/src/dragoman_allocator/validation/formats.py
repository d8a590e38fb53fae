"""Formats that the rules written by hand check, with the origins by which declared rules replace them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import (
    Errors,
    FieldError,
    complaints,
    covered,
    duplicate,
    invalid,
    required,
    too_long,
    too_many,
)

POOL: Final = "format=k8s-resource-pool-name"
QUALIFIED: Final = "format=k8s-resource-fully-qualified-name"
SHORT: Final = "format=k8s-short-name"
LONG: Final = "format=k8s-long-name"
CASELESS: Final = "format=k8s-long-name-caseless"
LABEL_KEY: Final = "format=k8s-label-key"
UUID: Final = "format=k8s-uuid"

KEY_SIZE: Final = names.DRIVER_LENGTH + 1 + names.IDENTIFIER_LENGTH
"""Bytes of a map key that a path shows in full."""

_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"
_NOT_NORMAL: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`"
    " with lowercase hexadecimal characters"
)


def driver(value: str, path: str) -> Errors:
    """Check a driver name; upper case is tolerated (api-semantics 1.2)."""
    if not value:
        return [required(path)]
    errors = [too_long(path, names.DRIVER_LENGTH)] if names.size(value) > names.DRIVER_LENGTH else []
    return errors + complaints(path, value, names.subdomain(names.lowered(value)))


def driver_covered(value: str, path: str) -> Errors:
    """Check a driver name where a declared rule checks it as well."""
    origins = {"FieldValueInvalid": CASELESS, "FieldValueTooLong": "maxLength"}
    return [one for error in driver(value, path) for one in covered([error], origins.get(error.type, ""))]


def pool(value: str, path: str) -> Errors:
    """Check a pool name: subdomains joined by slashes."""
    if not value:
        return [required(path)]
    errors = [too_long(path, names.POOL_LENGTH, POOL)] if names.size(value) > names.POOL_LENGTH else []
    for part in value.split("/"):
        errors += complaints(path, part, names.subdomain(part), POOL)
    return errors


def label(value: str, path: str) -> Errors:
    """Check a device, request, counter or counter set name."""
    return complaints(path, value, names.label(value), SHORT)


def label_key(value: str, path: str) -> Errors:
    """Check a label key."""
    return complaints(path, value, names.label_key(value), LABEL_KEY)


def identifier(value: str, path: str) -> Errors:
    """Check a C identifier and its length."""
    errors = [too_long(path, names.IDENTIFIER_LENGTH)] if names.size(value) > names.IDENTIFIER_LENGTH else []
    return errors + complaints(path, value, names.identifier(value))


def qualified(value: str, path: str) -> Errors:
    """Check the name of an attribute or capacity; with two or more slashes nothing is checked, as upstream."""
    if value.count("/") > 1:
        return []
    domain, slash, name = value.partition("/")
    if not slash:
        return identifier(value, path)
    errors = driver(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    return errors + (identifier(name, path) if name else [invalid(path, "", "the name must not be empty")])


def fully_qualified(value: str, path: str) -> Errors:
    """Check a name that needs its domain; upper case in the domain is left to the declared rule."""
    errors = qualified(value, path)
    if "/" not in value:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, value, text))
    return covered(errors, QUALIFIED)


def uuid(value: str, path: str) -> Errors:
    """Check a share ID."""
    if fault := _uuid_fault(value):
        return covered([invalid(path, value, f"error validating uid: {fault}")], UUID)
    if names.size(value) != 36 or value != value.lower():
        return covered([invalid(path, value, _NOT_NORMAL)], UUID)
    return []


def _uuid_fault(value: str) -> str:
    length = names.size(value)
    if length == 45 and value[:9].lower() != "urn:uuid:":
        return f'invalid urn prefix: "{value[:9]}"'
    if length == 38 and (value[0] != "{" or value[-1] != "}"):
        return "invalid bracketed UUID format"
    if length == 32:
        return "" if re.fullmatch(f"{_HEX}{{32}}", value) else "invalid UUID format"
    if length not in (36, 38, 45):
        return f"invalid UUID length: {length}"
    inner = {36: value, 38: value[1:-1], 45: value[9:]}[length]
    return "" if re.fullmatch(_UUID, inner) else "invalid UUID format"


def shown_key(key: str, limit: int = KEY_SIZE) -> str:
    """Give a map key as a path shows it: a long one without its middle."""
    raw = key.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return key
    rest = limit - 3
    return (raw[: (rest + 1) // 2] + b"..." + raw[len(raw) - rest // 2 :]).decode("utf-8", "replace")


Check = Callable[[Any, str], Errors]


def listed(items: list[Any], path: str, most: int | None, check: Check, *, size_covered: bool = True) -> Errors:
    """Check every item, or only say that there are too many."""
    if most is not None and len(items) > most:
        error = too_many(path, len(items), most)
        return covered([error]) if size_covered else [error]
    return [error for index, item in enumerate(items) for error in check(item, f"{path}[{index}]")]


def repeated(items: Iterable[Any], path: str, *, by_rule: bool = True) -> Errors:
    """Give an error for every item that stood before; ``by_rule`` tells that a declared rule says so too."""
    seen: set[Any] = set()
    errors: list[FieldError] = []
    for index, item in enumerate(items):
        if item in seen:
            errors.append(duplicate(f"{path}[{index}]", item))
        seen.add(item)
    return covered(errors) if by_rule else errors


def unique(items: list[JsonObject], path: str, most: int | None, check: Check, key: str = "name") -> Errors:
    """Check every item of a list whose items are told apart by ``key``."""
    if most is not None and len(items) > most:
        return covered([too_many(path, len(items), most)])
    return listed(items, path, None, check) + repeated((item.get(key, "") for item in items), path)


def unique_texts(items: list[str], path: str, most: int, check: Check) -> Errors:
    """Check every text of a list without repetition."""
    if len(items) > most:
        return covered([too_many(path, len(items), most)])
    return listed(items, path, None, check) + repeated(items, path)
