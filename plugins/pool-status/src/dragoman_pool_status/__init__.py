"""What is free in the pools of a cluster: the command ``dragoman pools``, and a controller that answers requests.

Imported with every start of ``dragoman``, so everything heavy is imported where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman_hookspecs import (
    Commands,
    Context,
    Controller,
    InvalidConfig,
    NoSettings,
    RegisterCommands,
    RunController,
    hookimpl,
)
from dragoman_pool_status.command import command


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStatusSettings:
    """``grace_seconds``: how long the cluster's own controller may take to answer before this one does."""

    grace_seconds: int = 30

    def __post_init__(self) -> None:
        if self.grace_seconds < 0:
            raise InvalidConfig.at("graceSeconds", f"must be 0 or more, not {self.grace_seconds}")


class PoolCommands:
    """Adds the command."""

    def __init__(self, context: Context, settings: NoSettings) -> None:
        pass

    @hookimpl
    def register_commands(self, request: RegisterCommands) -> None:
        """Add it."""
        request.add(command(request.connect))


class PoolController:
    """Answers requests for the status of pools."""

    def __init__(self, context: Context, settings: PoolStatusSettings) -> None:
        self._logger = context.logger
        self._grace = settings.grace_seconds

    @hookimpl
    def run_controller(self, request: RunController) -> None:
        """Answer until stopped."""
        begun: list[Controlling] = []
        request.ready(lambda: begun[0].unready() if begun else "it is being loaded")
        from dragoman_pool_status.controller import Controlling  # noqa: PLC0415 - only where a controller runs

        controlling = Controlling(request.cluster, self._logger, grace=self._grace)
        begun.append(controlling)
        request.metrics(controlling.metrics)
        controlling.run(request.stopped)


plugin = (
    Commands(settings_key="pools", create=PoolCommands),
    Controller(settings_key="poolStatus", settings=PoolStatusSettings, create=PoolController),
)
