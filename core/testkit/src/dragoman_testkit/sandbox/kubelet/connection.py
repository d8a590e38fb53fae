"""Channels to a plugin's sockets, with the authorities that the kubelet sends."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import grpc


def registration_channel(path: Path) -> grpc.aio.Channel:
    """Dial a registration socket: the authority is the percent-encoded path."""
    return _channel(path, quote(str(path), safe=""))


def dra_channel(endpoint: Path) -> grpc.aio.Channel:
    """Dial a DRA socket; it connects again by itself."""
    return _channel(endpoint, "localhost")


def _channel(path: Path, authority: str) -> grpc.aio.Channel:
    options = [
        ("grpc.default_authority", authority),
        # Else a kubelet that starts again would inherit the connections and back-offs of its former life.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    return grpc.aio.insecure_channel(f"unix:{path}", options=options)
