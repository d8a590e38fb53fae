"""From layers to one checked, frozen ``Settings``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dragoman import schema
from dragoman.schema.types import at, dotted
from dragoman.settings import files
from dragoman.settings.environment import Environment, SectionSchemas
from dragoman.settings.errors import LayeredFault, SettingsError
from dragoman.settings.layers import Layer, merge, origin, origins, walk, without_nulls
from dragoman.settings.model import Settings
from dragoman_hookspecs import InvalidConfig, JsonObject, json_key

DEFAULTS = "defaults"
"""Name of the layer of built-in defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Checked settings and where they came from.

    ``origins``: the layer of each path that was set, such as ``nri.index``; what is not in it has its default.
    ``raw``: what was set, in the form of a NodeConfig's ``spec``. ``warnings``: sentences for a person.
    """

    settings: Settings
    origins: Mapping[str, str]
    raw: JsonObject
    warnings: tuple[str, ...] = ()

    def origin(self, path: str) -> str:
        """Name the layer to blame for a fault at a path: that of the path, or of the nearest object around it."""
        return origin(self.origins, path, DEFAULTS)

    def effective(self) -> JsonObject:
        """Give all values, defaults included, in the form of a NodeConfig's ``spec``."""
        return _complete(self.settings)


def load(
    main: Path = files.DEFAULT_FILE,
    *,
    environ: Mapping[str, str],
    required: bool = False,
    node_config: Mapping[str, Any] | None = None,
    sections: Callable[[], SectionSchemas] = dict,
) -> Loaded:
    """Load, merge and check all layers; later ones win key by key.

    ``main``: the main file, with ``conf.d/*.yaml`` beside it; it may be absent unless ``required``.
    ``node_config``: the node's NodeConfig object, or its spec.
    ``sections``: gives the schemas of the plugins' sections; called where the environment sets one.
    To reload, call it again: what it gave before is not touched. Raises ``SettingsError`` with every fault.
    """
    drop_ins, warnings = files.drop_ins(main)
    sources: list[tuple[str, Callable[[], JsonObject]]] = [
        (str(main), partial(files.settings, main, required=required)),
        *((str(path), partial(files.settings, path)) for path in drop_ins),
    ]
    if node_config is not None:
        name = _name(node_config)
        sources.append((name, partial(files.spec, node_config, name)))
    layers, faults = _read(sources)
    environment = Environment(sections, merge(layers))
    environment.read(environ)
    if faults := [*faults, *environment.faults]:
        raise SettingsError(faults)
    return check([*layers, *environment.layers], (*warnings, *environment.warnings))


def check(layers: list[Layer], warnings: tuple[str, ...] = ()) -> Loaded:
    """Merge layers and check the result. Raises ``SettingsError`` with every fault, its path and its layer."""
    known = origins(layers)
    raw = without_nulls(merge(layers), lambda path: at(Settings, path))
    try:
        settings = schema.decode(Settings, raw)
    except InvalidConfig as error:
        raise SettingsError(
            LayeredFault(fault.path, fault.message, origin(known, fault.path, DEFAULTS)) for fault in error.faults
        ) from None
    origins_of_set = {dotted(path): known[dotted(path)] for path, _ in walk(raw)}
    return Loaded(settings=settings, origins=origins_of_set, raw=raw, warnings=warnings)


def check_file(path: Path) -> Loaded:
    """Check one settings file on its own. Raises ``SettingsError``."""
    return check([Layer(str(path), files.settings(path))])


def _read(sources: Iterable[tuple[str, Callable[[], JsonObject]]]) -> tuple[list[Layer], list[LayeredFault]]:
    layers: list[Layer] = []
    faults: list[LayeredFault] = []
    for name, read in sources:
        try:
            layers.append(Layer(name, read()))
        except SettingsError as error:
            faults += error.faults
    return layers, faults


def _name(node_config: Mapping[str, Any]) -> str:
    metadata = node_config.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{files.KIND} {name}" if name else files.KIND


def _complete(instance: Any) -> JsonObject:
    """Encode with the defaults, which ``schema.encode`` leaves out, down to lists and mappings."""
    short = schema.encode(instance)
    values = {json_key(field.name): getattr(instance, field.name) for field in dataclasses.fields(instance)}
    return {
        key: _complete(value) if dataclasses.is_dataclass(value) else short.get(key, _plain(value))
        for key, value in values.items()
    }


def _plain(default: Any) -> Any:
    match default:
        case Path():
            return str(default)
        case tuple():
            return list(default)
    return default
