"""Objects of resource.k8s.io from JSON of v1, v1beta2 or v1beta1 (v1alpha3: pool status requests), and back to JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from dragoman_allocator import conversion
from dragoman_allocator import defaults as api_defaults
from dragoman_allocator.errors import InvalidMember
from dragoman_allocator.nulls import without_nulls
from dragoman_allocator.objects import PoolStatusRequest, Struct
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.quantity import BareNumber, Quantity

T = TypeVar("T", bound=Struct)
A = TypeVar("A")

Json: TypeAlias = bytes | bytearray | memoryview | str
"""JSON text."""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    items: msgspec.Raw = msgspec.Raw(b"null")


def decode(kind: type[T], json: Json | Mapping[str, Any], *, defaults: bool = True) -> T:
    """Read one object as the struct ``kind``, by its ``apiVersion`` (v1 where it has none).

    Unknown members are ignored, null is the zero value, as it is to Kubernetes. ``defaults`` fills in what the API
    server would. Raises ``InvalidMember``, an ``InvalidInput``, for what is no JSON, has a member of a wrong type, or
    is of another kind or an unknown version.
    """
    decoded = _from_mapping(kind, json) if isinstance(json, Mapping) else _from_text(kind, json)
    if defaults:
        api_defaults.fill(kind, (decoded,))
    return decoded


def decode_list(kind: type[T], json: Json | list[Any] | None, *, defaults: bool = True) -> list[T]:
    """Read a list of objects: a JSON array, a ``List`` object of the API, or plain values; None is an empty list.

    An array of v1 objects goes straight into structs and is not asked for their ``kind``. Raises ``InvalidMember`` as
    ``decode`` does.
    """
    if json is None:
        return []
    decoded = _items(kind, json, None) if isinstance(json, list) else _list_from_text(kind, json)
    if defaults:
        api_defaults.fill(kind, decoded)
    return decoded


def to_json(struct: Struct) -> JsonObject:
    """Give plain JSON values; a number that had been written bare where a quantity stands is a ``BareNumber``."""
    plain: JsonObject = _ANY.decode(encode(struct))
    return plain


def encode(value: Any) -> bytes:
    """Give compact JSON of a struct, or of plain values that hold structs."""
    return _ENCODER.encode(value)


def reading(read: Callable[[Any], A], json: Any) -> A:
    """Call a decoder of msgspec. Raises ``InvalidMember``."""
    try:
        return read(json)
    except RecursionError:
        raise InvalidMember("nested too deeply") from None
    except msgspec.ValidationError as error:
        raise _placed(str(error)) from None
    except (msgspec.MsgspecError, ValueError) as error:  # ValueError: an integer of thousands of digits
        raise InvalidMember(f"no JSON that can be read: {error}") from None


def read(kind: type[A], json: Json | msgspec.Raw) -> A:
    """Read JSON as a type, of one version of the API: bare numbers and null as ``decode`` has them, no defaults.

    Raises ``InvalidMember``.
    """
    hashable: Any = kind
    decoder: msgspec.json.Decoder[A] = _decoder(hashable)
    try:
        return decoder.decode(json)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        pass  # as in _from_text
    return reading(lambda json: decoder.decode(encode(without_nulls(kind, _ANY.decode(json)))), json)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, float_hook=BareNumber.of)


def _encoded(value: Any) -> msgspec.Raw | str:
    if isinstance(value, BareNumber):
        return msgspec.Raw(value.text.encode())
    if isinstance(value, Quantity):
        return value.text
    raise TypeError(f"{type(value).__name__} has no JSON form")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encoded)
_ANY: Final = msgspec.json.Decoder(float_hook=BareNumber.of)
_HEAD: Final = msgspec.json.Decoder(_Head)
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw] | None)
_MESSAGE: Final = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?", re.DOTALL)
_KIND_NAMES: Final[Mapping[type[Struct], str]] = {PoolStatusRequest: "ResourcePoolStatusRequest"}


def _placed(message: str) -> InvalidMember:
    what, place = _MESSAGE.fullmatch(message).groups(default="")  # type: ignore[union-attr]  # it matches any text
    what = what.replace("`", "").replace(BareNumber.__name__, "float")
    return InvalidMember(what[:1].lower() + what[1:], place)


def _from_text(kind: type[T], json: Json | msgspec.Raw, version: str | None = None) -> T:
    """Read one object; ``version`` is that of the list it stands in."""
    head = reading(_HEAD.decode, json)
    version = head.api_version or version
    _check(kind, version, head.kind)
    if version != conversion.OLD_SHAPE:
        try:
            straight: T = _decoder(kind).decode(json)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            pass  # null may stand anywhere, which only the slower way allows for; it also says what is wrong
        else:
            return straight
    return _from_mapping(kind, reading(_ANY.decode, json), version)


def _from_mapping(kind: type[T], json: Mapping[str, Any], version: str | None = None) -> T:
    if not isinstance(json, Mapping):
        raise InvalidMember(f"expected an object, not {type(json).__name__}")
    version = json.get("apiVersion") or version
    _check(kind, version, json.get("kind"))
    if version == conversion.OLD_SHAPE:
        json = conversion.to_v1(kind, json)
    decoded: T = reading(lambda plain: msgspec.convert(without_nulls(kind, plain), kind), json)
    return decoded


def _list_from_text(kind: type[T], json: Json) -> list[T]:
    version, items = None, json
    if _first(json) == "{":
        head = reading(_HEAD.decode, json)
        version, items = head.api_version, head.items
        if not (head.kind or "List").endswith("List"):
            raise InvalidMember(f"expected a list, not a {head.kind}")
    if not _mentions_old_shape(json):
        try:
            straight: list[T] | None = _decoder(list[kind] | None).decode(items)  # type: ignore[valid-type]  # run time
        except (msgspec.MsgspecError, RecursionError, ValueError):
            pass  # as in _from_text
        else:
            return straight or []
    raws = reading(_RAWS.decode, items)
    return _items(kind, raws or [], version)


def _items(kind: type[T], items: list[Any], version: str | None) -> list[T]:
    return [_item(kind, item, index, version) for index, item in enumerate(items)]


def _item(kind: type[T], item: Any, index: int, version: str | None) -> T:
    read = _from_text if isinstance(item, msgspec.Raw) else _from_mapping
    try:
        return read(kind, item, version)
    except InvalidMember as error:
        raise error.below(f"[{index}]") from None


def _first(json: Json) -> str:
    head = json[:100] if isinstance(json, str) else bytes(json[:100]).decode("ascii", "replace")
    return head.lstrip()[:1]


def _mentions_old_shape(json: Json) -> bool:
    return "v1beta1" in json if isinstance(json, str) else re.search(b"v1beta1", json) is not None


def _check(kind: type[Struct], version: Any, name: Any) -> None:
    for value, at in ((version, "apiVersion"), (name, "kind")):
        if not isinstance(value, str | None):
            raise InvalidMember(f"expected str, got {type(value).__name__}", at)
    expected = _KIND_NAMES.get(kind, kind.__name__)
    if name and name != expected:
        raise InvalidMember(f"expected {expected}, not {name}", "kind")
    if version and version.startswith(f"{conversion.GROUP}/") and version not in conversion.VERSIONS:
        raise InvalidMember(f"{version} is not known, only {', '.join(sorted(conversion.VERSIONS))}", "apiVersion")
