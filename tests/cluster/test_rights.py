"""What the agent's account may do is what ``deploy/`` grants, and what is missing is told and waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.cluster import build, witness
from tests.cluster.agent import DRIVER, request_token
from tests.cluster.api import Object
from tests.cluster.case import Case
from tests.cluster.shared.real import real
from tests.cluster.shared.wire import Answer

ROLE = "dragoman-agent"
pytestmark = pytest.mark.skipif(build.minor() < 36, reason="status is authorized by driver since 1.36")


def test_a_status_that_may_not_be_written_costs_no_pod_and_is_written_once_it_may(case: Case) -> None:
    case.create(witness.nic())
    with _without_right_to(case, "resourceclaims/driver"):
        case.create(witness.pod(case, "red"))
        case.running("red")
        claim = case.claim_of("red", "nic")
        answer = _apply(case, claim, request_token(case.node))
        assert (answer.status, answer.reason) == (422, "Invalid")
        assert [(cause["field"], cause["reason"]) for cause in answer.causes] == [
            ("status.devices", "FieldValueForbidden")
        ]
        assert "resourceclaims/driver" in answer.causes[0]["message"]
        assert "associated-node:patch" in answer.causes[0]["message"]
        case.until(lambda: case.agent.status()["pendingStatus"], "the agent has a status to write")
    case.until(lambda: case.claim(claim["metadata"]["name"])["status"].get("devices"), "the status is written")


def test_who_may_not_write_the_subresource_is_forbidden(case: Case) -> None:
    case.create(witness.nic(), witness.pod(case, "red"))
    case.running("red")
    claim = case.claim_of("red", "nic")
    with _without_right_to(case, "resourceclaims/status"):
        token = request_token(case.node)
        case.until(lambda: _apply(case, claim, token).status == 403, "the right is gone")


def _apply(case: Case, claim: Object, token: str) -> Answer:
    """Apply another status of the claim's device, as who holds the token."""
    name = claim["metadata"]["name"]
    result = claim["status"]["allocation"]["devices"]["results"][0]
    entry = {key: result[key] for key in ("driver", "pool", "device")} | {"data": {"by": "somebody"}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}}
    with real(case.node, token) as server:
        path = f"{case.api.path('ResourceClaim', name)}/status"
        return server.apply(path, head | {"status": {"devices": [entry]}}, DRIVER, dryRun="All")


@contextlib.contextmanager
def _without_right_to(case: Case, resource: str) -> Iterator[None]:
    """Take a right from the agent for as long as the context lasts."""
    role = case.node.api.get("ClusterRole", ROLE)
    assert role
    fewer = [rule for rule in role["rules"] if resource not in rule["resources"]]
    assert len(fewer) < len(role["rules"])
    case.node.api.patch("ClusterRole", ROLE, {"rules": fewer})
    try:
        yield
    finally:
        case.node.api.patch("ClusterRole", ROLE, {"rules": role["rules"]})
