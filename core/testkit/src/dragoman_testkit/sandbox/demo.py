"""``python -m dragoman_testkit.sandbox.demo``: the whole way of a device on one node, told and checked step by step.

Needs no cluster and no hardware, and no root where user namespaces are allowed. Exits with 0 if every step was as it
should be, with 1 if one differed, with 2 where the demo cannot run, with 130 if it was interrupted.
"""

from __future__ import annotations

import signal
import sys

from dragoman.kubelet.environment import prepare_environment
from dragoman_hookspecs import DragomanError
from dragoman_testkit.sandbox import private


def main() -> int:
    """Run the demo in namespaces of its own; give the exit code."""
    try:
        private.enter()
    except DragomanError as error:
        sys.stderr.write(f"The demo cannot run: {error}\n")
        return 2
    prepare_environment()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # gRPC reads the environment when it is imported.
    from dragoman_testkit.sandbox.demo_run import run  # noqa: PLC0415

    try:
        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
