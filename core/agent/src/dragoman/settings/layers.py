"""Layers of settings: merged key by key, later wins, lists replaced, null takes a key back to its default.

dynaconf merges, and nothing more is asked of it. Its file and environment loaders cannot be made safe for us: they run
tokens in values (``@format``, ``@read_file``), run Python beside a settings file, change the case of keys, concatenate
lists and parse text as TOML. So all its loaders are off, and what it is given are sealed values under sealed keys: it
finds no text in them that it could interpret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dynaconf import Dynaconf

from dragoman.schema.types import dotted
from dragoman_hookspecs import JsonObject

Path = tuple[str, ...]
"""Keys from the top to a value."""

_ROOT = "SPEC"


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings. ``name`` is what a person is told: a path, or ``environment DRAGOMAN_X``."""

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Sealed:
    """A value that is replaced as a whole."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Key:
    """A key that is compared exactly. dynaconf would find text in any case, and knows magic words."""

    name: str


def merge(layers: Sequence[Layer]) -> JsonObject:
    """Merge the layers. A null stays, as a mark that a lower layer's value is not wanted: see ``without_nulls``."""
    store = Dynaconf(dynaconf_skip_loaders=True, load_dotenv=False)
    for layer in layers:
        store.set(_ROOT, _seal(layer.data), loader_identifier=layer.name, merge=True)
    merged = store.get(_ROOT)
    return {} if merged is None else _open(merged)


def without_nulls(data: Mapping[str, Any], known: Callable[[Path], object], base: Path = ()) -> JsonObject:
    """Leave out keys that are null, so that their default applies; those that are not known stay, to be refused."""
    return {
        key: without_nulls(value, known, (*base, key)) if isinstance(value, Mapping) else value
        for key, value in data.items()
        if value is not None or not known((*base, key))
    }


def origins(layers: Sequence[Layer]) -> dict[str, str]:
    """Give for each path the name of the last layer that mentions it. A list has one origin, that of the whole."""
    return {dotted(path): layer.name for layer in layers for path, _ in walk(layer.data)}


def origin(known: Mapping[str, str], path: str, default: str) -> str:
    """Give the layer of a path, or of the nearest object around it that a layer mentions."""
    while path:
        if path in known:
            return known[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return default


def walk(data: Mapping[str, Any], base: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Give path and value of every key, objects before what is in them."""
    for key, value in data.items():
        path = (*base, key)
        yield path, value
        if isinstance(value, Mapping):
            yield from walk(value, path)


def _seal(value: Any) -> Any:
    return {_Key(key): _seal(item) for key, item in value.items()} if isinstance(value, Mapping) else _Sealed(value)


def _open(value: Any) -> Any:
    return {key.name: _open(value[key]) for key in value} if isinstance(value, Mapping) else value.value
