"""``dragoman explain``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman_hookspecs import Connect

_HELP = """Say what would be allocated for claims and pods, or why they are stuck.

SUBJECT is claim/NAME, template/NAME or pod/NAME (or claim/NAMESPACE/NAME ...), or a file of manifests, - for standard
input. Without one: every pod that waits for its claims and every claim that is not allocated.

Exit codes: 0 all are allocated or would be, 3 one is stuck, 4 none is stuck but one is undecided, 1 error, 2 usage."""

_existing = click.Path(path_type=Path, exists=True)


def command(connect: Connect) -> click.Command:
    """Make the command; ``connect`` opens clusters."""

    @click.command("explain", help=_HELP, short_help="Say what would be allocated for claims, or why they are stuck.")
    @click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
    @click.option("-n", "--namespace", help="Namespace of what names none. [default: default]")
    @click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        type=_existing,
        metavar="FILE",
        help="Manifests in YAML or JSON, or a folder of them, instead of a cluster. May be repeated.",
    )
    @click.option(
        "--kubeconfig", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Where the cluster is."
    )
    @click.option("--context", help="A context of the kubeconfig.")
    @click.option(
        "--request-timeout",
        callback=_length,
        metavar="TIME",
        help="How long one answer of the API server may take, such as 30s or 2m. [default: 60s]",
    )
    @click.option(
        "--what-if",
        multiple=True,
        type=_existing,
        metavar="FILE",
        help="Manifests that are added, or replace others, before anything is tried. May be repeated.",
    )
    @click.option(
        "--without",
        multiple=True,
        metavar="KIND/NAME",
        help="An object that is left out, such as pod/NAME with its claims. May be repeated.",
    )
    @click.option("--release", metavar="1.N", help="Rules and default gates of a release. [default: the server's]")
    @click.option("--features", "gates", metavar="GATE=BOOL,...", help="Feature gates that differ from the release's.")
    @click.option(
        "--devices", type=click.IntRange(min=1), default=3, show_default=True, help="Devices shown per request."
    )
    @click.option("--nodes", type=click.IntRange(min=1), default=3, show_default=True, help="Nodes shown in detail.")
    @click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
    @click.pass_context
    def explain(ctx: click.Context, /, output: str, nodes: int, devices: int, **given: Any) -> None:
        from dragoman_explain import running, store  # noqa: PLC0415 - imported with every start of dragoman

        try:
            shown, code = running.run(given, connect, output=output, nodes=nodes, devices=devices)
        except store.Misused as error:
            raise click.UsageError(str(error)) from error
        click.echo(shown)
        ctx.exit(code)

    return explain


def _length(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    from dragoman_kit import durations  # noqa: PLC0415 - imported with every start of dragoman

    try:
        return None if value is None else durations.seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
