"""``dragoman allocations``: what is prepared and attached, from the running agent; and the way out of a stuck claim."""

from __future__ import annotations

import click

from dragoman.cli.asking import ask
from dragoman.cli.main import Options
from dragoman.cli.output import output_option, show

COLUMNS = ("claim", "pods", "request", "device", "share", "capacity", "state", "attachment", "interface", "failure")
WIDE = (*COLUMNS, "uid", "manager", "prepared")
"""What a terminal has no room for: the UID for ``release``, and the manager's own state."""


@click.group("allocations", invoke_without_command=True)
@output_option("wide")
@click.pass_context
def allocations(ctx: click.Context, output: str) -> None:
    """Show what is prepared and attached on this node; ``-o wide`` and ``-o json`` show all that is known."""
    if ctx.invoked_subcommand is None:
        options: Options = ctx.obj
        found = ask(options.load().settings, "allocations")
        columns = COLUMNS if output == "table" else WIDE
        show(columns, [[row[column] for column in columns] for row in found], output)


@allocations.command("release")
@click.argument("claim", metavar="UID|NAMESPACE/NAME")
@click.option("--force", is_flag=True, help="Take the devices away from a running pod too, which goes on without them.")
@click.pass_obj
def release(options: Options, claim: str, force: bool) -> None:
    """Give up the devices of a claim; dragoman allocations -o wide shows the UIDs.

    Links return to the host from what the ledger recorded, files are removed and the rows deleted, also where the
    device manager that prepared them is not installed any more. A claim whose device a running pod has is refused:
    delete the pod first, or give --force.
    """
    answer = ask(options.load().settings, "release", {"uid": claim, "force": force}, seconds=60)
    if not answer["released"]:
        raise click.ClickException(
            f"no claim {claim} (UID, or namespace/name) is prepared on this node; see dragoman allocations -o wide"
        )
    # An agent that was started before its update does not name the claim.
    click.echo(f"released {', '.join(answer['released'])} of claim {answer.get('claim', claim)}")
    for taken in answer.get("taken", ()):
        click.echo(f"pod {taken['pod']} runs on without {taken['device']}")
