"""What a kubelet tells of pods' devices on its pod-resources socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from dragoman.kubelet._proto import podresources_pb2 as messages
from tests.cluster.shared.kubelets import Kubelet
from tests.cluster.shared.pods import NAMESPACE, POOL, Result
from tests.cluster.shared.preparing import Preparing, device, registered
from tests.cluster.waiting import until


@pytest.fixture
def driver(kubelet: Kubelet) -> Iterator[Preparing]:
    """A registered driver."""
    with registered(kubelet) as driver:
        yield driver


def ask(kubelet: Kubelet, method: str, request: Any, answer: Any) -> Any:
    """Ask on the socket. Raises ``grpc.RpcError``."""
    socket = kubelet.reach(kubelet.root / "pod-resources" / "kubelet.sock")
    with grpc.insecure_channel(f"unix:{socket}", options=[("grpc.default_authority", "localhost")]) as channel:
        call = channel.unary_unary(
            f"/v1.PodResourcesLister/{method}", lambda it: it.SerializeToString(), answer.FromString
        )
        return call(request, timeout=60, wait_for_ready=True)


def told(pod: Any) -> dict[str, list[tuple[str, str, list[tuple[str, list[str]]]]]]:
    """Give the claims of each container: namespace, name, and its devices with their CDI ids."""
    return {
        container.name: [
            (
                each.claim_namespace,
                each.claim_name,
                [(item.device_name, [cdi.name for cdi in item.cdi_devices]) for item in each.claim_resources],
            )
            for each in container.dynamic_resources
        ]
        for container in pod.containers
    }


def test_devices_are_listed_with_all_ids_of_their_claim_up_to_them(driver: Preparing) -> None:
    kubelet, pods, kind = driver.kubelet, driver.kubelet.pods, f"{driver.name}/nic"
    claim = pods.claim(Result(driver.name), Result(driver.name, device="dev-1", request="back"))
    driver.answers[claim.name] = (
        device("dev-0", f"{kind}=a", f"{kind}=guard"),
        device("dev-1", f"{kind}=b", requests=("back",)),
    )
    pod = pods.start(claim, containers=[("app", [(claim, "back")]), ("log", [])])
    until(lambda: driver.calls, "the claim is prepared")
    request = messages.GetPodResourcesRequest(pod_name=pod, pod_namespace=NAMESPACE)

    def get() -> Any:
        found = ask(kubelet, "Get", request, messages.GetPodResourcesResponse).pod_resources
        return found if any(container.dynamic_resources for container in found.containers) else None

    found = until(get, "the devices are told")
    ids = [f"{kind}=a", f"{kind}=guard"]
    assert told(found) == {
        "app": [(NAMESPACE, claim.name, [("dev-0", ids), ("dev-1", [*ids, f"{kind}=b"])])],
        "log": [],
    }
    resources = found.containers[0].dynamic_resources[0].claim_resources
    assert {(each.driver_name, each.pool_name) for each in resources} == {(driver.name, POOL)}
    listed = ask(kubelet, "List", messages.ListPodResourcesRequest(), messages.ListPodResourcesResponse).pod_resources
    assert [told(each) for each in listed if each.name == pod] == [told(found)]
    pods.stop(pod)
    until(lambda: pods.gone(pod), "the pod is gone")


def test_a_pod_that_is_not_there_is_an_unknown_error(kubelet: Kubelet) -> None:
    request = messages.GetPodResourcesRequest(pod_name="nobody", pod_namespace=NAMESPACE)
    with pytest.raises(grpc.RpcError) as raised:
        ask(kubelet, "Get", request, messages.GetPodResourcesResponse)
    assert raised.value.code() is grpc.StatusCode.UNKNOWN
    assert "not found" in (raised.value.details() or "")
