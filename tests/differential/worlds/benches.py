"""Worlds to measure by: each is one line, written piece by piece, for the biggest has 75 MB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.differential.worlds.devices import Json

DRIVER = "nic.example.com"
PARTS = "parts.example.com"


def pool_status(nodes: int = 5_000, devices: int = 64, claims: int = 100_000) -> Iterator[str]:
    """Write a cluster with one pool a node, and a claim for a third of the devices."""
    yield '{"id": "poolstatus", "kind": "bench", "bench": "poolstatus", "taintRules": [], "request": '
    yield json.dumps({"metadata": {"name": "all"}, "spec": {"driver": DRIVER, "limit": 1000}})
    yield ', "slices": ['
    for i in range(nodes):
        yield ("," if i else "") + json.dumps(_slice(i, devices))
    yield '], "claims": ['
    for i in range(claims):
        yield ("," if i else "") + json.dumps(_held(i, i % nodes, i // nodes % devices))
    yield "]}\n"


def allocate(nodes: int = 100, devices: int = 64, claims: int = 1_000) -> Iterator[str]:
    """Write nodes with devices, and claims of four kinds that are placed one after the other."""
    question: Json = {
        "id": "allocate",
        "kind": "bench",
        "bench": "allocate",
        "nodes": [{"metadata": {"name": f"node-{i}"}} for i in range(nodes)],
        "slices": [_slice(i, devices) for i in range(nodes)],
        "classes": [_class(DRIVER)],
        "claims": [_claim(i) for i in range(claims)],
    }
    yield json.dumps(question) + "\n"


def hard(devices: int = 14, repeats: int = 10) -> Iterator[str]:
    """Write one node and claims that all but fit: each way to serve their first requests is tried in vain."""
    question: Json = {
        "id": "hard",
        "kind": "bench",
        "bench": "allocate",
        "nodes": [{"metadata": {"name": "node-0"}}],
        "slices": [_slice(0, devices), *_partitions(devices)],
        "classes": [_class(DRIVER), _class(PARTS)],
        "claims": _hopeless() * repeats,
    }
    yield json.dumps(question) + "\n"


def _hopeless() -> list[Json]:
    """Make claims that fail by a selector, by counters, by capacity and by what must be distinct."""
    pair = {"name": "pair", "exactly": {"deviceClassName": DRIVER, "count": 2}}
    near = {"name": "near", "firstAvailable": [_wanted("fast", count=2), _wanted("any", count=1)]}
    more = {"name": "more", "exactly": {"deviceClassName": DRIVER, "count": 2}}
    none = {
        "name": "none",
        "exactly": {"deviceClassName": DRIVER, "selectors": [_cel(f'{_attributes()}.kind == "none"')]},
    }
    parts = [{"name": f"part-{i}", "exactly": {"deviceClassName": PARTS}} for i in range(5)]
    big = {"name": "big", "exactly": {"deviceClassName": DRIVER, "capacity": {"requests": {"bandwidth": "20G"}}}}
    match = {"requests": ["pair", "near"], "matchAttribute": f"{DRIVER}/numa"}
    distinct = {"requests": ["pair", "more"], "distinctAttribute": f"{DRIVER}/kind"}
    return [
        _waiting("selector", [pair, near, more, none], [match]),
        _waiting("counters", parts, []),
        _waiting("capacity", [pair, near, big], []),
        _waiting("distinct", [near, pair, more], [distinct]),
    ]


def _waiting(name: str, requests: list[Json], constraints: list[Json]) -> Json:
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": requests, "constraints": constraints}},
    }


def _partitions(devices: int) -> list[Json]:
    """Make a pool whose counters are enough for four devices at once."""
    counters = {"set": {"memory": {"value": "4"}}}
    takes = [{"counterSet": "set", "counters": {"memory": {"value": "1"}}}]
    base = {"driver": PARTS, "nodeName": "node-0"}
    pool = {"name": "parts", "generation": 1, "resourceSliceCount": 2}
    parts = [{"name": f"part-{i}", "consumesCounters": takes} for i in range(devices // 2)]
    sets = [{"name": name, "counters": inner} for name, inner in counters.items()]
    return [
        {"metadata": {"name": "parts-0"}, "spec": base | {"pool": pool, "devices": parts}},
        {"metadata": {"name": "parts-1"}, "spec": base | {"pool": pool, "sharedCounters": sets}},
    ]


def write(lines: Iterator[str], path: Path) -> Path:
    """Write a world to a file."""
    with path.open("w") as file:
        file.writelines(lines)
    return path


def _slice(node: int, devices: int) -> Json:
    return {
        "metadata": {"name": f"node-{node}-{DRIVER}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": f"node-{node}",
            "pool": {"name": f"node-{node}", "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(i) for i in range(devices)],
        },
    }


def _device(number: int) -> Json:
    attributes = {
        "kind": {"string": ("fast", "slow", "old")[number % 3]},
        "numa": {"int": number % 2},
        "root": {"string": f"pci{number % 8}"},
    }
    return {"name": f"dev-{number}", "attributes": attributes, "capacity": {"bandwidth": {"value": "10G"}}}


def _held(number: int, node: int, device: int) -> Json:
    result = {"request": "r0", "driver": DRIVER, "pool": f"node-{node}", "device": f"dev-{device}"}
    return {
        "metadata": {"name": f"claim-{number}", "namespace": "ns", "uid": f"uid-{number}"},
        "spec": {"devices": {"requests": [{"name": "r0", "exactly": {"deviceClassName": DRIVER}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def _claim(number: int) -> Json:
    spec: Json = {"requests": [_one(number)]}
    if number % 4 == 3:
        spec["requests"] = [_one(0), {"name": "r1", "exactly": {"deviceClassName": DRIVER, "count": 2}}]
        spec["constraints"] = [{"requests": ["r0", "r1"], "matchAttribute": f"{DRIVER}/numa"}]
    metadata = {"name": f"claim-{number}", "namespace": "ns", "uid": f"uid-{number}"}
    return {"metadata": metadata, "spec": {"devices": spec}}


def _one(number: int) -> Json:
    match number % 4:
        case 1:
            return {
                "name": "r0",
                "exactly": {"deviceClassName": DRIVER, "selectors": [_cel(f'{_attributes()}.kind == "fast"')]},
            }
        case 2:
            return {"name": "r0", "firstAvailable": [_wanted("old", count=2), _wanted("slow", count=1)]}
    return {"name": "r0", "exactly": {"deviceClassName": DRIVER, "count": 1 + number % 2}}


def _wanted(kind: str, count: int) -> Json:
    found: Json = {"name": kind, "deviceClassName": DRIVER, "count": count}
    if kind != "any":
        found["selectors"] = [_cel(f'{_attributes()}.kind == "{kind}"')]
    return found


def _class(driver: str) -> Json:
    return {"metadata": {"name": driver}, "spec": {"selectors": [_cel(f'device.driver == "{driver}"')]}}


def _cel(expression: str) -> Json:
    return {"cel": {"expression": expression}}


def _attributes() -> str:
    return f'device.attributes["{DRIVER}"]'
