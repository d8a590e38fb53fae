"""``dragoman devices``: what this node has, from the running agent."""

from __future__ import annotations

import click

from dragoman.cli.asking import ask
from dragoman.cli.main import Options
from dragoman.cli.output import output_option, show

COLUMNS = ("device", "manager", "pool", "published", "shareable", "capacity", "health", "holders", "note")


@click.command("devices")
@output_option()
@click.pass_obj
def devices(options: Options, output: str) -> None:
    """Show the devices of this node, published or not, and who holds them."""
    found = ask(options.load().settings, "devices")
    if output == "table":
        found = [{**device, "capacity": _capacity(device["capacity"])} for device in found]
    show(COLUMNS, [[device[column] for column in COLUMNS] for device in found], output)


def _capacity(capacity: dict[str, dict[str, str]]) -> str:
    """Write free of total, by name."""
    return ", ".join(f"{name} {amount['free']}/{amount['total']}" for name, amount in sorted(capacity.items()))
