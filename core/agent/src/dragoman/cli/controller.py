"""``dragoman controller``: run the cluster controllers of the installed plugins."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman import logs
from dragoman.cli.main import Options

if TYPE_CHECKING:
    from dragoman.settings import Settings  # imported when settings are loaded, not for every command


class Address(click.ParamType[tuple[str, int] | None]):
    """``HOST:PORT``, ``:PORT`` for every address, or ``off``."""

    name = "address"

    def convert(
        self, value: str | tuple[str, int] | None, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int] | None:
        """Read it."""
        if not isinstance(value, str):
            return value
        host, colon, port = value.rpartition(":")
        if value == "off":
            return None
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is neither HOST:PORT nor off", param, ctx)
        return host.strip("[]"), int(port)


@click.command("controller")
@click.option(
    "--listen",
    type=Address(),
    default=":8080",
    show_default=True,
    metavar="[HOST]:PORT|off",
    help="Where /metrics, /healthz and /readyz are served.",
)
@click.pass_obj
def controller(options: Options, listen: tuple[str, int] | None) -> None:
    """Run the cluster controllers of the installed plugins until SIGTERM; once for a cluster, not on every node."""
    settings = options.load().settings
    logs.configure("debug" if options.debug else settings.logging.level, settings.logging.format)
    logs.enable_stack_dumps()
    asyncio.run(_run(settings, listen))


async def _run(settings: Settings, listen: tuple[str, int] | None) -> None:
    from dragoman.controllers import ControllerHost  # noqa: PLC0415 - imports the official client
    from dragoman.kube.access import Access  # noqa: PLC0415 - as above
    from dragoman.plugins import Sections, contexts, load  # noqa: PLC0415 - imports all plugins
    from dragoman_hookspecs import Context, Controller  # noqa: PLC0415 - as above

    base = Context(
        node_name="",
        driver_name=settings.driver_name,
        state_dir=Path(settings.paths.state_dir),
        cdi_dir=settings.paths.cdi_dir,
    )
    plugins = load(
        sections=Sections(managers={}, others=settings.plugin_configs),
        context=contexts(base),
        required=settings.required_plugins,
        blocked=settings.blocked_plugins,
        only=Controller,
    )
    access = Access(server=settings.kubernetes.server, kubeconfig=settings.kubernetes.kubeconfig)
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    await ControllerHost(plugins, access, listen=listen).run(stopped)
