"""``dragoman explain`` on the cluster: the true reason, which is the one that has to be put right."""

from __future__ import annotations

import json

import pytest

from tests.cluster import build, stuck
from tests.cluster.api import Object
from tests.cluster.case import Case


@pytest.mark.parametrize("kind", stuck.STUCK)
def test_what_keeps_a_pod_from_its_devices_is_named_and_nothing_else_does(case: Case, kind: str) -> None:
    asked = stuck.STUCK[kind]
    if build.minor() < asked.since:
        pytest.skip(f"off by default, or done otherwise, before 1.{asked.since}")
    with asked.on_node(case):
        case.until(lambda: asked.scheduler in _refusal(case), f"the scheduler says: {asked.scheduler}")
        report = _explained(case)
        said = "\n".join([report["text"], *(each["text"] for each in report.get("nodes", ()))])
        assert asked.reason.format(ns=case.namespace) in said
        assert report["state"] == "stuck"
        if asked.cure:
            asked.cure(case)
            case.until(lambda: case.pod("waits")["spec"].get("nodeName"), "with that put right, the pod has its node")
            assert _explained(case)["state"] == "allocated"


def _explained(case: Case) -> Object:
    words = ["--namespace", case.namespace, "--kubeconfig", str(case.node.disk / "admin.kubeconfig"), "-o", "json"]
    (report,) = json.loads(case.agent.cli("explain", "pod/waits", *words, check=False))["subjects"]
    found: Object = report
    return found


def _refusal(case: Case) -> str:
    conditions = case.pod("waits")["status"].get("conditions", ())
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")
