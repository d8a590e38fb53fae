"""A process that holds the lock and the ledger, for tests that kill it. Prints one line when it is where it was told.

Usage: agent_process.py FOLDER LABEL; it stops for ever at the commit with that label, or with ``ready`` once it has
put and attached claim ``c1`` and put claim ``c2``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from dragoman.model.claims import ClaimRef
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman.store.ledger import Ledger
from dragoman.store.lock import NodeLock
from dragoman_hookspecs import Device


class WallClock:
    """Real time."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
    sleep = staticmethod(asyncio.sleep)


def stop_here(place: str) -> None:
    os.write(1, place.encode() + b"\n")
    while True:
        signal.pause()


def row_of(claim: str) -> AllocationRow:
    return AllocationRow(
        key=AllocationKey(claim_uid=claim, request="nic", driver="net.dragoman.dev", pool="node-a", device="dummy0"),
        claim=ClaimRef(uid=claim, namespace="default", name=claim),
        position=0,
        state=AllocationState.PREPARING,
        manager="dummy",
        distribution="dragoman-dummy",
        plugin_version="0.1.0",
        device=Device(name="dummy0", identity="tag"),
    )


def attachment_of(row: AllocationRow) -> AttachmentRow:
    return AttachmentRow(
        key=AttachmentKey(allocation=row.key, sandbox_id="s1"),
        state=AttachmentState.ATTACHING,
        pod_uid="p1",
        pod_namespace="default",
        pod_name="pod",
        netns_path="/run/netns/s1",
        netns_cookie="4:1",
    )


def main(folder: Path, label: str) -> None:
    lock = NodeLock(folder, WallClock())
    if not lock.try_acquire():
        sys.exit(f"held by {lock.holder()}")
    ledger = Ledger.open(folder, "boot-1", lambda at: stop_here(at) if at == label else None)
    first = row_of("c1")
    ledger.put_allocations([first])
    ledger.put_attachments([attachment_of(first)])
    ledger.set_meta("step", "attached")
    ledger.put_attachments([replace(attachment_of(first), state=AttachmentState.DETACHING)])
    ledger.delete_attachments([attachment_of(first).key])
    ledger.put_allocations([replace(first, state=AllocationState.FREEING)])
    ledger.delete_allocations([first.key])
    ledger.put_allocations([row_of("c2"), row_of("c3")])
    stop_here("ready")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
