"""The log: loguru with sinks of our own, one record a line, on standard error.

Each record carries claim, device, plugin and request id, as bound by ``logger.contextualize`` around the work (context
variables, so they follow tasks; a thread needs the context copied). Own sinks, because loguru's ``serialize`` is three
times slower and its ``diagnose`` prints the values of variables, secrets among them.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from loguru import logger

if TYPE_CHECKING:
    from loguru import Message, Record  # exist in the stubs only

CONTEXT = ("claim", "device", "plugin", "request")
"""Keys that every record has, empty where nothing is bound."""

_PLUGINS = "dragoman.plugin"
_encode = msgspec.json.Encoder(enc_hook=str).encode


def configure(level: str = "info", format: str = "text", stream: TextIO | None = None) -> None:  # noqa: A002 - the name of the setting
    """Send all logging, the standard library's included, to ``stream`` (standard error).

    ``level`` is for Dragoman and its plugins; libraries (grpc, asyncio, kubernetes, urllib3 …) speak from WARNING on.
    ``format``: ``text`` or ``json``. Calling it again replaces what was set up before.
    """
    render = _json if format == "json" else _text

    def write(message: Message) -> None:
        target = stream or sys.stderr  # looked up late: it may have been replaced since
        target.write(f"{render(message.record)}\n")
        target.flush()

    logger.remove()
    logger.configure(extra=dict.fromkeys(CONTEXT, ""))
    # The empty format spares loguru's own rendering, which would also print the values of variables.
    logger.add(write, level=level.upper(), format=lambda _: "", backtrace=False, diagnose=False)
    logging.basicConfig(handlers=[InterceptHandler()], level=logging.WARNING, force=True)
    logging.captureWarnings(True)
    logging.getLogger(_PLUGINS).setLevel(logger.level(level.upper()).no)


def enable_stack_dumps(stream: TextIO | None = None) -> None:
    """Have SIGUSR1 write the stacks of all threads to the log, also while the interpreter hangs in C code."""
    faulthandler.register(signal.SIGUSR1, file=stream or sys.stderr, all_threads=True, chain=False)


class InterceptHandler(logging.Handler):
    """Hands records of the standard library's logging to loguru, under their own logger's name."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record. ``dragoman.plugin.<name>`` becomes the plugin of the record unless one is bound."""
        if _is_cancelled(record):
            return
        try:
            level: str | int = logger.level(record.levelname).name
        except ValueError:
            level = record.levelno
        source = _source(record)
        logger.opt(exception=record.exc_info).patch(source).log(level, record.getMessage())


def _is_cancelled(record: logging.LogRecord) -> bool:
    """Tell whether a library complains that its work was cancelled, as gRPC may of a stream when its server stops."""
    return bool(record.exc_info and record.exc_info[0] and issubclass(record.exc_info[0], asyncio.CancelledError))


def _source(record: logging.LogRecord) -> Callable[[Record], None]:
    def patch(target: Record) -> None:
        target["name"], target["function"], target["line"] = record.name, record.funcName, record.lineno
        if record.name.startswith(f"{_PLUGINS}.") and not target["extra"].get("plugin"):
            target["extra"]["plugin"] = record.name.removeprefix(f"{_PLUGINS}.")

    return patch


def _json(record: Record) -> str:
    entry: dict[str, Any] = {
        "time": _time(record),
        "level": record["level"].name.lower(),
        "logger": record["name"],
        "message": record["message"],
        **record["extra"],
    }
    if trace := _trace(record):
        entry["exception"] = trace
    return _encode(entry).decode()


def _text(record: Record) -> str:
    bound = _pairs(record["extra"])
    line = f"{_time(record)} {record['level'].name:<7} {_one_line(record['message'])}{bound}"
    trace = _trace(record)
    return f"{line}\n{trace.rstrip()}" if trace else line


def _time(record: Record) -> str:
    return record["time"].astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pairs(extra: Mapping[str, Any]) -> str:
    return "".join(f" {key}={_one_line(str(value))}" for key, value in extra.items() if value not in ("", None))


def _one_line(text: str) -> str:
    # What a user named must not be able to forge a line of the log.
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _trace(record: Record) -> str:
    error = record["exception"]
    if error is None or error.value is None:
        return ""
    return "".join(traceback.format_exception(error.type, error.value, error.traceback))
