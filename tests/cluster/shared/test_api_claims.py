"""Status of claims: a subresource, applied by map keys, held to the allocation."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_hookspecs import JsonObject
from tests.cluster.shared.wire import GROUP, Answer, Wire, unique

CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
SHARES = ("aaaaaaaa-bbbb-cccc-dddd-000000000001", "aaaaaaaa-bbbb-cccc-dddd-000000000002")
NOW = "2026-01-01T00:00:00Z"
DRIVER = "d.example.com"


class Claim:
    """A claim that has the devices ``a``, ``b`` and two shares of ``s``."""

    def __init__(self, server: Wire) -> None:
        self.server = server
        self.name = unique("claim")
        self.path = f"{CLAIMS}/{self.name}"
        requests = [{"name": "r", "exactly": {"deviceClassName": "x"}}]
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": self.name}}
        server.make(CLAIMS, {**head, "spec": {"devices": {"requests": requests}}})
        results = [result(**entry(name)) for name in "ab"] + [result(**entry("s", shareID=share)) for share in SHARES]
        self.put(allocation={"devices": {"results": results}})

    def read(self) -> JsonObject:
        return self.server.ask("GET", self.path).body

    def put(self, **status: Any) -> Answer:
        return self.server.ask("PUT", f"{self.path}/status", {**self.read(), "status": status})

    def apply(self, *entries: JsonObject, manager: str = "one", **more: Any) -> Answer:
        metadata = {"name": self.name, **more.pop("metadata", {})}
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
        body = {**head, "status": {"devices": list(entries)} if entries else {}}
        return self.server.apply(f"{self.path}/status", body | more, manager)

    def entries(self) -> list[tuple[str, str]]:
        return [(each["device"], each.get("shareID", "")) for each in self.read()["status"].get("devices", ())]


def entry(device: str, **fields: Any) -> JsonObject:
    return {"driver": DRIVER, "pool": "p", "device": device, **fields}


def result(**entry: Any) -> JsonObject:
    return {"request": "r", **entry}


def condition(**fields: Any) -> JsonObject:
    whole = {"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": NOW, **fields}
    return {key: value for key, value in whole.items() if value is not None}


@pytest.fixture
def claim(server: Wire) -> Claim:
    return Claim(server)


def test_a_status_that_comes_with_a_new_claim_is_dropped(server: Wire, claim: Claim) -> None:
    made = claim.read()
    made["metadata"] = {"name": unique("copy")}
    assert not server.make(CLAIMS, made).get("status")


def test_spec_and_status_are_written_apart(server: Wire, claim: Claim) -> None:
    before = claim.read()
    body = {**before, "status": {}, "metadata": {**before["metadata"], "labels": {"a": "b"}}}
    after = server.ask("PUT", claim.path, body).body
    assert (after["status"], after["metadata"]["labels"]) == (before["status"], {"a": "b"})
    claim.apply(entry("a"), spec={"devices": {}})
    assert claim.read()["spec"] == before["spec"]


def test_each_manager_applies_its_own_entries_and_takes_them_back(claim: Claim) -> None:
    assert claim.apply(entry("a"), entry("s", shareID=SHARES[0])).status == 200
    assert claim.apply(entry("b"), manager="two").status == 200
    assert claim.apply(entry("s", shareID=SHARES[0]), entry("s", shareID=SHARES[1], data={"x": 1})).status == 200
    assert sorted(claim.entries()) == [("b", ""), ("s", SHARES[0]), ("s", SHARES[1])]
    assert claim.apply().status == 200
    assert claim.entries() == [("b", "")]
    assert claim.apply(manager="two").status == 200
    assert claim.entries() == []


def test_an_entry_of_two_managers_stays_until_both_have_left_it(claim: Claim) -> None:
    claim.apply(entry("a", data={"of": "one"}))
    claim.apply(entry("a", data={"of": "two"}), manager="two")
    assert claim.read()["status"]["devices"][0]["data"] == {"of": "two"}
    claim.apply()
    assert claim.entries() == [("a", "")]
    claim.apply(manager="two")
    assert claim.entries() == []


def test_applying_the_same_again_writes_nothing(claim: Claim) -> None:
    first = claim.apply(entry("a", conditions=[condition()]), entry("b", data={"x": 1}))
    assert claim.apply(entry("a", conditions=[condition()]), entry("b", data={"x": 1})).body == first.body


def test_an_entry_without_its_optional_key_can_be_applied(claim: Claim) -> None:
    assert claim.apply(entry("a")).status == 200
    answer = claim.apply(entry("s"))
    assert (answer.status, answer.wrong) == (422, ["status.devices[0]"])
    assert "must be an allocated device" in answer.causes[0]["message"]


@pytest.mark.since(37, "a wrong uid is told twice")
def test_an_apply_for_another_uid_is_invalid_and_one_for_nobody_not_found(claim: Claim) -> None:
    answer = claim.apply(entry("a"), metadata={"uid": "11111111-2222-3333-4444-555555555555"})
    assert (answer.status, answer.reason, answer.wrong) == (422, "Invalid", ["metadata.uid"])
    assert claim.apply(entry("a"), metadata={"uid": claim.read()["metadata"]["uid"]}).status == 200
    claim.path += "-gone"
    assert claim.apply(entry("a"), metadata={"name": f"{claim.name}-gone"}).reason == "NotFound"


def test_an_apply_has_to_say_what_by_whom_and_each_once(server: Wire, claim: Claim) -> None:
    assert claim.apply(entry("a"), kind="").status == 400
    assert claim.apply(entry("a"), metadata={"name": "other"}).status == 400
    nobody = server.ask("PATCH", f"{claim.path}/status", claim.read(), content="application/apply-patch+yaml")
    assert nobody.status == 400 or (nobody.status, nobody.wrong) == (422, ["fieldManager"])
    doubled = claim.apply(entry("a"), entry("a"))
    assert (doubled.status, doubled.reason) == (500, "")
    assert "duplicate entries for key" in doubled.body["message"]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"data": []}, ("data", "FieldValueInvalid")),
        ({"data": {"x": "y" * 10240}}, ("data", "FieldValueTooLong")),
        ({"networkData": {"interfaceName": "i" * 257}}, ("networkData.interfaceName", "FieldValueTooLong")),
        ({"networkData": {"hardwareAddress": "h" * 129}}, ("networkData.hardwareAddress", "FieldValueTooLong")),
        ({"networkData": {"ips": ["10.0.0.1"]}}, ("networkData.ips[0]", "FieldValueInvalid")),
        ({"networkData": {"ips": ["2001:DB8::1/64"]}}, ("networkData.ips[0]", "FieldValueInvalid")),
        ({"networkData": {"ips": ["10.0.0.1/8"] * 2}}, ("networkData.ips[1]", "FieldValueDuplicate")),
        ({"networkData": {"ips": [f"10.0.0.{n}/8" for n in range(17)]}}, ("networkData.ips", "FieldValueTooMany")),
        ({"conditions": [condition(type=f"T{n}") for n in range(9)]}, ("conditions", "FieldValueTooMany")),
        ({"conditions": [condition(status="Maybe")]}, ("conditions[0].status", "FieldValueNotSupported")),
        ({"conditions": [condition(reason="")]}, ("conditions[0].reason", "FieldValueRequired")),
        ({"conditions": [condition(reason="a b")]}, ("conditions[0].reason", "FieldValueInvalid")),
        (
            {"conditions": [condition(lastTransitionTime=None)]},
            ("conditions[0].lastTransitionTime", "FieldValueRequired"),
        ),
        ({"conditions": [condition(message="m" * 32769)]}, ("conditions[0].message", "FieldValueTooLong")),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused(claim: Claim, fields: JsonObject, wrong: tuple[str, str]) -> None:
    answer = claim.apply(entry("a", **fields))
    path, reason = wrong
    assert answer.status == 422
    assert [(cause["field"], cause["reason"]) for cause in answer.causes] == [(f"status.devices[0].{path}", reason)]


@pytest.mark.parametrize(
    "fields",
    [
        {"data": {"x": "y" * 10231}},
        {"networkData": {"ips": ["10.0.0.1/8", "2001:db8::1/64"], "interfaceName": "i" * 256}},
        {"conditions": [condition(type=f"T{n}") for n in range(8)]},
    ],
)
def test_an_entry_at_its_limits_is_taken(claim: Claim, fields: JsonObject) -> None:
    assert claim.apply(entry("a", **fields)).status == 200


def test_devices_that_the_claim_has_not_get_no_status(claim: Claim) -> None:
    answer = claim.apply(entry("z"))
    assert (answer.status, answer.wrong) == (422, ["status.devices[0]"])
    assert "must be an allocated device" in answer.causes[0]["message"]


def test_entries_go_with_the_allocation_which_changes_only_by_going(claim: Claim) -> None:
    claim.apply(entry("a"))
    allocation = claim.read()["status"]["allocation"]
    changed = {"devices": {"results": allocation["devices"]["results"][1:]}}
    answer = claim.put(allocation=changed)
    assert (answer.status, answer.wrong) == (422, ["status.allocation"])
    assert claim.put(devices=claim.read()["status"]["devices"]).body["status"] == {}
    reserved = claim.put(reservedFor=[{"resource": "pods", "name": "p", "uid": "u"}])
    assert (reserved.status, reserved.wrong) == (422, ["status.reservedFor"])


def test_the_spec_of_a_claim_is_final(server: Wire, claim: Claim) -> None:
    answer = server.ask("PUT", claim.path, {**claim.read(), "spec": {"devices": {}}})
    assert (answer.status, answer.wrong) == (422, ["spec"])
