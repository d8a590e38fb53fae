"""Questions to the running agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli.output import waiting
from dragoman.control.client import call_now
from dragoman_hookspecs import JsonObject

if TYPE_CHECKING:
    from dragoman.settings import Settings  # imported when settings are loaded, not for every command


def socket_of(settings: Settings) -> Path:
    """Give the path of the agent's control socket."""
    return settings.paths.run_dir / "control.sock"


def ask(settings: Settings, method: str, params: JsonObject | None = None, *, seconds: float = 30.0) -> Any:
    """Ask the agent, and tell the user when its answer takes long. Raises as ``call_now``."""
    return call_now(socket_of(settings), method, params, seconds=seconds, tell=waiting(seconds))
