"""Large packages of which a small part is used."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def spare(name: str) -> None:
    """Let parts of a package be imported without its ``__init__``, which would import all the others.

    Everybody else finds the package complete: a name that it has not got yet is imported as a part of it, and where
    there is no such part, the ``__init__`` runs after all. A package that is imported already, or is not installed, is
    left alone.
    """
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader, package = spec.loader, importlib.util.module_from_spec(spec)

    def find(attribute: str) -> Any:
        try:
            return importlib.import_module(f"{name}.{attribute}")
        except ModuleNotFoundError as error:
            if error.name != f"{name}.{attribute}":
                raise
        package.__dict__.pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, attribute)

    package.__dict__["__getattr__"] = find
    sys.modules[name] = package
