"""The functions of the environment, one table per library (api-semantics of Kubernetes 1.37.

Base environment and DRA).
"""

from __future__ import annotations

from dragoman_allocator.cel.functions import Function, table
from dragoman_allocator.cel.libraries import (
    authorization,
    conversions,
    formats,
    formatting,
    lists,
    network,
    optionals,
    quantities,
    standard,
    strings,
    times,
    urls,
)

_LIBRARIES = (
    standard,
    conversions,
    times,
    strings,
    formatting,
    lists,
    optionals,
    quantities,
    network,
    urls,
    formats,
    authorization,
)


def functions(*, includes: bool = True) -> dict[str, Function]:
    """Give all functions by name, with or without ``includes`` (list attributes, or Kubernetes 1.37)."""
    overloads = [overload for library in _LIBRARIES for overload in library.OVERLOADS]
    singletons = {name: run for library in _LIBRARIES for name, run in getattr(library, "SINGLETONS", {}).items()}
    return table((o for o in overloads if includes or o.function != "includes"), singletons)
