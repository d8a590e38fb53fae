"""``dragoman config``: what is set and where it comes from, and checks of files without a node or a cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dragoman.cli import descriptors, manifests
from dragoman.cli.main import Options
from dragoman.cli.output import output_option, printable, show
from dragoman.plugins.sections import Sections
from dragoman.schema.types import dotted
from dragoman.settings import LayeredFault, Loaded, Settings, SettingsError
from dragoman.settings.environment import SECTIONS
from dragoman.settings.files import KIND, check_single, documents, spec
from dragoman.settings.layers import Layer, walk
from dragoman.settings.loading import DEFAULTS, check
from dragoman_hookspecs import Descriptor, Fault, InvalidConfig

_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z][a-z0-9]*", re.IGNORECASE | re.ASCII)
"""Keys that YAML reads as texts without quotes."""


@click.group()
def config() -> None:
    """Show and check settings and parameters."""


@config.command("show")
@output_option("yaml")
@click.pass_obj
def show_config(options: Options, output: str) -> None:
    """Show every setting and the layer that it comes from.

    As YAML, the output is a settings file with the layers as comments.
    """
    loaded = options.load()
    for warning in loaded.warnings:
        click.echo(f"Warning: {printable(warning)}", err=True)
    if output == "yaml":
        click.echo("\n".join(_yaml(loaded, loaded.effective())))
        return
    leaves = [(dotted(path), value) for path, value in walk(loaded.effective()) if not value or not _is_object(value)]
    rows = [(path, loaded.origins.get(path, DEFAULTS), value) for path, value in leaves]
    show(("path", "origin", "value"), rows, output)


@config.command("check")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--driver", metavar="NAME", help="Driver whose parameters are checked. [default: of the settings files]")
@click.pass_context
def check_config(ctx: click.Context, files: Sequence[Path], driver: str | None) -> None:
    """Check settings files, and the parameters in manifests of claims, claim templates and device classes.

    Each file is checked on its own, without a cluster; exit code 1 if there is any fault. Sections and parameters of
    plugins are checked as far as the plugins are installed here.
    """
    checker = _Checker(descriptors.installed())
    for path in files:
        checker.read(path)
    checker.check_manifests(driver)
    for line in checker.notes:
        click.echo(f"Note: {printable(line)}", err=True)
    for fault in checker.faults:
        click.echo(printable(str(fault)))
    count = len(checker.faults)
    click.echo(f"{checker.checked} checked, {count} {'fault' if count == 1 else 'faults'}", err=True)
    ctx.exit(1 if checker.faults else 0)


class _Checker:
    """Collects faults; manifests wait until all settings files are read, which may name the driver."""

    def __init__(self, installed: Sequence[Descriptor]) -> None:
        self.checked = 0
        self.faults: list[LayeredFault] = []
        self.notes: list[str] = []
        self._installed = installed
        self._drivers: set[str] = set()
        self._manifests: list[tuple[str, Mapping[str, Any]]] = []

    def read(self, path: Path) -> None:
        """Check a file's settings and note its manifests."""
        try:
            found = documents(path) or [{}]
        except SettingsError as error:
            self.faults += error.faults
            return
        if any(map(_is_bare, found)) or all(document["kind"] == KIND for document in found):
            self._single(str(path), found)
        for document in found:
            if _is_bare(document):
                self._settings(str(path), document)
                continue
            for each in manifests.objects(document):
                self._sort(str(path), each)

    def check_manifests(self, driver: str | None) -> None:
        """Check the parameters for the driver given, or for those that the settings files name."""
        kinds = descriptors.kinds(self._installed)
        names = sorted({driver} if driver else self._drivers or {Settings().driver_name})
        for path, manifest in self._manifests:
            layer = f"{path}: {manifests.title(manifest)}"
            found, faults = manifests.entries(manifest)
            for name in names:
                faults += manifests.check(found, name, kinds)
            self.faults += [LayeredFault(fault.path, fault.message, layer) for fault in faults]
            self.notes += [f"{layer}: {note}" for note in manifests.foreign(found, names)]

    def _sort(self, path: str, found: Mapping[str, Any] | Fault) -> None:
        if isinstance(found, Fault):
            self.faults.append(LayeredFault(found.path, found.message, path))
        elif found["kind"] == KIND:
            self._settings(path, found)
        elif str(found["kind"]) in manifests.KINDS:
            self.checked += 1
            self._manifests.append((path, found))
        else:
            self.notes.append(f"{path}: {manifests.title(found)} is not checked: it holds no parameters")

    def _single(self, path: str, found: Sequence[Any]) -> None:
        try:
            check_single(found, path)
        except SettingsError as error:
            self.faults += error.faults

    def _settings(self, path: str, document: Any) -> None:
        self.checked += 1
        try:
            layer = Layer(path, spec(document, path))
        except SettingsError as error:
            self.faults += error.faults
            return
        try:
            loaded = check([layer])
            self._drivers.add(loaded.settings.driver_name)
        except SettingsError as error:
            self.faults += error.faults
            loaded = _sections_alone(layer)
        self.faults += [LayeredFault(fault.path, fault.message, path) for fault in self._section_faults(loaded)]

    def _section_faults(self, loaded: Loaded) -> Iterator[Fault]:
        settings = loaded.settings
        sections = Sections(managers=settings.device_manager_configs, others=settings.plugin_configs)
        for descriptor in self._installed:
            try:
                sections.open(descriptor)
            except InvalidConfig as error:
                yield from error.faults
        known = descriptors.sections(self._installed)
        for path, key in sections.paths():
            if key not in known[path.partition(".")[0]]:
                self.notes.append(f"{path} is not checked: no plugin with this settings key is installed here")


def _is_bare(document: Any) -> bool:
    """Tell settings that stand alone from objects of Kubernetes, of which a file may hold many."""
    return not isinstance(document, Mapping) or document.get("kind") is None


def _sections_alone(layer: Layer) -> Loaded:
    """Give the plugins' sections of a file that has other faults; none where the sections have such faults too."""
    try:
        return check([Layer(layer.name, {key: layer.data[key] for key in SECTIONS if key in layer.data})])
    except SettingsError:
        return check([])


def _yaml(loaded: Loaded, data: Mapping[str, Any], base: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in data.items():
        path = (*base, key)
        lead = "  " * len(base) + (key if _PLAIN.fullmatch(key) else _quoted(key))
        if value and _is_object(value):
            yield f"{lead}:"
            yield from _yaml(loaded, value, path)
        else:
            origin = printable(loaded.origins.get(dotted(path), DEFAULTS))
            yield f"{lead}: {_quoted(value)}  # {origin}"


def _quoted(value: Any) -> str:
    """Write a value as JSON that is YAML too: what does not show is escaped, also where JSON would not do so."""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)
