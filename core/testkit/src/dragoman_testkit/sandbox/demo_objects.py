"""The objects of the demo: classes, templates and pods, as a user would write them in YAML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.node import DRIVER

UPLINKS = ("uplink0", "uplink1")
ANY = "any"
"""Name of the class of all devices."""


def settings(link_kind: str) -> JsonObject:
    """Give the agent's settings: what a node's owner offers.

    Three logical pools: dummy links, macvlan links of the first uplink, shares of the second.
    """
    exclusive, shared = UPLINKS
    dummy: JsonObject = {"count": 4} | ({"linkKind": link_kind} if link_kind != "dummy" else {})
    return {
        "deviceManagerConfigs": {
            "dummy": dummy,
            "macvlan": {
                "ifaces": [
                    {"parentIfName": exclusive, "count": 2},
                    {"parentIfName": shared, "count": 4, "shared": True},
                ]
            },
        },
        "pools": [
            {"name": "lab", "filter": {"deviceManagers": ["dummy"]}},
            {"name": "uplink", "filter": {"parentIfNames": [exclusive]}},
            {"name": "shared", "filter": {"parentIfNames": [shared]}},
        ],
        "logging": {"level": "debug"},
    }


def device_class(pool: str, parameters: Mapping[str, Any] | None = None) -> JsonObject:
    """Give a class of the devices of one logical pool, of that name; ``any`` takes those of every pool and of none."""
    expression = f'device.driver == "{DRIVER}"'
    if pool != ANY:
        expression += f' && device.attributes["{DRIVER}"].pool == "{pool}"'
    spec: JsonObject = {"selectors": [{"cel": {"expression": expression}}]}
    if parameters:
        spec["config"] = [{"opaque": {"driver": DRIVER, "parameters": dict(parameters)}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": pool},
        "spec": spec,
    }


def template(name: str, pool: str, parameters: Mapping[str, Any]) -> JsonObject:
    """Give a template for claims of one device, request ``net``."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "spec": {
                "devices": {
                    "requests": [{"name": "net", "exactly": {"deviceClassName": pool}}],
                    "config": [{"requests": ["net"], "opaque": {"driver": DRIVER, "parameters": dict(parameters)}}],
                }
            }
        },
    }


def pod(name: str, template_name: str, command: Sequence[str] = ()) -> JsonObject:
    """Give a pod with one container that uses one claim, ``nic``, made from a template."""
    container: JsonObject = {"name": "app", "image": "any", "resources": {"claims": [{"name": "nic"}]}}
    if command:
        container["command"] = list(command)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "nic", "resourceClaimTemplateName": template_name}],
        },
    }
