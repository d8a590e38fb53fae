"""The settings files: the main one, and ``conf.d`` beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.settings.errors import SettingsError
from dragoman.settings.yaml import YamlError, parse
from dragoman_hookspecs import JsonObject

DEFAULT_FILE = Path("/etc/dragoman/settings.yaml")
KIND = "NodeConfig"


def documents(path: Path, *, required: bool = True) -> list[Any]:
    """Read all documents of a YAML file that are not empty; none of one that is absent and not ``required``.

    Raises ``SettingsError`` that names file and line.
    """
    try:
        return [document for document in parse(path.read_bytes()) if document is not None]
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not required:
            return []
        raise SettingsError.of_layer(str(path), f"cannot be read: {error.strerror}") from None
    except YamlError as error:
        raise SettingsError.of_layer(str(path), str(error)) from None


def settings(path: Path, *, required: bool = True) -> JsonObject:
    """Read a settings file: the ``spec`` of a NodeConfig, or the whole object. An empty file sets nothing.

    Raises ``SettingsError`` that names file and line.
    """
    found = documents(path, required=required)
    check_single(found, str(path))
    return spec(found[0], str(path)) if found else {}


def check_single(found: Sequence[Any], layer: str) -> None:
    """Raise ``SettingsError`` where a settings file holds several documents."""
    if len(found) > 1:
        raise SettingsError.of_layer(layer, f"must hold one document, holds {len(found)}")


def spec(document: Any, layer: str) -> JsonObject:
    """Give the settings of a document: itself, or the ``spec`` of a whole NodeConfig. Raises ``SettingsError``."""
    if isinstance(document, Mapping) and "kind" in document:
        if document["kind"] != KIND:
            raise SettingsError.of_layer(layer, f"must be {KIND}, is {document['kind']!r}", "kind")
        document = document.get("spec", {})
        document = {} if document is None else document
    if not isinstance(document, Mapping):
        raise SettingsError.of_layer(layer, f"must hold an object with settings, holds {_TYPES[type(document)]}")
    return dict(document)


def drop_ins(main: Path) -> tuple[list[Path], list[str]]:
    """List ``conf.d/*.yaml`` beside the main file in name order, and warnings about files that are not read.

    Hidden files are passed over: a mounted ConfigMap keeps its data in ``..data``. Raises ``SettingsError``.
    """
    folder = main.parent / "conf.d"
    try:
        visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        visible = []
    except OSError as error:
        raise SettingsError.of_layer(str(folder), f"cannot be read: {error.strerror}") from None
    read = [path for path in visible if path.suffix == ".yaml"]
    return read, [f"{path} is not read: its name does not end in .yaml" for path in visible if path not in read]


_TYPES = {str: "text", int: "a number", float: "a number", bool: "true or false", list: "a list"}
