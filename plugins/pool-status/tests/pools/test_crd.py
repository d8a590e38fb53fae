"""The CRD has the same members as the library's objects, and a status can be set once."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from dragoman_allocator.objects import PoolStatusRequest
from dragoman_pool_status.kinds import OWN

FILE = Path(__file__).resolve().parents[4] / "deploy" / "crds" / "resourcepoolstatusrequests.yaml"
CRD: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))
(VERSION,) = CRD["spec"]["versions"]
SCHEMA: dict[str, Any] = VERSION["schema"]["openAPIV3Schema"]


def members(schema: Any, path: str = "") -> set[str]:
    """Name every member of a schema of the CRD."""
    found = {path} if path else set()
    for name, below in schema.get("properties", {}).items():
        found |= members(below, f"{path}.{name}")
    return found | (members(schema["items"], path) if "items" in schema else set())


def of_struct(kind: Any, path: str = "") -> set[str]:
    """Name every member of a struct."""
    found = {path} if path else set()
    if isinstance(kind, msgspec.inspect.UnionType):
        return found.union(*(of_struct(each, path) for each in kind.types))
    if isinstance(kind, msgspec.inspect.ListType):
        return found | of_struct(kind.item_type, path)
    if isinstance(kind, msgspec.inspect.StructType):
        for field in kind.fields:
            found |= of_struct(field.type, f"{path}.{field.encode_name}")
    return found


def test_the_path_that_is_watched_is_that_of_the_crd() -> None:
    names = CRD["spec"]["names"]

    assert OWN.path == f"/apis/{CRD['spec']['group']}/{VERSION['name']}/{names['plural']}"
    assert (CRD["spec"]["scope"], names["kind"]) == ("Cluster", "ResourcePoolStatusRequest")
    assert CRD["metadata"]["name"] == f"{names['plural']}.{CRD['spec']['group']}"


def test_its_members_are_those_of_the_request() -> None:
    ours = {
        name for name in of_struct(msgspec.inspect.type_info(PoolStatusRequest)) if not name.startswith(".metadata")
    }

    assert members(SCHEMA) - {".apiVersion", ".kind", ".metadata"} == ours


def test_spec_and_status_cannot_be_changed_and_status_cannot_be_removed() -> None:
    rules = [each["rule"] for each in SCHEMA["x-kubernetes-validations"]]

    for part in ("spec", "status"):
        assert [each["rule"] for each in SCHEMA["properties"][part]["x-kubernetes-validations"]] == ["self == oldSelf"]
    assert rules == ["!has(oldSelf.status) || has(self.status)"]
    assert VERSION["subresources"] == {"status": {}}


def test_a_limit_is_set_where_none_is_given() -> None:
    assert SCHEMA["properties"]["spec"]["properties"]["limit"]["default"] == 100
