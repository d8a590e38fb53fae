"""Command line of the library: ``python -m dragoman_allocator``, ``dragoman-allocator batch``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from dragoman_allocator.batch.loop import serve

_EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer the lines of standard input on standard output until it ends; give the exit status."""
    parser = argparse.ArgumentParser(prog="dragoman-allocator", description=__doc__)
    parser.add_argument(
        "command",
        nargs="?",
        choices=["batch"],
        default="batch",
        help="read one JSON object per line from standard input, write one answer per line (the only command)",
    )
    parser.parse_args(arguments)
    if sys.stdin is None or sys.stdout is None:
        parser.error("standard input and standard output must be open")
    try:
        serve(sys.stdin.fileno(), sys.stdout.buffer)
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED
    except OSError as error:
        # Without this the interpreter would complain about the same again when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            parser.exit(1, f"{parser.prog}: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
