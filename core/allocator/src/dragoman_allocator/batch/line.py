"""One line of the batch interface; its members are decoded when asked for, so that large lists go straight into structs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.quantity import BareNumber

T = TypeVar("T")

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANY: Final = msgspec.json.Decoder(float_hook=BareNumber.of)


class Line(Mapping[str, Any]):
    """The members of a line: ``line[name]`` and ``line.get(name)`` decode to plain values, ``raw`` gives the JSON.

    Every access raises ``InvalidInput``, naming the member, for what is no JSON or of another type than asked for.
    """

    def __init__(self, text: bytes) -> None:
        """Read the names of the members only."""
        try:
            self._members = _MEMBERS.decode(text)
        except RecursionError:
            raise InvalidInput("the line is nested too deeply") from None
        except msgspec.ValidationError:
            raise InvalidInput("a line must hold one JSON object") from None
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"the line is no JSON object: {error}") from None

    def __getitem__(self, name: str) -> Any:
        return _decoded(_ANY, self._members[name], name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def raw(self, name: str) -> memoryview | None:
        """Give the JSON of a member, which is not copied, or None where it is missing or null."""
        member = self._members.get(name)
        return None if member is None or (json := memoryview(member)) == b"null" else json

    def typed(self, name: str, kind: type[T], default: T) -> T:
        """Give a member as the type, the default where it is missing or null."""
        member = self.raw(name)
        if member is None:
            return default
        return _decoded(msgspec.json.Decoder(kind, float_hook=BareNumber.of), member, name)

    def text(self, name: str, default: str = "") -> str:
        """Give a member that is a text."""
        return self.typed(name, str, default)


def _decoded(decoder: msgspec.json.Decoder[T], member: memoryview | msgspec.Raw, name: str) -> T:
    try:
        return decoder.decode(member)
    except RecursionError:
        raise InvalidInput(f"{name} is nested too deeply") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidInput(f"{name}: {error}") from None
