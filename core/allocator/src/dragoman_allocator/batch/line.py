"""One line of the batch interface; members are decoded when asked for, so that large lists go straight into structs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dragoman_allocator.decode import decode, decode_list, read
from dragoman_allocator.errors import InvalidInput, InvalidMember
from dragoman_allocator.objects import Struct
from dragoman_allocator.texts import well_formed

S = TypeVar("S", bound=Struct)
T = TypeVar("T")

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Line(Mapping[str, Any]):
    """The members of a line: ``line[name]`` and ``line.get(name)`` decode to plain values, ``raw`` gives the JSON.

    Every access raises ``InvalidInput``, naming the member, for what is no JSON or of another type than asked for.
    """

    def __init__(self, text: bytes) -> None:
        """Read the names of the members only."""
        try:
            self._members = _members(text)
        except RecursionError:
            raise InvalidInput("the line is nested too deeply") from None
        except msgspec.ValidationError:
            raise InvalidInput("a line must hold one JSON object") from None
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"the line is no JSON object: {error}") from None

    def __getitem__(self, name: str) -> Any:
        plain: Any = Any
        return _named(name, lambda: read(plain, self._members[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def raw(self, name: str) -> memoryview | None:
        """Give the JSON of a member, which is not copied, or None where it is missing or null."""
        member = self._members.get(name)
        return None if member is None or bytes(memoryview(member)[:5]) == b"null" else memoryview(member)

    def typed(self, name: str, kind: type[T], default: T) -> T:
        """Give a member as the type, the default where it is missing or null."""
        member = self.raw(name)
        return default if member is None else _named(name, lambda: read(kind, member))

    def text(self, name: str, default: str = "") -> str:
        """Give a member that is a text."""
        return self.typed(name, str, default)

    def object(self, name: str, kind: type[S]) -> S | None:
        """Give a member that is an object of the API, with the API server's defaults; None where it is missing."""
        member = self.raw(name)
        return None if member is None else _named(name, lambda: decode(kind, member))

    def objects(self, name: str, kind: type[S]) -> list[S]:
        """Give a member that is a list of objects of the API, with the API server's defaults."""
        return _named(name, lambda: decode_list(kind, self.raw(name)))


def _members(text: bytes) -> dict[str, msgspec.Raw]:
    try:
        return _MEMBERS.decode(text)
    except msgspec.DecodeError:
        pass  # half a surrogate pair, as Kubernetes takes one, spoils the whole line
    return _MEMBERS.decode(well_formed(text))


def _named(name: str, reading: Callable[[], T]) -> T:
    try:
        return reading()
    except InvalidMember as error:
        raise error.below(name) from None
