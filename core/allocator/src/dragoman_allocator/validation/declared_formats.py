"""Formats that the API types declare; their texts and origins are those of ``k8s.io/apimachinery/pkg/api/validate``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from dragoman_allocator import names
from dragoman_allocator.validation.errors import Errors, complaints, invalid, not_supported, too_long
from dragoman_allocator.validation.formats import CASELESS, LABEL_KEY, LONG, POOL, QUALIFIED, SHORT, UUID

_EXTENDED: Final = "format=k8s-extended-resource-name"
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Check = Callable[[str, str], Errors]


def short(value: str, path: str) -> Errors:
    """``k8s-short-name``."""
    return complaints(path, value, names.label(value, names.BYTES), SHORT)


def long(value: str, path: str) -> Errors:
    """``k8s-long-name``."""
    return complaints(path, value, names.subdomain(value, names.BYTES), LONG)


def caseless(value: str, path: str) -> Errors:
    """``k8s-long-name-caseless``."""
    return complaints(path, value, names.subdomain_of_any_case(value), CASELESS)


def label_key(value: str, path: str) -> Errors:
    """``k8s-label-key``."""
    return complaints(path, value, names.label_key(value), LABEL_KEY)


def uuid(value: str, path: str) -> Errors:
    """``k8s-uuid``."""
    good = _UUID.fullmatch(value)
    return [] if good else [invalid(path, value, "must be a lowercase UUID in 8-4-4-4-12 format", UUID)]


def pool(value: str, path: str) -> Errors:
    """``k8s-resource-pool-name``."""
    errors = [too_long(path, names.POOL_LENGTH, POOL)] if names.size(value) > names.POOL_LENGTH else []
    for index, part in enumerate(value.split("/")):
        if part:
            texts = [f"segment {index}: {text}" for text in names.subdomain(part, names.BYTES)]
            errors += complaints(path, part, texts, POOL)
        else:
            errors.append(invalid(path, value, f"segment {index}: must not be empty", POOL))
    return errors


def extended_resource(value: str, path: str) -> Errors:
    """``k8s-extended-resource-name``."""
    texts: list[str] = []
    if "/" not in value:
        texts.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in value:
        texts.append('must not have "kubernetes.io/" domain')
    if value.startswith("requests."):
        texts.append('must not have "requests." prefix')
    return complaints(path, value, [*texts, *names.label_key(f"requests.{value}")], _EXTENDED)


def qualified(value: str, path: str) -> Errors:
    """``k8s-resource-fully-qualified-name``; with two or more slashes nothing is checked."""
    errors = [] if value.count("/") > 1 else _parts(value, path)
    if "/" not in value:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, value, text))
    return [replace(one, origin=QUALIFIED) for one in errors]


def _parts(value: str, path: str) -> Errors:
    domain, slash, name = value.partition("/")
    if not slash:
        return _identifier(value, path)
    errors: Errors = []
    if not domain:
        errors.append(invalid(path, "", "prefix must not be empty"))
    elif names.size(domain) > names.DRIVER_LENGTH:
        errors.append(too_long(path, names.DRIVER_LENGTH))
    if domain:
        errors += complaints(path, domain, [f"prefix: {text}" for text in names.subdomain(domain, names.BYTES)])
    return errors + (_identifier(name, path) if name else [invalid(path, "", "name must not be empty")])


def _identifier(value: str, path: str) -> Errors:
    errors = [too_long(path, names.IDENTIFIER_LENGTH)] if names.size(value) > names.IDENTIFIER_LENGTH else []
    return errors + complaints(path, value, names.identifier(value))


def at_most(limit: int) -> Check:
    """Limit the characters of a text."""

    def check(value: str, path: str) -> Errors:
        return [too_long(path, limit, "maxLength", "characters")] if len(value) > limit else []

    return check


def bytes_at_most(limit: int) -> Check:
    """Limit the bytes of a text."""

    def check(value: str, path: str) -> Errors:
        return [too_long(path, limit, "maxBytes")] if names.size(value) > limit else []

    return check


def one_of(values: tuple[str, ...]) -> Check:
    """Allow only these texts."""

    def check(value: str, path: str) -> Errors:
        return [] if value in values else [not_supported(path, value, values)]

    return check


def at_least(limit: int) -> Callable[[int, str], Errors]:
    """Refuse smaller numbers."""

    def check(value: int, path: str) -> Errors:
        text = f"must be greater than or equal to {limit}"
        return [invalid(path, value, text, "minimum")] if value < limit else []

    return check


def number_at_most(limit: int) -> Callable[[int, str], Errors]:
    """Refuse larger numbers."""

    def check(value: int, path: str) -> Errors:
        text = f"must be less than or equal to {limit}"
        return [invalid(path, value, text, "maximum")] if value > limit else []

    return check
