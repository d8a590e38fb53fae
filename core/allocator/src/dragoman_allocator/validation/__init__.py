"""What the API server would say of an object of resource.k8s.io: decoding, defaults, gates, and all rules of 1.37.

``check`` gives everything, ``validate`` the errors about fields only. Fields, types, texts and bad values are those of
Kubernetes 1.37.2, so that a tool can read either's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import msgspec

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.compiling import CelCompiler
from dragoman_allocator.validation.declarations import table
from dragoman_allocator.validation.declared import Walk
from dragoman_allocator.validation.errors import FieldError
from dragoman_allocator.validation.merging import merged
from dragoman_allocator.validation.normal import internal
from dragoman_allocator.validation.reading import TOO_DEEP, DecodeError, Reading, read
from dragoman_allocator.validation.strategies import Setting, strategy

__all__ = ["DecodeError", "FieldError", "Report", "check", "validate"]

Object = JsonObject | bytes | memoryview
"""An object of the API as a dict or as JSON; limits on its size hold for the text, so give that if you have it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with an object: errors about fields, in order, and paths of fields that strict decoding refuses.

    Those are fields that the API does not know, and fields or keys that stand twice in the text.
    """

    errors: list[FieldError] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


def check(
    obj: Object,
    old: Object | None = None,
    subresource: str | None = None,
    features: Features | None = None,
    *,
    admin: bool = False,
) -> Report:
    """Check an object as the API server would on create, or with ``old`` on update.

    ``subresource`` is None or ``"status"``. ``admin`` tells whether the namespace has the label
    ``resource.kubernetes.io/admin-access: "true"``. Raises ``DecodeError`` for an object that is not of the API's types
    and ``InvalidInput`` for a subresource that the kind does not have.
    """
    gates = features or Features()
    reading = read(_text(obj))
    new = internal(reading)
    stored = None if old is None else internal(_read_old(old))
    setting = Setting(gates, CelCompiler(gates), admin)
    by_hand = strategy(reading.kind, subresource).check(new, stored, setting)
    walk = Walk(table(reading.version), gates, stored is not None)
    errors = merged(by_hand, walk.struct(reading.kind, "", new, stored))
    return Report(errors, reading.unknown, reading.repeated)


def validate(
    obj: Object, old: Object | None = None, subresource: str | None = None, features: Features | None = None
) -> list[FieldError]:
    """Give the errors of ``check``. Raises as ``check`` does."""
    return check(obj, old, subresource, features).errors


def _text(obj: Object) -> bytes | memoryview:
    if not isinstance(obj, dict):
        return obj
    try:
        return msgspec.json.encode(obj)
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can hold
        return json.dumps(obj).encode()
    except RecursionError:
        raise DecodeError(TOO_DEEP) from None


def _read_old(old: Object) -> Reading:
    try:
        return read(_text(old))
    except DecodeError as error:
        raise DecodeError(f"old: {error}") from None
