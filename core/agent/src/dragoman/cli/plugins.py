"""``dragoman plugins``: what is installed here, and what became of it."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from dragoman.cli import descriptors
from dragoman.cli.asking import ask
from dragoman.cli.main import COMMANDS, Options
from dragoman.cli.output import output_option, show
from dragoman.control.client import AgentUnreachable
from dragoman.model.errors import Unavailable
from dragoman.plugins import PluginStatus, Sections, StartupRefused, contexts, load
from dragoman.settings import Settings
from dragoman_hookspecs import Cluster, Context, json_key

FIELDS = ("name", "distribution", "version", "api", "kind", "type", "settings_key", "hooks", "state", "reason")
TABLE = ("name", "version", "api", "kind", "state", "reason", "hooks")
"""Hooks last: their line may wrap."""


@click.command("plugins")
@output_option()
@click.pass_obj
def plugins(options: Options, output: str) -> None:
    """Show the installed plugins: name, version, API, hooks, state and reason.

    Asks the running agent. Where none runs, the plugins are loaded here, with the settings of this machine, and not
    started; exit code 1 if an agent would refuse to start.
    """
    settings = options.load().settings
    try:
        statuses = ask(settings, "plugins")
        refusal = ""
    except AgentUnreachable:
        found, refusal = loaded_here(settings)
        statuses = [asdict(status) for status in found]
    columns = FIELDS if output == "json" else TABLE
    show([json_key(column) for column in columns], rows(statuses, columns), output)
    for problem in _without_commands({status["reason"] for status in statuses}):
        click.echo(f"Warning: {problem}", err=True)
    if refusal:
        raise click.ClickException(refusal)


def rows(statuses: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[list[Any]]:
    """Give one row of JSON values for each plugin."""
    return [
        [list(status[column]) if column == "hooks" else str(status[column]) for column in columns]
        for status in statuses
    ]


def loaded_here(settings: Settings) -> tuple[Sequence[PluginStatus], str]:
    """Load the plugins without a trace on this machine; gives their statuses, and why an agent would not start."""
    with TemporaryDirectory(prefix="dragoman-plugins-") as folder:
        base = Context(
            node_name=settings.node_name or socket.gethostname().lower(),
            driver_name=settings.driver_name,
            state_dir=Path(folder),
            cdi_dir=Path(folder),
        )
        try:
            found = load(
                sections=Sections(managers=settings.device_manager_configs, others=settings.plugin_configs),
                context=contexts(base),
                required=settings.required_plugins,
                blocked=settings.blocked_plugins,
                log_level="DEBUG",
            )
        except StartupRefused as error:
            return error.statuses, str(error)
    return found.statuses, ""


def _without_commands(told: Collection[str]) -> Sequence[str]:
    """Say which commands are left out, where no reason in the table tells it."""
    _, problems = descriptors.commands(taken=COMMANDS, connect=_nowhere)
    return [problem for problem in problems if not any(reason and reason in problem for reason in told)]


def _nowhere(
    kubeconfig: Path | None, context: str | None, /, request_timeout: float | None = None
) -> AbstractContextManager[Cluster]:
    raise Unavailable("a command has a cluster once it runs")
