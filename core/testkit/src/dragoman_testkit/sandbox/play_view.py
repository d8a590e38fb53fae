"""Objects as ``dragoman sandbox get`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from dragoman.cli.output import table
from dragoman_hookspecs import JsonObject

Row = Sequence[Any]


def render(plural: str, objects: Sequence[JsonObject], output: str) -> str:
    """Give objects of one kind as a table or as YAML."""
    if output == "yaml":
        return yaml.safe_dump_all(objects, sort_keys=False).rstrip()
    if not objects:
        return f"there are no {plural}"
    columns, row = _VIEWS.get(plural, (("name",), lambda obj: (obj["metadata"]["name"],)))
    return "\n".join(table(columns, [row(obj) for obj in objects]))


def _pod(pod: JsonObject) -> Row:
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    waiting = [c["state"]["waiting"] for c in containers if "waiting" in c["state"]]
    conditions = [c["message"] for c in status.get("conditions") or () if c["status"] == "False"]
    notes = [f"{entry['reason']}: {entry['message']}" for entry in waiting] or conditions
    phase = "Terminating" if "deletionTimestamp" in pod["metadata"] else status.get("phase") or "Pending"
    return pod["metadata"]["name"], phase, sum(c["restartCount"] for c in containers), "; ".join(notes)


def _claim(claim: JsonObject) -> Row:
    status = claim.get("status") or {}
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    ready = [
        f"{c['type']}={c['status']}" for device in status.get("devices") or () for c in device.get("conditions") or ()
    ]
    pods = [consumer["name"] for consumer in status.get("reservedFor") or ()]
    return claim["metadata"]["name"], [result["device"] for result in results], pods, ready


def _slice(slice_: JsonObject) -> Row:
    spec = slice_["spec"]
    names = [device["name"] for device in spec.get("devices") or ()]
    return slice_["metadata"]["name"], spec["pool"]["name"], spec["pool"]["generation"], names


def _class(class_: JsonObject) -> Row:
    selectors = [
        (entry.get("cel") or {}).get("expression", "") for entry in (class_.get("spec") or {}).get("selectors") or ()
    ]
    return class_["metadata"]["name"], selectors


def _event(event: JsonObject) -> Row:
    about = event.get("involvedObject") or event.get("regarding") or {}
    subject = f"{about.get('kind', '')}/{about.get('name', '')}"
    return subject, event.get("reason"), event.get("count"), event.get("message") or event.get("note")


_VIEWS: Mapping[str, tuple[Sequence[str], Callable[[JsonObject], Row]]] = {
    "pods": (("name", "phase", "restarts", "note"), _pod),
    "resourceclaims": (("name", "devices", "pods", "conditions"), _claim),
    "resourceslices": (("name", "pool", "generation", "devices"), _slice),
    "deviceclasses": (("name", "selectors"), _class),
    "events": (("object", "reason", "count", "message"), _event),
}
