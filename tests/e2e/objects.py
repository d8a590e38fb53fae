"""Objects of the API as users write them: classes, claims, templates, pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.node import DRIVER

CLASS = "devices"
"""Class of all devices of the driver."""


def device_class(name: str = CLASS, expression: str = "", parameters: Mapping[str, Any] | None = None) -> JsonObject:
    """Give a class of the driver's devices, with a further selector and parameters if wanted."""
    terms = " && ".join(filter(None, (f'device.driver == "{DRIVER}"', expression)))
    spec: JsonObject = {"selectors": [{"cel": {"expression": terms}}]}
    if parameters is not None:
        spec["config"] = [{"opaque": {"driver": DRIVER, "parameters": dict(parameters)}}]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def manager_is(type_: str) -> str:
    """Give a selector for the devices of one manager."""
    return f'device.attributes["{DRIVER}"].deviceManager == "{type_}"'


def request(name: str = "net", device_class_name: str = CLASS, **exactly: Any) -> JsonObject:
    """Give a request for one device of a class."""
    return {"name": name, "exactly": {"deviceClassName": device_class_name, **exactly}}


def config(parameters: Mapping[str, Any], *requests: str) -> JsonObject:
    """Give parameters for all or for some requests of a claim."""
    entry: JsonObject = {"opaque": {"driver": DRIVER, "parameters": dict(parameters)}}
    return {"requests": list(requests), **entry} if requests else entry


def devices(requests: Sequence[JsonObject], configs: Sequence[JsonObject] = ()) -> JsonObject:
    """Give the spec of a claim."""
    return {"devices": {"requests": list(requests), **({"config": list(configs)} if configs else {})}}


def claim(name: str, spec: JsonObject) -> JsonObject:
    """Give a claim that no template makes."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def template(name: str, spec: JsonObject) -> JsonObject:
    """Give a template for claims."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": spec},
    }


def pod(
    name: str,
    *,
    claims: Mapping[str, str] | None = None,
    templates: Mapping[str, str] | None = None,
    containers: Mapping[str, Sequence[JsonObject]] | None = None,
    host_network: bool = False,
) -> JsonObject:
    """Give a pod: its claims by their names in the pod, and of each container what it uses; one uses all by default."""
    entries = [{"name": key, "resourceClaimName": value} for key, value in (claims or {}).items()]
    entries += [{"name": key, "resourceClaimTemplateName": value} for key, value in (templates or {}).items()]
    used = containers or {"app": [{"name": entry["name"]} for entry in entries]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [
                {"name": container, "image": "any", "resources": {"claims": list(uses)}}
                for container, uses in used.items()
            ],
            "resourceClaims": entries,
            **({"hostNetwork": True} if host_network else {}),
        },
    }
