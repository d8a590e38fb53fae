"""``dragoman pools``: its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dragoman_hookspecs import Connect


def command(connect: Connect) -> click.Command:
    """Make the command; ``connect`` opens the cluster that it is pointed to."""

    @click.command("pools")
    @click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        type=click.Path(path_type=Path, exists=True),
        metavar="FILE",
        help="Manifests in YAML or JSON, or a folder of them, instead of a cluster. May be repeated.",
    )
    @click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help="The cluster's kubeconfig. [default: what the settings, the environment or the pod say]",
    )
    @click.option("--context", help="A context of the kubeconfig.")
    @click.option(
        "--request-timeout",
        callback=_length,
        metavar="TIME",
        help="How long one answer of the API server may take, such as 30s or 2m. [default: 60s]",
    )
    @click.option("--driver", help="Only the pools of this driver.")
    @click.option("--pool", help="Only pools of this name.")
    @click.option(
        "--partition-attribute",
        metavar="NAME",
        help="The attribute that names the type of a partition, for drivers that declare none.",
    )
    @click.option("--holders", is_flag=True, help="Show also which claims hold devices, and which must leave them.")
    @click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
    def pools(output: str, **given: Any) -> None:
        """Show what is free in the pools of a cluster, or of manifests."""
        from dragoman_pool_status import show  # noqa: PLC0415 - not for every start of dragoman

        report = show.report(show.Question(**given), connect)
        click.echo(report.json() if output == "json" else report.table())
        if report.note:
            click.echo(f"Note: {report.note}", err=True)

    return pools


def _length(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    from dragoman_kit import durations  # noqa: PLC0415 - imported with every start of dragoman

    try:
        return None if value is None else durations.seconds(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
