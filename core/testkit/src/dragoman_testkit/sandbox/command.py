"""``dragoman sandbox``: a node to play with, and the few words of kubectl that are needed there.

Imported with every start of ``dragoman``, so everything heavy is imported where it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dragoman_hookspecs import Commands, Context, DragomanError, NoSettings, RegisterCommands, hookimpl


class NoSandbox(DragomanError):
    """No sandbox can be found."""


@click.group("sandbox", invoke_without_command=True)
@click.option(
    "--with",
    "given",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Settings of managers, plugins and pools for this node, in YAML; each pool gets a class of its name. "
    "[default: dummy and macvlan links]",
)
@click.pass_context
def sandbox(ctx: click.Context, given: Path | None) -> None:
    """Run a node to play with, in namespaces of its own, until Ctrl-C; or talk to one that runs."""
    if ctx.invoked_subcommand is None:
        from dragoman_testkit.sandbox import private  # noqa: PLC0415

        private.enter()
        from dragoman_testkit.sandbox import play  # noqa: PLC0415

        play.keep(given)


@sandbox.command("apply")
@click.option(
    "-f", "--file", "source", type=click.File("rb"), required=True, help="Objects in YAML; - for standard input."
)
@click.pass_obj
def apply(options: Any, source: Any) -> None:
    """Create or change objects."""
    from dragoman_kit import manifests  # noqa: PLC0415

    objects = [each.body for each in manifests.parse(source.read(), source.name)]
    if not objects:
        raise click.ClickException(f"{source.name} holds no object")
    for line in _ask(options, "apply", objects=objects):
        click.echo(line)


@sandbox.command("delete")
@click.argument("kind")
@click.argument("name")
@click.option("-n", "--namespace", default="default", show_default=True)
@click.pass_obj
def delete(options: Any, kind: str, name: str, namespace: str) -> None:
    """Delete an object; a pod gives its devices back first."""
    click.echo(_ask(options, "delete", kind=kind, name=name, namespace=namespace))


@sandbox.command("get")
@click.argument("kind", default="pods")
@click.argument("name", required=False)
@click.option("-o", "--output", type=click.Choice(["table", "yaml"]), default="table", show_default=True)
@click.pass_obj
def get(options: Any, kind: str, name: str | None, output: str) -> None:
    """Show objects: pods, claims, templates, classes, slices, events."""
    from dragoman_testkit.sandbox import play_view  # noqa: PLC0415

    answer = _ask(options, "get", kind=kind, name=name)
    click.echo(play_view.render(answer["kind"], answer["objects"], output))


class _Execute(click.Command):
    """Refuses what would be taken from the command to run: its ``-c`` looks like the option of this one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and hint at ``--`` where an option of this command stands after the first word of the other."""
        if (taken := self._taken(ctx, args)) is not None:
            raise click.UsageError(
                f"{taken} would be an option of exec itself: write -- before the command to run, as in "
                f"exec POD -- sh -c 'ip address'",
                ctx,
            )
        return super().parse_args(ctx, args)

    def _taken(self, ctx: click.Context, args: list[str]) -> str | None:
        flags = {*ctx.help_option_names}
        valued = {name for each in self.params if isinstance(each, click.Option) for name in each.opts}
        words, rest = 0, iter(args)
        for word in rest:
            if word == "--":
                return None
            if not word.startswith("-"):
                words += 1
            elif words > 1 and _names(word) & (flags | valued):
                return word
            elif word in valued:
                next(rest, None)
        return None


def _names(word: str) -> set[str]:
    """Give the options that click reads from a word: ``-lan`` is ``-l -a -n``."""
    return {word.partition("=")[0]} if word.startswith("--") else {f"-{letter}" for letter in word[1:]}


@sandbox.command("exec", cls=_Execute, context_settings={"ignore_unknown_options": True})
@click.argument("pod")
@click.option("-c", "--container", default="", help="Its first container by default.")
@click.option("-n", "--namespace", default="default", show_default=True)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def execute(options: Any, pod: str, container: str, namespace: str, command: tuple[str, ...]) -> None:
    """Run a command in a container: dragoman sandbox exec POD -- ip address."""
    found = _ask(options, "container", pod=pod, container=container, namespace=namespace)
    # Commands of this very installation, such as dragoman-metadata, are at hand as if the image had them.
    path = f"{found['env']['PATH']}:{Path(sys.executable).parent}"
    environment = {"TERM": os.environ.get("TERM", "dumb"), **found["env"], "PATH": path}
    _enter(str(found["pid"]), ["--net", "--mount", "--wd=/"], command, environment)


@sandbox.command("host", context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def host(options: Any, command: tuple[str, ...]) -> None:
    """Run a command where the node's links and API server are: dragoman sandbox host -- dragoman pools."""
    _enter(str(_ask(options, "host")["pid"]), ["--net"], command, dict(os.environ))


def _enter(pid: str, spaces: Sequence[str], command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Become a command in namespaces of a process."""
    user: list[str] = []
    if Path(f"/proc/{pid}/ns/user").readlink() != Path("/proc/self/ns/user").readlink():
        user = ["--user", "--preserve-credentials"]
    words = ["nsenter", "--target", pid, *spaces, *user, "--", *command]
    os.execvpe(words[0], words, environment)  # noqa: S606  # what the user asked for, no shell


@sandbox.command("agent")
@click.argument("what", type=click.Choice(["start", "stop", "kill", "log"]))
@click.pass_obj
def agent(options: Any, what: str) -> None:
    """Start, stop (SIGTERM) or kill (SIGKILL) the node's agent, or show the end of its log."""
    click.echo(_ask(options, "agent", what=what))


def _ask(options: Any, method: str, **params: Any) -> Any:
    """Ask the running sandbox. Raises ``DragomanError``."""
    from dragoman.control import client  # noqa: PLC0415

    socket = (options.config or Path("/nowhere/settings.yaml")).parent / "sandbox.sock"
    try:
        return client.call_now(socket, method, params, seconds=90.0)
    except client.AgentUnreachable as error:
        if not isinstance(error.__cause__, FileNotFoundError | ConnectionRefusedError):
            raise
        raise NoSandbox("no sandbox is found: run dragoman sandbox, and set DRAGOMAN_CONFIG as it says") from error


class SandboxCommands:
    """Adds the command."""

    def __init__(self, context: Context, settings: NoSettings) -> None:
        pass

    @hookimpl
    def register_commands(self, request: RegisterCommands) -> None:
        """Add it."""
        request.add(sandbox)


plugin = Commands(settings_key="sandbox", create=SandboxCommands)
