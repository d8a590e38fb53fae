"""Rows for the tests of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.model.claims import ClaimRef, Consumer
from dragoman.model.records import AllocationKey, AllocationRow, AttachmentKey, AttachmentRow
from dragoman.model.states import AllocationState, AttachmentState
from dragoman_hookspecs import Device

NewAllocation = Callable[..., AllocationRow]
NewAttachment = Callable[..., AttachmentRow]


@pytest.fixture
def new_allocation() -> NewAllocation:
    """Make a PREPARING row of claim ``c1``, device ``dummy0``; give other claims, devices, shares, pods or fields."""

    def make(
        claim: str = "c1", device: str = "dummy0", share: str = "", pod: str = "p1", **fields: Any
    ) -> AllocationRow:
        defaults: dict[str, Any] = {
            "key": AllocationKey(
                claim_uid=claim, request="nic", driver="net.dragoman.dev", pool="node-a", device=device, share_id=share
            ),
            "claim": ClaimRef(uid=claim, namespace="default", name=f"name-of-{claim}"),
            "position": 0,
            "state": AllocationState.PREPARING,
            "manager": "dummy",
            "distribution": "dragoman-dummy",
            "plugin_version": "0.1.0",
            "device": Device(name=device, identity=f"tag:{device}"),
            "reserved_for": (Consumer(resource="pods", name="pod", uid=pod),),
        }
        return AllocationRow(**defaults | fields)

    return make


@pytest.fixture
def new_attachment() -> NewAttachment:
    """Make an ATTACHING row of an allocation in sandbox ``s1``."""

    def make(allocation: AllocationRow, sandbox: str = "s1", **fields: Any) -> AttachmentRow:
        defaults: dict[str, Any] = {
            "key": AttachmentKey(allocation=allocation.key, sandbox_id=sandbox),
            "state": AttachmentState.ATTACHING,
            "pod_uid": "p1",
            "pod_namespace": "default",
            "pod_name": "pod",
            "netns_path": f"/run/netns/{sandbox}",
            "netns_cookie": "4:4026532000",
            "snapshot": {"name": "dummy0", "addresses": ["192.0.2.1/24"], "mtu": 1500},
        }
        return AttachmentRow(**defaults | fields)

    return make
