"""Small clusters as folders of YAML, and the command over them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from dragoman_explain.command import command
from dragoman_hookspecs import Connect, DragomanError

Json = dict[str, Any]

DRIVER = "dra.example.com"
GROUP = "resource.k8s.io/v1"


def nowhere(kubeconfig: Path | None, context: str | None, request_timeout: float | None = None) -> Any:
    raise DragomanError("no cluster in this test")


def metadata(name: str, namespace: str | None = "default", **rest: Any) -> Json:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **rest}


def node(name: str = "node-a", **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata(name, None, labels=labels)}


def device_class(name: str = "nic", *expressions: str) -> Json:
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {
        "apiVersion": GROUP,
        "kind": "DeviceClass",
        "metadata": metadata(name, None),
        "spec": {"selectors": selectors},
    }


def device(name: str, **rest: Any) -> Json:
    return {"name": name, **rest}


def slice_(
    *devices: Json, name: str = "s1", of: str | None = "node-a", count: int = 1, gen: int = 1, **spec: Any
) -> Json:
    pool = {"name": "p", "generation": gen, "resourceSliceCount": count}
    body = {"driver": DRIVER, "pool": pool, **({"nodeName": of} if of else {}), **spec}
    if devices:
        body["devices"] = list(devices)
    return {"apiVersion": GROUP, "kind": "ResourceSlice", "metadata": metadata(name, None), "spec": body}


def request(name: str = "r", **exactly: Any) -> Json:
    return {"name": name, "exactly": {"deviceClassName": "nic", **exactly}}


def spec(*requests: Json, constraints: Sequence[Json] = ()) -> Json:
    return {"devices": {"requests": list(requests or [request()]), "constraints": list(constraints)}}


def claim(name: str = "mine", *requests: Json, constraints: Sequence[Json] = (), **rest: Any) -> Json:
    body = spec(*requests, constraints=constraints)
    return {"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": metadata(name), "spec": body, **rest}


def held(name: str, *devices: str, users: Sequence[Json] = (), **rest: Any) -> Json:
    """A claim that holds these devices."""
    results = [{"request": "r", "driver": DRIVER, "pool": "p", "device": each, **rest} for each in devices]
    return claim(name, status={"allocation": {"devices": {"results": results}}, "reservedFor": list(users)})


def template(name: str = "nics", *requests: Json) -> Json:
    body = {"spec": spec(*requests)}
    return {"apiVersion": GROUP, "kind": "ResourceClaimTemplate", "metadata": metadata(name), "spec": body}


def pod(name: str = "web", *claims: Json, **rest: Any) -> Json:
    body = {"containers": [{"name": "c"}], "resourceClaims": list(claims), **rest}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name, uid=f"uid-{name}"), "spec": body}


def save(path: Path, *objects: Json) -> Path:
    path.write_text(yaml.safe_dump_all(objects))
    return path


def run(*arguments: str | Path, connect: Connect = nowhere) -> Result:
    """Run the command as its plugin registers it."""
    return CliRunner().invoke(command(connect), [str(each) for each in arguments])


Explain = Callable[..., Json]


def explained(folder: Path, subject: str, *objects: Json, options: Sequence[str] = ()) -> tuple[Json, int]:
    """Explain one subject of a folder; give its report as JSON and the exit code."""
    save(folder / "world.yaml", *objects)
    result = run(subject, "-f", folder, "-o", "json", *options)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    (report,) = json.loads(result.stdout)["subjects"]
    return report, result.exit_code
