"""Faults in settings, with the layer that each came from."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import Fault, InvalidConfig


@dataclass(frozen=True, slots=True)
class LayeredFault(Fault):
    """A fault and its layer: a file, ``environment DRAGOMAN_X``, a NodeConfig, or the built-in defaults."""

    layer: str

    def __str__(self) -> str:
        return f"{self.layer}: {Fault.__str__(self)}"


class SettingsError(InvalidConfig):
    """Settings that cannot be used. ``faults`` holds every ``LayeredFault`` that was found."""

    faults: tuple[LayeredFault, ...]

    @classmethod
    def of_layer(cls, layer: str, message: str, path: str = "") -> SettingsError:
        """Make one with a single fault."""
        return cls([LayeredFault(path, message, layer)])
