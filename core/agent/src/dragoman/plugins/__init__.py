"""Finds, checks, loads and lists plugins, one by one, so that a bad one is named and costs nobody else anything.

``entrypoints`` finds them, ``importing`` imports them within bounds, ``hookcheck`` judges their hooks, ``sections``
reads their settings, ``loading`` does it all in order.
"""

from dragoman.plugins.entrypoints import PluginState, PluginStatus, discover
from dragoman.plugins.loading import (
    ContextFactory,
    LoadedPlugin,
    PluginSet,
    StartupRefused,
    contexts,
    load,
    load_descriptors,
)
from dragoman.plugins.sections import Sections

__all__ = [
    "ContextFactory",
    "LoadedPlugin",
    "PluginSet",
    "PluginState",
    "PluginStatus",
    "Sections",
    "StartupRefused",
    "contexts",
    "discover",
    "load",
    "load_descriptors",
]
