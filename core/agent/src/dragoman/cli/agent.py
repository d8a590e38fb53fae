"""``dragoman agent``: run the node agent, ask how it is, and withdraw it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click
from loguru import logger

from dragoman import logs
from dragoman.cli.asking import ask, socket_of
from dragoman.cli.main import Options
from dragoman.control.client import AgentUnreachable, Connection
from dragoman.kubelet.environment import prepare_environment

if TYPE_CHECKING:
    from dragoman.settings import Settings  # imported when settings are loaded, not for every command


@click.group("agent", invoke_without_command=True)
@click.pass_context
def agent(ctx: click.Context) -> None:
    """Run the node agent until SIGTERM. SIGHUP reloads the settings, SIGUSR1 writes all stacks to the log."""
    if ctx.invoked_subcommand is None:
        prepare_environment()
        asyncio.run(_run(ctx.obj))


async def _run(options: Options) -> None:
    from dragoman import assembly  # noqa: PLC0415 - imports gRPC, which reads the environment prepared above
    from dragoman.app import Agent  # noqa: PLC0415 - as above

    loaded = options.load()
    settings = loaded.settings

    def configure_logs(settings: Settings) -> None:
        logs.configure("debug" if options.debug else settings.logging.level, settings.logging.format)

    configure_logs(settings)
    logs.enable_stack_dumps()
    logger.info("effective settings: {}", json.dumps(loaded.effective(), default=str))
    for warning in loaded.warnings:
        logger.warning(warning)
    node = settings.node_name or socket.gethostname().lower()
    running = Agent(settings, assembly.plugin_set(settings, node), options.load, configure_logs)
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = loop.create_task(running.reload())
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, reload)
    await running.run(stopped)


@agent.command("status")
@click.pass_obj
def status(options: Options) -> None:
    """Show how the running agent is, as JSON; exit code 1 while it is not ready."""
    answer = ask(options.load().settings, "status")
    click.echo(json.dumps(answer, indent=2))
    if not answer["ready"]:
        raise SystemExit(1)


@agent.command("withdraw")
@click.pass_obj
def withdraw(options: Options) -> None:
    """Delete the slices of this node, when Dragoman is uninstalled. Nothing else does."""
    settings = options.load().settings
    if asyncio.run(_runs(socket_of(settings))):
        raise click.ClickException("an agent runs on this node and would publish its slices again: stop it first")
    asyncio.run(_withdraw(settings))


async def _runs(path: Path) -> bool:
    """Tell whether an agent listens, which may be too busy to answer."""
    try:
        (await Connection.open(path)).close()
    except AgentUnreachable:
        return False
    return True


async def _withdraw(settings: Settings) -> None:
    from dragoman.clock import SystemClock  # noqa: PLC0415 - with the next
    from dragoman.kube.access import Access  # noqa: PLC0415 - imports the official client
    from dragoman.kube.edge import KubeEdge  # noqa: PLC0415 - as above

    node = settings.node_name or socket.gethostname().lower()
    access = Access(server=settings.kubernetes.server, kubeconfig=settings.kubernetes.kubeconfig)
    edge = KubeEdge.build(access, driver=settings.driver_name, node=node, clock=SystemClock())
    try:
        await edge.client.connect()
        await edge.slices.withdraw()
    finally:
        await edge.close()
    click.echo(f"the slices of node {node} are deleted")
