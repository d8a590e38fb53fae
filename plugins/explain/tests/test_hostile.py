"""Mutated manifests give a result or a clear error, never a traceback."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman_explain.command import command
from dragoman_hookspecs import DragomanError

from .cluster_folder import (
    Json,
    claim,
    device,
    device_class,
    held,
    metadata,
    node,
    nowhere,
    pod,
    request,
    save,
    slice_,
    template,
)

CONTAINERS: list[Json] = [
    {
        "name": "c",
        "resources": {
            "requests": {"cpu": "1", "deviceclass.resource.kubernetes.io/nic": "1"},
            "limits": {"deviceclass.resource.kubernetes.io/nic": "1"},
            "claims": [{"name": "a"}],
        },
    }
]
WORLD: list[Json] = [
    node(zone="east") | {"status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}},
    device_class("nic", 'device.driver == "dra.example.com"'),
    slice_(name="s0", count=2, sharedCounters=[{"name": "m", "counters": {"t": {"value": "4Gi"}}}]),
    slice_(
        device("d1", attributes={"x": {"int": 1}}, taints=[{"key": "k", "effect": "NoExecute"}]),
        device(
            "d2",
            allowMultipleAllocations=True,
            capacity={
                "bw": {"value": "10", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "1"}}}
            },
        ),
        device("d3", consumesCounters=[{"counterSet": "m", "counters": {"t": {"value": "1Gi"}}}]),
        count=2,
    ),
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": metadata("r", None),
        "spec": {
            "deviceSelector": {"device": "d2"},
            "taint": {"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        },
    },
    claim(
        "mine",
        request("a", selectors=[{"cel": {"expression": "true"}}], capacity={"requests": {"bw": "1"}}),
        request("b", tolerations=[{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]),
        constraints=[{"matchAttribute": "dra.example.com/x", "requests": ["a", "b"]}],
    ),
    held("theirs", "d1", users=[{"resource": "pods", "name": "web", "uid": "uid-web"}], bindingConditions=["ready"]),
    template("nics", request("t", allocationMode="All")),
    pod("web", {"name": "a", "resourceClaimName": "theirs"}, nodeName="node-a", containers=CONTAINERS),
    pod(
        "app",
        {"name": "a", "resourceClaimName": "mine"},
        {"name": "b", "resourceClaimTemplateName": "nics"},
        containers=CONTAINERS,
    ),
]
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1,
        2**70,
        1.5,
        "",
        "x",
        "1Gi",
        "-1",
        "\x00",
        "2026",
        [],
        {},
        [None],
        [1],
        {"a": None},
        {"x": {"y": []}},
    ]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(place for key, child in children for place in _places(child, (*path, key)))]


PLACES = [place for place in _places(WORLD) if place]


def _mutated(changes: list[tuple[tuple[Any, ...], Any]]) -> list[Json]:
    world: Any = copy.deepcopy(WORLD)
    for path, junk in changes:
        at = world
        for step in path[:-1]:
            try:
                at = at[step]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(at, dict) or (isinstance(at, list) and path[-1] in range(len(at))):
                at[path[-1]] = copy.deepcopy(junk)
    found: list[Json] = world
    return found


@pytest.mark.parametrize("subject", [[], ["pod/app"], ["claim/theirs"], ["template/nics"]], ids=str)
@settings(
    derandomize=True, max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=3))
def test_mutated_manifests_give_a_result_or_a_clear_error(
    subject: list[str], changes: list[tuple[tuple[Any, ...], Any]], tmp_path: Path
) -> None:
    save(tmp_path / "w.yaml", *_mutated(changes))
    arguments = [*subject, "-f", str(tmp_path), "--features", "DRANodeAllocatableResources=true"]
    result = CliRunner().invoke(command(nowhere), arguments)
    if isinstance(result.exception, DragomanError):
        assert str(result.exception)
        assert "\n" not in str(result.exception)
    elif isinstance(result.exception, BaseException) and not isinstance(result.exception, SystemExit):
        raise result.exception
    else:
        assert result.exit_code in (0, 3, 4)
        assert result.stdout.strip()
