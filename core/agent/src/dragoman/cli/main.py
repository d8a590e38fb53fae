"""The ``dragoman`` program: global options, commands loaded when they are asked for, errors in one line."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman import logs
from dragoman.cli.output import FULL, complete, waiting
from dragoman_hookspecs import Cluster, DragomanError

if TYPE_CHECKING:
    from dragoman.settings import Loaded, SectionSchemas  # imported when settings are loaded, not for every command

COMMANDS: Mapping[str, tuple[str, str]] = {
    "agent": ("dragoman.cli.agent:agent", "Run the node agent."),
    "allocations": ("dragoman.cli.allocations:allocations", "Show what is prepared and attached, and release it."),
    "config": ("dragoman.cli.config:config", "Show and check settings and parameters."),
    "controller": ("dragoman.cli.controller:controller", "Run the cluster controllers of the installed plugins."),
    "devices": ("dragoman.cli.devices:devices", "Show the devices of this node."),
    "plugins": ("dragoman.cli.plugins:plugins", "Show the installed plugins and their state."),
}
"""Commands of the agent: where each is, and its line in the help, so that the help imports none of them."""


class Failure(click.ClickException):
    """An error as the user sees it: one line, exit code 1."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The global options; commands get them with ``click.pass_obj``. ``config`` is None for the default file."""

    config: Path | None = None
    debug: bool = False

    def load(self, node_config: Mapping[str, Any] | None = None) -> Loaded:
        """Load the settings, with the schemas of the installed plugins. Raises ``SettingsError``."""
        from dragoman.settings import DEFAULT_FILE, load  # noqa: PLC0415 - costs 0.3 s

        return load(
            self.config or DEFAULT_FILE,
            environ=os.environ,
            required=self.config is not None,
            node_config=node_config,
            sections=self._schemas,
        )

    @staticmethod
    def _schemas() -> SectionSchemas:
        from dragoman.cli import descriptors  # noqa: PLC0415 - imports all plugins

        return descriptors.sections(descriptors.installed())


class Program(click.Group):
    """A group whose commands are imported by name, and whose plugins' commands are looked for last."""

    table = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands."""
        return sorted({*self.table, *self._of_plugins(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command. Raises ``Failure`` where a command of ours cannot be imported."""
        if cmd_name not in self.table:
            return self._of_plugins(ctx).get(cmd_name)
        module, _, name = self.table[cmd_name][0].partition(":")
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise Failure(f"command {cmd_name} is not available in this installation: {error}") from error
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines of the help without importing ours."""
        plugins = self._of_plugins(ctx)
        lines = {name: line for name, (_, line) in self.table.items()}
        lines |= {name: command.get_short_help_str(limit=120) for name, command in plugins.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; output that cannot be written is an error."""
        with complete():
            return super().main(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors become one line."""
        try:
            return super().invoke(ctx)
        except DragomanError as error:
            raise Failure(str(error)) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if ctx.params["debug"] or (isinstance(error, OSError) and error.errno in FULL and not error.filename):
                raise
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            raise Failure(f"unexpected {what} (dragoman --debug … shows where)") from error

    def _of_plugins(self, ctx: click.Context) -> Mapping[str, click.Command]:
        from dragoman.cli import descriptors  # noqa: PLC0415 - imports all plugins

        def connect(
            kubeconfig: Path | None, context: str | None, request_timeout: float | None = None
        ) -> AbstractContextManager[Cluster]:
            return _connect(ctx, kubeconfig, context, request_timeout)

        # Commands are looked for before the callback of the program runs.
        _configure_logs(debug=bool(ctx.params.get("debug")))
        found, problems = descriptors.commands(taken=self.table, connect=connect)
        for problem in problems:
            click.echo(f"Warning: {problem}", err=True)
        return found


def _configure_logs(*, debug: bool) -> None:
    logs.configure("debug" if debug else "warning")


def _connect(
    ctx: click.Context, kubeconfig: Path | None, context: str | None, request_timeout: float | None
) -> AbstractContextManager[Cluster]:
    from dragoman.kube.access import Access  # noqa: PLC0415 - only for commands that ask for it
    from dragoman.kube.connecting import connected  # noqa: PLC0415 - imports the official client
    from dragoman.patience import USUAL, Patience  # noqa: PLC0415 - with the others

    limit = request_timeout or USUAL.limit
    patience = Patience(limit=limit, tell=waiting(limit))
    if kubeconfig is not None or context is not None:
        return connected(Access(kubeconfig=kubeconfig, context=context, patience=patience), manager="dragoman")
    found = ctx.find_object(Options) or Options()
    settings = found.load().settings.kubernetes
    access = Access(server=settings.server, kubeconfig=settings.kubeconfig, patience=patience)
    return connected(access, manager="dragoman")


@click.group("dragoman", cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    envvar="DRAGOMAN_CONFIG",
    metavar="FILE",
    help="Main settings file; conf.d/*.yaml beside it is read as well. [default: /etc/dragoman/settings.yaml]",
)
@click.option("--debug", is_flag=True, help="Log everything, and show the traceback of an unexpected error.")
@click.version_option(package_name="dragoman", prog_name="dragoman")
@click.pass_context
def main(ctx: click.Context, config: Path | None, debug: bool) -> None:
    """Hand network devices of a node to pods, by DRA, NRI and CDI."""
    _configure_logs(debug=debug)
    ctx.obj = Options(config=config, debug=debug)
