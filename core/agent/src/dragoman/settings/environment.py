"""Settings from the environment: ``DRAGOMAN_DRIVER_NAME``, ``DRAGOMAN_NRI__INDEX``.

``__`` separates levels. Names are matched to keys without regard to case and underscores, and values are read as the
type of the key asks: text stays as it is, numbers and booleans as JSON, lists and objects as JSON. An empty variable
sets nothing. Below ``deviceManagerConfigs`` and ``pluginConfigs`` the plugin's schema decides where it is known; where
it is not, a value is JSON if it can be read as such and text otherwise, and a name in capitals becomes camelCase.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dragoman import schema
from dragoman.schema.types import known_keys, unknown_key
from dragoman.settings.errors import LayeredFault
from dragoman.settings.layers import Layer, Path
from dragoman.settings.model import Settings
from dragoman.settings.service_links import is_service_link
from dragoman_hookspecs import InvalidConfig, JsonObject, json_key
from dragoman_hookspecs.descriptors import Schema

PREFIX = "DRAGOMAN_"
CONFIG = "DRAGOMAN_CONFIG"
"""Names the main settings file for the command line; not a setting."""

SECTIONS = ("deviceManagerConfigs", "pluginConfigs")
SectionSchemas = Mapping[str, Mapping[str, Schema]]
"""For each of ``SECTIONS`` the schemas of the plugins that are installed, by settings key."""


class Environment:
    """Reads the variables, each as a layer of its own; ``below`` is what the layers under it say."""

    def __init__(self, sections: Callable[[], SectionSchemas], below: JsonObject) -> None:
        self._sections = functools.cache(sections)
        self._below = below
        self.layers: list[Layer] = []
        self.faults: list[LayeredFault] = []
        self.warnings: list[str] = []

    def read(self, environ: Mapping[str, str]) -> None:
        """Read all variables with our prefix. Raises nothing: see ``faults`` and ``warnings``."""
        seen: dict[Path, str] = {}
        for name in sorted(environ):
            if name == CONFIG or not name.startswith(PREFIX) or not environ[name]:
                continue
            try:
                path, value = self._setting(name, environ[name])
            except InvalidConfig as error:
                self._refuse(name, environ[name], error)
                continue
            if (first := seen.setdefault(path, name)) != name:
                self._refuse(name, "", InvalidConfig.at("", f"names the same key as {first}"))
            self.layers.append(Layer(_layer(name), _nested(path, value)))

    def _refuse(self, name: str, value: str, error: InvalidConfig) -> None:
        if is_service_link(name, value):
            self.warnings.append(f"{_layer(name)} is ignored: Kubernetes sets it for a Service; see enableServiceLinks")
        else:
            self.faults += [LayeredFault(fault.path, fault.message, _layer(name)) for fault in error.faults]

    def _setting(self, name: str, text: str) -> tuple[Path, Any]:
        words = name.removeprefix(PREFIX).split("__")
        first = _match(words[0], known_keys(Settings, ()))
        if first in SECTIONS and len(words) > 1:
            return self._section(first, words[1:], text)
        path = _keys(Settings, (), words)
        return path, schema.cast(Settings, path, text)

    def _section(self, root: str, words: Sequence[str], text: str) -> tuple[Path, Any]:
        schemas = self._sections().get(root, {})
        below = self._below.get(root)
        key = _match(words[0], [*schemas, *(below if isinstance(below, Mapping) else ())], camel=True)
        if key not in schemas:
            return (root, key, *(_camel(word) for word in words[1:])), _guess(text)
        path = _keys(schemas[key], (), words[1:], camel=True)
        try:
            value = schema.cast(schemas[key], path, text)
        except InvalidConfig:
            value = _guess(text)  # the plugin's section is checked, and refused, with the plugin
        return (root, key, *path), value


def _keys(cls: Schema, path: Path, words: Sequence[str], *, camel: bool = False) -> Path:
    for word in words:
        path = (*path, _match(word, known_keys(cls, path), camel=camel))
    return path


def _match(word: str, keys: Iterable[str], *, camel: bool = False) -> str:
    found = list(dict.fromkeys(key for key in keys if _fold(key) == _fold(word)))
    if len(found) > 1:
        raise InvalidConfig.at("", f"{word} can mean {' or '.join(found)}")
    if found:
        return found[0]
    if camel and word:
        return _camel(word)
    raise InvalidConfig.at("", f"{word} {unknown_key(word, keys)}")


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _camel(word: str) -> str:
    return json_key(word.strip("_").lower()) if word == word.upper() else word


def _guess(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _nested(path: Path, value: Any) -> JsonObject:
    nested: Any = value
    for key in reversed(path):
        nested = {key: nested}
    return dict(nested)


def _layer(name: str) -> str:
    return f"environment {name}"
