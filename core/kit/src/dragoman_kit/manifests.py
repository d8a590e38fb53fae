"""Objects of the Kubernetes API from files: YAML or JSON, single objects, lists, several documents, folders of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from dragoman_hookspecs import Cluster, DragomanError, JsonObject

SUFFIXES: Final = (".yaml", ".yml", ".json")
LARGEST: Final = 5_000_000
"""Values of one document with its aliases written out: what is larger was made to exhaust memory."""

_KINDS: Final = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "a truth value",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


class Unreadable(DragomanError):
    """A manifest cannot be read."""


class NoCluster(DragomanError):
    """No cluster can be reached."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and where it stands, for errors: ``file.yaml, document 2``."""

    source: str
    body: JsonObject


def read(given: Iterable[Path]) -> Iterator[Manifest]:
    """Read files, and folders with what is below them; lists give their items. Raises ``Unreadable``."""
    for path in _files(given):
        try:
            text = path.read_bytes()
        except OSError as error:
            raise Unreadable(f"{path} cannot be read: {error.strerror or error}") from error
        yield from parse(text, str(path))


def parse(text: bytes, source: str) -> Iterator[Manifest]:
    """Read the text of one file; ``source`` names it in errors. Raises ``Unreadable``."""
    number = 0
    try:
        documents = [_json(text)] if source.endswith(".json") else yaml.load_all(text, _Loader)
        for number, document in enumerate(documents, start=1):
            yield from _single(f"{source}, document {number}", document)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise Unreadable(f"{source}, document {number + 1} cannot be read: {what}") from error


@contextmanager
def or_files(connect: Callable[[], AbstractContextManager[Cluster]]) -> Iterator[Cluster]:
    """Connect, for a command that takes manifests with ``-f`` as well. Raises ``NoCluster``, which says so."""
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(connect())
        except DragomanError as error:
            raise NoCluster(f"{error}; or give a cluster's manifests with -f") from error
        yield cluster


def none_of(given: Iterable[Path], kinds: Sequence[str], seen: Collection[str]) -> Unreadable:
    """Give the error for files that hold no object of these kinds; ``seen``: the kinds of all that they hold.

    Without it a mistyped path would look like a cluster where all is well.
    """
    others = f", only {_listed(sorted(set(seen)), 'and')}" if seen else ", nor any other object"
    return Unreadable(
        f"{', '.join(map(str, given))}: read, but no {_listed(kinds, 'or')} is in it{others}: "
        "give manifests of a cluster, as kubectl get -o yaml writes them"
    )


def _listed(names: Sequence[str], word: str) -> str:
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def _files(given: Iterable[Path]) -> Iterator[Path]:
    for path in given:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
        else:
            yield path


def _single(source: str, document: Any) -> Iterator[Manifest]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise Unreadable(f"{source} is {_kind(document)} where an object of the API is expected")
    kind, items = document.get("kind"), document.get("items")
    if not (isinstance(kind, str) and kind.endswith("List")):
        yield Manifest(source, document)
        return
    if not isinstance(items, list | None):
        raise Unreadable(f"{source}: items is {_kind(items)} where a list is expected")
    # Items of a typed list carry no kind of their own.
    of = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for number, item in enumerate(items or ()):
        yield from _single(f"{source}, item {number}", {**of, **item} if isinstance(item, dict) else item)


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def _json(text: bytes) -> Any:
    value = json.loads(text, parse_constant=_refuse, object_pairs_hook=_object)
    if b"\\u" in text:
        _check_texts(value)
    return value


def _object(members: list[tuple[str, Any]]) -> JsonObject:
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        raise ValueError(f"key {next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _check_texts(value: Any) -> None:
    """Raise ``ValueError`` for half of a surrogate pair: JSON may escape it, and no text in UTF-8 can hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise ValueError(f"{half} is half of a character") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # the base is found at run time
    """Reads what has a JSON form, as Kubernetes does: dates stay texts, keys become texts, aliases have a bound."""

    yaml_implicit_resolvers: Final[dict[str, Any]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":int", ":float"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_document(self, node: yaml.Node) -> Any:
        if _size(node, {}, set()) > LARGEST:
            raise ValueError(f"it holds more than {LARGEST} values once aliases are written out")
        return super().construct_document(node)


def _size(node: yaml.Node, known: dict[int, int], above: set[int]) -> int:
    """Count values with aliases written out. Raises ``ValueError`` for a value that holds itself."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) in above:
        raise ValueError("a value holds itself")
    if id(node) not in known:
        above.add(id(node))
        parts = (part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,)))
        known[id(node)] = 1 + sum(_size(part, known, above) for part in parts)
        above.discard(id(node))
    return known[id(node)]


def _map(loader: Any, node: yaml.MappingNode) -> JsonObject:
    _check_keys(node)
    loader.flatten_mapping(node)
    return {
        _key(loader.construct_object(key, deep=True)): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


def _check_keys(node: yaml.MappingNode) -> None:
    """Raise ``ValueError`` for a key that stands twice, as kubectl does; a merged one may be written over."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.value != "<<":
            here = key.start_mark.line + 1
            if key.value in lines:
                raise ValueError(f"key {key.value!r} at line {here} stands at line {lines[key.value]} already")
            lines[key.value] = here


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    if isinstance(key, str | int | float):
        return str(key)
    raise ValueError(f"a key is {_kind(key)} where a text is expected")


def _float(loader: Any, node: yaml.ScalarNode) -> float:
    number = float(loader.construct_scalar(node))
    return number if math.isfinite(number) else _refuse(str(number))


def _int(loader: Any, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node), 0)


def _foreign(_loader: Any, node: yaml.Node) -> Any:
    raise ValueError(f"{node.tag} at line {node.start_mark.line + 1} has no JSON form")


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+)\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?\Z"),
    list("-+.0123456789"),
)
_Loader.add_constructor("tag:yaml.org,2002:map", _map)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)
for _tag in ("timestamp", "binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _foreign)
