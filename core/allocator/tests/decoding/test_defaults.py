from typing import Any

from dragoman_allocator.decode import decode, to_json
from dragoman_allocator.objects import PoolStatusRequest, ResourceClaim, ResourceClaimTemplate


def _claim(request: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": [{"name": "r", **request}]}}}


def _request(json: dict[str, Any]) -> Any:
    return to_json(decode(ResourceClaim, json))["spec"]["devices"]["requests"][0]


def test_mode_count_and_toleration_operator_are_filled_in() -> None:
    inner = {"deviceClassName": "gpu", "tolerations": [{"key": "k"}, {"key": "l", "operator": "Exists"}]}
    filled = inner | {
        "allocationMode": "ExactCount",
        "count": 1,
        "tolerations": [{"key": "k", "operator": "Equal"}, {"key": "l", "operator": "Exists"}],
    }
    assert _request(_claim({"exactly": inner})) == {"name": "r", "exactly": filled}
    subrequest = {"name": "s", **inner}
    assert _request(_claim({"firstAvailable": [subrequest]})) == {
        "name": "r",
        "firstAvailable": [{"name": "s", **filled}],
    }


def test_all_has_no_count_and_a_given_count_stays() -> None:
    assert _request(_claim({"exactly": {"allocationMode": "All"}}))["exactly"] == {"allocationMode": "All"}
    assert _request(_claim({"exactly": {"count": 7}}))["exactly"] == {"allocationMode": "ExactCount", "count": 7}
    assert _request(_claim({"exactly": {"allocationMode": "Some"}}))["exactly"] == {"allocationMode": "Some"}


def test_tolerations_of_results_get_their_operator() -> None:
    claim = {"status": {"allocation": {"devices": {"results": [{"request": "r", "tolerations": [{"key": "k"}]}]}}}}
    results = to_json(decode(ResourceClaim, claim))["status"]["allocation"]["devices"]["results"]
    assert results == [{"request": "r", "tolerations": [{"key": "k", "operator": "Equal"}]}]


def test_a_template_is_filled_in_like_a_claim() -> None:
    template = decode(ResourceClaimTemplate, {"spec": _claim({"exactly": {"deviceClassName": "gpu"}})})
    assert to_json(template)["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1


def test_without_defaults_an_object_is_as_written() -> None:
    claim = _claim({"exactly": {"deviceClassName": "gpu"}})
    assert to_json(decode(ResourceClaim, claim, defaults=False)) == claim


def test_the_limit_of_a_pool_status_request_is_100_and_only_of_the_one_decoded() -> None:
    assert decode(PoolStatusRequest, {"spec": {"driver": "d"}}).spec.limit == 100
    assert decode(PoolStatusRequest, {"spec": {"driver": "d", "limit": 5}}).spec.limit == 5
    decode(PoolStatusRequest, {})
    assert PoolStatusRequest().spec.limit is None
