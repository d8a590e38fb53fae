"""The claim for extended resources that devices provide: from which class, for which containers, on which node."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_allocator.accounting import extended
from dragoman_allocator.decode import decode
from dragoman_allocator.objects import DeviceClass, Node, Pod, ResourceClaim

NIC = "example.com/nic"


def device_class(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    metadata = {"name": name} | ({"creationTimestamp": created} if created else {})
    return decode(DeviceClass, {"metadata": metadata, "spec": {"extendedResourceName": resource} if resource else {}})


def container(count: int, name: str = "c", **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {NIC: str(count), "cpu": "1"}}, **more}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Pod:
    metadata = {"name": "pod", "namespace": "ns", "uid": "uid-pod"}
    return decode(Pod, {"metadata": metadata, "spec": {"containers": list(containers), "initContainers": list(init)}})


def node(**allocatable: str) -> Node:
    return decode(Node, {"metadata": {"name": "n1"}, "status": {"allocatable": allocatable}})


def requested(of: Pod, on: Node | None = None, *classes: DeviceClass) -> list[tuple[str, str, int]]:
    known = extended.ExtendedClasses(classes or [device_class("nics", NIC)])
    claim, _ = extended.claim_on_node(extended.new_claim(of), of, on or node(), known)
    requests = claim.spec.devices.requests or []
    return [(each.name, each.exactly.device_class_name, each.exactly.count) for each in requests if each.exactly]


def test_of_several_classes_for_a_resource_the_newest_counts_then_the_first_by_name() -> None:
    old, new = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
    classes = extended.ExtendedClasses(
        [device_class("b", NIC, new), device_class("a", NIC, new), device_class("c", NIC, old)]
    )
    assert classes.provider(NIC) == "a"


def test_every_class_provides_a_resource_of_its_own_name() -> None:
    classes = extended.ExtendedClasses([device_class("nics")])
    assert classes.provider("deviceclass.resource.kubernetes.io/nics") == "nics"
    assert classes.provider(NIC) is None


def test_a_class_without_a_name_provides_a_resource_all_the_same() -> None:
    classes = extended.ExtendedClasses([device_class("", NIC)])
    assert classes.wanted_by(pod(container(1)))
    assert not classes.wanted_by(pod(container(0)))


def test_each_container_has_a_request_named_by_its_place_and_that_of_the_resource() -> None:
    assert requested(pod(container(2), container(1))) == [
        ("container-0-request-1", "nics", 2),
        ("container-1-request-1", "nics", 1),
    ]


def test_a_resource_that_the_node_has_by_a_device_plugin_is_not_requested() -> None:
    assert requested(pod(container(2)), node(**{NIC: "4"})) == []
    assert requested(pod(container(2)), node(**{NIC: "0"})) == [("container-0-request-1", "nics", 2)]


def test_a_resource_that_comes_from_nowhere_does_not_fit() -> None:
    other = {"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}
    with pytest.raises(extended.Unfit):
        requested(pod(container(1), other))


def test_init_containers_use_the_devices_of_later_containers_and_share_what_they_need_beyond() -> None:
    init = (container(3), container(5), container(1))
    assert requested(pod(container(2), init=init)) == [
        ("container-1-request-1", "nics", 3),
        ("container-3-request-1", "nics", 2),
    ]


def test_a_sidecar_keeps_its_devices_and_lends_them_to_earlier_init_containers_only() -> None:
    sidecar = container(2, restartPolicy="Always")
    assert requested(pod(init=(container(2), sidecar))) == [("container-1-request-1", "nics", 2)]
    assert requested(pod(init=(sidecar, container(2)))) == [
        ("container-0-request-1", "nics", 2),
        ("container-1-request-1", "nics", 2),
    ]


def test_a_claim_left_by_an_earlier_attempt_is_known_by_its_owner() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": "uid-pod", "controller": True}
    annotations = {extended.ANNOTATION: "true"}
    metadata = {"name": "x", "namespace": "ns", "uid": "u", "annotations": annotations, "ownerReferences": [owner]}
    claim = decode(ResourceClaim, {"metadata": metadata, "spec": {}})
    assert extended.former_claim(pod(), [claim]) is claim
    other = decode(ResourceClaim, {"metadata": metadata | {"ownerReferences": [owner | {"uid": "other"}]}, "spec": {}})
    assert extended.former_claim(pod(), [other]) is None
