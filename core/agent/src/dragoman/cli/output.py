"""Tables for people, JSON for programs. Own code: it is short, and a library would cost more time than the command."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import click

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of output that does not fit where it goes."""


def output_option(*more: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the option ``-o``: ``table`` or ``json``, and what a command offers beside them."""
    formats = click.Choice(["table", "json", *more])
    return click.option("-o", "--output", type=formats, default="table", show_default=True, help="Form of the output.")


@contextlib.contextmanager
def complete() -> Iterator[None]:
    """End the program with one line and exit code 1 where not all of its output could be written."""
    try:
        try:
            yield
        finally:
            # What is flushed at exit only fails too late to be told.
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if error.errno not in FULL:
            raise
        with contextlib.suppress(OSError):
            click.echo(f"Error: cannot write: {error.strerror}", err=True)
        # Otherwise the interpreter tries again at exit, and complains in its own way.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None


def waiting(limit: float) -> Callable[[str], None]:
    """Give what tells the user what is waited for, so many seconds at most."""
    return lambda what: click.echo(f"Waiting for {what}, {limit:g} s at most", err=True)


def show(columns: Sequence[str], rows: Iterable[Sequence[Any]], output: str = "table") -> None:
    """Print rows of JSON values. ``columns`` are the keys in JSON; ``failedFrees`` heads a table as FAILED FREES."""
    if output == "json":
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
    else:
        for line in table(columns, rows):
            click.echo(line)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Lay out rows in aligned columns under a head line."""
    head = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).upper() for column in columns]
    lines = [head, *([_cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]


def printable(text: str) -> str:
    """Write control characters as escapes: what a user or a device named must not drive the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _cell(value: Any) -> str:
    match value:
        case None | "":
            return "-"
        case dict() if not value:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return printable(value)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return printable(", ".join(value)) or "-"
    return printable(json.dumps(value, ensure_ascii=False))
