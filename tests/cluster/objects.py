"""Objects as a user would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.cluster import build, image
from tests.cluster.agent import DRIVER
from tests.cluster.api import Object

_DRA = "resource.k8s.io/v1"
NAMED_CAPACITY = pytest.mark.skipif(
    build.minor() < 36, reason="before 1.36 a scheduler looks for a named capacity at the first device of a slice only"
)
"""For tests of requests that say how much of a device they need."""
FOREVER = "trap 'exit 0' TERM; sleep 1000000 & wait"
"""A script that ends at once when it is asked to, as the first process of a container must ask for by itself."""


def device_class(pool: str, parameters: Mapping[str, Any] | None = None, *, name: str | None = None) -> Object:
    """Give a class of the devices of one logical pool."""
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].pool == "{pool}"'
    spec: Object = {"selectors": [{"cel": {"expression": expression}}]}
    if parameters:
        spec["config"] = [{"opaque": {"driver": DRIVER, "parameters": dict(parameters)}}]
    return {"apiVersion": _DRA, "kind": "DeviceClass", "metadata": {"name": name or pool}, "spec": spec}


def request(name: str, device_class: str, *, links: int | None = None, **more: Any) -> Object:
    """Ask for one device; ``links``: so much of a shareable one. ``more``: further fields of ``exactly``."""
    return {"name": name, "exactly": _exactly(device_class, links) | more}


def first_available(name: str, *alternatives: Object) -> Object:
    """Ask for the first of several that can be had; each is a ``subrequest``."""
    return {"name": name, "firstAvailable": list(alternatives)}


def subrequest(name: str, device_class: str, *, links: int | None = None, **more: Any) -> Object:
    """Give an alternative."""
    return {"name": name} | _exactly(device_class, links) | more


def config(parameters: Mapping[str, Any], *requests: str) -> Object:
    """Give parameters for some requests of a claim, or for all."""
    return {"requests": list(requests), "opaque": {"driver": DRIVER, "parameters": dict(parameters)}}


def claim(name: str, *requests: Object, config: Sequence[Object] = ()) -> Object:
    """Give a claim that pods name directly."""
    spec = {"devices": _devices(requests, config)}
    return {"apiVersion": _DRA, "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}


def template(name: str, *requests: Object, config: Sequence[Object] = ()) -> Object:
    """Give a template of claims."""
    spec = {"spec": {"devices": _devices(requests, config)}}
    return {"apiVersion": _DRA, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def of_claim(claim: str, name: str | None = None) -> Object:
    """Have a pod use that claim; ``name``: how its containers call it, the claim's name by default."""
    return {"name": name or claim, "resourceClaimName": claim}


def of_template(template: str, name: str | None = None) -> Object:
    """Have a pod use a claim of its own, made from that template."""
    return {"name": name or template, "resourceClaimTemplateName": template}


def container(name: str, *claims: str | Object, script: str = FOREVER) -> Object:
    """Give a container that runs a shell script; ``claims``: of the pod, by name or with ``request``."""
    used = [{"name": each} if isinstance(each, str) else each for each in claims]
    return {
        "name": name,
        "image": image.BUSYBOX,
        "imagePullPolicy": "Never",
        "command": ["/bin/sh", "-c", script],
        "resources": {"claims": used},
    }


def pod(
    name: str,
    *claims: Object,
    script: str = FOREVER,
    containers: Sequence[Object] | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Give a pod; without ``containers`` it has one, ``app``, that uses all claims and runs the script."""
    inside = containers or [container("app", *(each["name"] for each in claims), script=script)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "resourceClaims": list(claims),
            "containers": list(inside),
        }
        | spec,
    }


def job(name: str, template: Object, **spec: Any) -> Object:
    """Give a job of one such pod."""
    inside = {"metadata": {"labels": template["metadata"]["labels"]}, "spec": {"restartPolicy": "Never"}}
    inside["spec"] = template["spec"] | inside["spec"]
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": inside} | spec}


def _exactly(device_class: str, links: int | None) -> Object:
    asked: Object = {"deviceClassName": device_class}
    if links is not None:
        # A capacity is asked for by its full name; see what the driver publishes.
        asked["capacity"] = {"requests": {"links": str(links)}}
    return asked


def _devices(requests: Sequence[Object], config: Sequence[Object]) -> Object:
    return {"requests": list(requests), "config": list(config)}
