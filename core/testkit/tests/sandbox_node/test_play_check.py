"""Objects that ``dragoman sandbox apply`` refuses, because an API server would."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox import demo_objects
from dragoman_testkit.sandbox.play_check import faults

POD = demo_objects.pod("web", "nic")
CLASS = demo_objects.device_class("lab")


def changed(obj: JsonObject, path: str, value: object) -> JsonObject:
    """Give the object with another value at a path of keys and indexes; None takes the key away."""
    new = copy.deepcopy(obj)
    *parents, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    inner: Any = new
    for key in parents:
        inner = inner[key]
    inner[last] = value
    if value is None:
        del inner[last]
    return new


@pytest.mark.parametrize(
    "good",
    [
        POD,
        CLASS,
        demo_objects.template("nic", "lab", {"mtu": 1400}),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
        changed(changed(POD, "metadata.name", None), "metadata.generateName", "web-"),
        changed(POD, "spec.containers.0.command", ["sh", "-c", "true"]),
    ],
)
def test_what_is_right_is_taken(good: JsonObject) -> None:
    assert faults(good) == []


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({}, "no such kind"),
        ({"apiVersion": 7, "kind": ["Pod"]}, "no such kind"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "no such kind; it knows DeviceClass, Event"),
        (changed(CLASS, "apiVersion", "resource.k8s.io/v1beta1"), "takes resource.k8s.io/v1, not"),
        (changed(POD, "metadata", None), "metadata.name: "),
        (changed(POD, "metadata", "web"), "metadata: must be an object"),
        (changed(POD, "metadata.name", "A B"), "metadata.name: "),
        (changed(POD, "spec", None), "spec.containers: Required value"),
        (changed(POD, "spec", 3), "spec: "),
        (changed(POD, "spec.containers", "app"), "spec.containers: "),
        (changed(POD, "spec.containers", []), "spec.containers: Required value"),
        (changed(POD, "spec.containers.0.name", None), "spec.containers[0].name: "),
        (changed(POD, "spec.containers.0.command", "sleep 1"), "spec.containers[0].command: must be a list of texts"),
        (changed(POD, "spec.containers.0.args", [1]), "spec.containers[0].args: must be a list of texts"),
        (changed(POD, "spec.containers", POD["spec"]["containers"] * 2), "containers[1].name: Duplicate value"),
        (changed(POD, "spec.resourceClaims", None), 'spec.containers[0].resources.claims: Not found: "nic"'),
        (changed(POD, "spec.resourceClaims.0.name", None), "spec.resourceClaims[0].name: "),
        (changed(POD, "spec.resourceClaims.0.resourceClaimName", "x"), "spec.resourceClaims[0]: must specify one of"),
        (changed(CLASS, "spec.selectors.0.cel.expression", "device."), "spec.selectors[0].cel.expression: "),
        (changed(CLASS, "spec.selektors", []), 'unknown field "spec.selektors"'),
        (changed(CLASS, "spec", 3), "spec"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(bad: JsonObject, why: str) -> None:
    assert why in "; ".join(faults(bad))
