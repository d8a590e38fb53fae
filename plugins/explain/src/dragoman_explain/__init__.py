"""Why a claim or pod is stuck, or what would be allocated for it: the command ``dragoman explain``.

Imported with every start of ``dragoman``, so everything heavy is imported where it is used.
"""

from __future__ import annotations

from dragoman_explain.command import command
from dragoman_hookspecs import Commands, Context, NoSettings, RegisterCommands, hookimpl


class ExplainCommands:
    """Adds the command."""

    def __init__(self, context: Context, settings: NoSettings) -> None:
        pass

    @hookimpl
    def register_commands(self, request: RegisterCommands) -> None:
        """Add it."""
        request.add(command(request.connect))


plugin = Commands(settings_key="explain", create=ExplainCommands)
