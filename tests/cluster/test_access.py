"""What ``deploy/`` gives the agent's account is enough for its work, as the other tests show, and not more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster import agent as agents
from tests.cluster import build, files
from tests.cluster.api import Api, ApiError, Object
from tests.cluster.case import Case
from tests.cluster.objects import claim, of_claim, pod, request
from tests.cluster.shared.wire import slice_of

NODE_NAME = "authentication.kubernetes.io/node-name"


def test_the_token_of_the_agent_is_associated_with_its_node(case: Case) -> None:
    review = case.api.request(
        "POST",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": agents.request_token(case.node)},
        },
    )
    user = review["status"]["user"]
    assert user["username"] == "system:serviceaccount:dragoman:dragoman-agent"
    assert user["extra"][NODE_NAME] == [files.NODE]


@pytest.mark.skipif(build.minor() < 36, reason="before 1.36 device status is not authorized by driver")
def test_device_status_is_for_the_account_on_the_node_of_the_claim_only(case: Case) -> None:
    case.create(claim("nic", request("net", "lab")), pod("red", of_claim("nic")))
    case.running("red")
    case.until(lambda: case.claim("nic")["status"].get("devices"), "the agent has told its device")
    for bound, refused in ((True, False), (False, True)):
        account = case.api.bearing(agents.request_token(case.node, bound=bound))
        if refused:
            with pytest.raises(ApiError, match="resourceclaims/driver"):
                tell(account, case.claim("nic"))
        else:
            tell(account, case.claim("nic"))


def test_slices_of_other_nodes_are_not_for_the_account_on_this_one(case: Case) -> None:
    account = case.api.bearing(agents.request_token(case.node))
    theirs, ours = (slice_of("d.example.com", name=f"of-{node}", nodeName=node) for node in ("elsewhere", files.NODE))
    case.create(theirs)
    try:
        for write in (
            lambda: account.create(slice_of("d.example.com", nodeName="elsewhere")),
            lambda: account.create(slice_of("d.example.com", nodeName=None, allNodes=True)),
            lambda: account.delete("ResourceSlice", "of-elsewhere"),
        ):
            with pytest.raises(ApiError, match="slices of that node only"):
                write()
        account.create(ours)
        account.delete("ResourceSlice", f"of-{files.NODE}")
    finally:
        case.api.delete("ResourceSlice", "of-elsewhere")


REQUESTS: dict[str, Callable[[Api], object]] = {
    "list all claims": lambda account: account.list("ResourceClaim", everywhere=True),
    "list nodes": lambda account: account.list("Node"),
    "get a pod": lambda account: account.get("Pod", "nic"),
    "delete a pod": lambda account: account.delete("Pod", "nic"),
    "change a claim": lambda account: account.patch("ResourceClaim", "nic", {"metadata": {"labels": {"a": "b"}}}),
}


@pytest.mark.parametrize("what", REQUESTS)
def test_the_account_may_not_do_what_the_agent_need_not(case: Case, what: str) -> None:
    account = case.api.bearing(agents.request_token(case.node))
    case.create(claim("nic", request("net", "lab")), pod("nic", of_claim("nic")))
    with pytest.raises(ApiError, match=r"cannot (list|get|delete|patch) resource") as refused:
        REQUESTS[what](account)
    assert refused.value.code == 403


def tell(account: Api, claim: Object) -> None:
    """Change the condition of the claim's device, as the agent's account."""
    (entry,) = claim["status"]["devices"]
    entry["conditions"][0]["message"] = f"changed by {account}"
    account.patch("ResourceClaim", claim["metadata"]["name"], {"status": {"devices": [entry]}}, sub="status")
