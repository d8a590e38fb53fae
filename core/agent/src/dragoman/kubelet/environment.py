"""What gRPC wants to find in the environment. It imports nothing of gRPC, so that it can run before gRPC does."""

from __future__ import annotations

import os
from typing import Final

GRPC_ENVIRONMENT: Final = {
    # Its fork handlers log a line for every fork of a process with a server, and nothing here forks to serve.
    "GRPC_ENABLE_FORK_SUPPORT": "false",
    # Its C++ core writes to standard error, past the log of the agent: only what is broken.
    "GRPC_VERBOSITY": "ERROR",
}


def prepare_environment() -> None:
    """Set the variables that are not set. Call it at the start of the process, before anything imports ``grpc``."""
    for name, value in GRPC_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
