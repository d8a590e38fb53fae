"""What is said of claims that are not stuck, of changes, of many nodes, and with which exit code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman_allocator.features import Features
from dragoman_explain.nodes import Trying, at_all
from dragoman_explain.store import Key, Store
from dragoman_explain.subjects import subject
from dragoman_explain.world import World
from dragoman_kit.manifests import Manifest

from .cluster_folder import (
    DRIVER,
    Json,
    claim,
    device,
    device_class,
    explained,
    held,
    metadata,
    node,
    pod,
    run,
    save,
    slice_,
    template,
)

NIC = device_class("nic")
USER: Json = {"resource": "pods", "name": "web", "uid": "uid-web"}
ONE = [node(), NIC, slice_(device("d1"))]


def test_a_claim_that_fits_tells_its_devices_on_each_node(tmp_path: Path) -> None:
    other = slice_(device("d9"), name="s2", of="node-b") | {}
    report, code = explained(tmp_path, "claim/mine", *ONE, node("node-b"), other, claim())
    assert (report["state"], code) == ("would be allocated", 0)
    found = {
        each["node"]: [one["device"] for one in each["allocations"]["default/mine"]["devices"]["results"]]
        for each in report["nodes"]
    }
    assert found == {"node-a": ["d1"], "node-b": ["d9"]}


def test_an_allocated_claim_tells_devices_nodes_users_and_what_it_waits_for(tmp_path: Path) -> None:
    theirs = held("theirs", "d1", users=[USER], bindingConditions=["ready"], bindingFailureConditions=["failed"])
    save(tmp_path / "w.yaml", *ONE, theirs)
    result = run("claim/theirs", "-f", tmp_path)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "claim default/theirs: allocated",
        f"  claim default/theirs has r: {DRIVER}/p/d1; on all nodes, reserved for pods/web",
        f"    waits for ready of {DRIVER}/p/d1",
    ]


def test_a_taint_that_evicts_is_told_with_rule_pod_and_time(tmp_path: Path) -> None:
    rule: Json = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": metadata("repair", None),
        "spec": {
            "deviceSelector": {"device": "d1"},
            "taint": {"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
        },
    }
    running = pod("web", {"name": "a", "resourceClaimName": "theirs"}, nodeName="node-a")
    save(tmp_path / "w.yaml", *ONE, held("theirs", "d1", users=[USER]), rule, running)
    result = run("claim/theirs", "-f", tmp_path)
    taint = f"taint k=v:NoExecute of rule repair on {DRIVER}/p/d1"
    assert result.stdout.splitlines()[-2:] == [
        f"    its pods have to go from 2026-01-01T00:00:00+00:00 on: {taint}",
        f"  pod default/web is evicted at 2026-01-01T00:00:00+00:00: {taint}",
    ]


def test_leaving_out_a_pod_frees_what_only_it_reserves(tmp_path: Path) -> None:
    running = pod("web", {"name": "a", "resourceClaimName": "theirs"}, nodeName="node-a")
    world = [*ONE, held("theirs", "d1", users=[USER]), running, claim()]
    before, code = explained(tmp_path, "claim/mine", *world)
    assert (before["state"], code) == ("stuck", 3)
    after, code = explained(tmp_path, "claim/mine", *world, options=["--without", "pod/web"])
    assert (after["state"], after["before"], code) == ("would be allocated", "stuck", 0)


def test_what_if_adds_and_replaces_manifests(tmp_path: Path) -> None:
    more = save(tmp_path / "more.yml.txt", slice_(device("d1"), device("d2")))
    world = [*ONE, held("theirs", "d1"), claim()]
    report, code = explained(tmp_path, "claim/mine", *world, options=["--what-if", str(more)])
    assert (report["state"], report["before"], code) == ("would be allocated", "stuck", 0)


def test_a_file_is_explained_as_if_it_were_applied_with_claims_made_from_templates(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    folder.mkdir()
    save(folder / "w.yaml", *ONE)
    asked = save(tmp_path / "app.yaml", template(), pod("web", {"name": "a", "resourceClaimTemplateName": "nics"}))
    result = run(asked, "-f", folder)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "pod default/web: would be allocated on node node-a",
        f"  node node-a: would be allocated: r: {DRIVER}/p/d1",
    ]


def test_a_template_is_explained_as_the_claim_that_it_gives(tmp_path: Path) -> None:
    report, code = explained(tmp_path, "template/nics", *ONE, template())
    assert (report["kind"], report["state"], code) == ("ResourceClaimTemplate", "would be allocated", 0)


@pytest.mark.parametrize(("holders", "state"), [([], "would be allocated"), ([held("theirs", "d1")], "stuck")])
def test_extended_resources_of_a_pod_that_devices_provide_are_a_claim(
    holders: list[Json], state: str, tmp_path: Path
) -> None:
    by_name = NIC | {"spec": {"extendedResourceName": "example.com/nic"}}
    wants: Json = {"name": "c", "resources": {"requests": {"example.com/nic": "1"}, "limits": {"example.com/nic": "1"}}}
    app = pod("app") | {"spec": {"containers": [wants]}}
    report, _ = explained(tmp_path, "pod/app", node(), by_name, slice_(device("d1")), app, *holders)
    assert report["state"] == state


def test_a_pod_without_claims_has_nothing_to_allocate(tmp_path: Path) -> None:
    report, code = explained(tmp_path, "pod/app", *ONE, pod("app"))
    assert (report["text"], code) == ("nothing to allocate: it has no resource claims", 0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_needs_no_claims_any_more(phase: str, tmp_path: Path) -> None:
    ended = pod("job", {"name": "a", "resourceClaimTemplateName": "nics"}, nodeName="node-a")
    statuses = [{"name": "a", "resourceClaimName": "job-a-xyz"}]
    ended["status"] = {"phase": phase, "resourceClaimStatuses": statuses}
    report, code = explained(tmp_path, "pod/job", *ONE, template(), ended)
    assert (report["text"], code) == ("nothing to allocate: it has ended", 0)


def test_without_a_subject_everything_that_waits_is_explained(tmp_path: Path) -> None:
    waiting = pod("web", {"name": "a", "resourceClaimName": "mine"})
    save(tmp_path / "w.yaml", *ONE, held("theirs", "d1"), claim(), claim("other"), waiting)
    result = run("-f", tmp_path, "-o", "json")
    subjects = [(each["kind"], each["name"]) for each in json.loads(result.stdout)["subjects"]]
    assert subjects == [("Pod", "web"), ("ResourceClaim", "other")]
    assert result.exit_code == 3


def test_nothing_that_waits_is_said_in_words(tmp_path: Path) -> None:
    save(tmp_path / "w.yaml", *ONE)
    assert run("-f", tmp_path).stdout == "nothing waits for devices\n"


def test_near_misses_come_first_and_nodes_alike_are_one_line(tmp_path: Path) -> None:
    nodes = [node(f"n{i}") for i in range(6)]
    slices = [slice_(name=f"s{i}", of=f"n{i}") for i in range(5)]
    near = slice_(device("d1"), name="s5", of="n5")
    save(tmp_path / "w.yaml", *nodes, NIC, *slices, near, held("theirs", "d1"), claim())
    lines = run("claim/mine", "-f", tmp_path, "--nodes", "1").stdout.splitlines()
    assert lines[:2] == ["claim default/mine: stuck on all 6 nodes, near misses first", "  node n5: stuck"]
    assert lines[-1].startswith("  nodes n0, n1, n2 and 2 more: stuck: request r wants 1 device of class nic")


def test_many_nodes_give_the_same_answer_from_several_processes() -> None:
    nodes = [node(f"n{i}") for i in range(8)]
    slices = [slice_(device(f"d{i}"), name=f"s{i}", of=f"n{i}") for i in range(0, 8, 2)]
    manifests = [Manifest("test", each) for each in [*nodes, NIC, *slices, claim()]]
    store = Store()
    for manifest in manifests:
        store.add(manifest, "default")
    world = World.of(store, Features(), datetime(2026, 1, 1, tzinfo=UTC))
    trying = Trying(world, subject(world, store, Key("ResourceClaim", "default", "mine"), new=False), nearest=None)
    alone, together = at_all(trying, devices=0), at_all(trying, devices=10**9)
    assert [each.node for each in alone] == ["n0", "n2", "n4", "n6", "n1", "n3", "n5", "n7"]
    assert [(each.node, each.state, each.text) for each in together] == [
        (each.node, each.state, each.text) for each in alone
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nope/x"], "names no object"),
        (["claim"], "names no object"),
        (["claim/a/b/c"], "names no object"),
        (["node/a"], "cannot be explained"),
        (["slice/s1"], "cannot be explained"),
        (["claim/mine", "--release", "1.12"], "'1.12' is not a known release"),
        (["claim/mine", "--features", "DRANothing=true"], "feature gate DRANothing"),
        (["claim/mine", "--features", "DRADeviceTaints"], "is not GATE=true or GATE=false"),
    ],
)
def test_words_that_mean_nothing_are_wrong_usage(arguments: list[str], why: str, tmp_path: Path) -> None:
    save(tmp_path / "w.yaml", *ONE, claim())
    result = run("-f", tmp_path, *arguments)
    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["claim/gone"], "default/gone does not exist"),
        (["claim/mine", "--without", "claim/gone"], "default/gone does not exist, so it cannot be left out"),
    ],
)
def test_what_is_not_there_is_an_error_in_words(arguments: list[str], why: str, tmp_path: Path) -> None:
    save(tmp_path / "w.yaml", *ONE, claim())
    result = run("-f", tmp_path, *arguments)
    assert result.exit_code == 1
    assert why in str(result.exception)


def test_rules_of_an_older_release_hold_where_they_are_asked_for(tmp_path: Path) -> None:
    tainted = slice_(device("d1", taints=[{"key": "k", "effect": "NoSchedule"}]))
    objects = [node(), NIC, tainted, claim()]
    assert explained(tmp_path, "claim/mine", *objects)[1] == 3
    assert explained(tmp_path, "claim/mine", *objects, options=["--release", "1.34"])[1] == 0


def test_names_from_the_cluster_do_not_drive_the_terminal(tmp_path: Path) -> None:
    theirs = held("theirs", "d1")
    theirs["status"]["allocation"]["devices"]["results"][0]["request"] = "r\x1b[2J"
    save(tmp_path / "w.yaml", *ONE, theirs)
    shown = run("claim/theirs", "-f", tmp_path).stdout
    assert "\x1b" not in shown
    assert "r\\x1b[2J" in shown


@pytest.mark.parametrize("text", [None, "", "{kind: ConfigMap, apiVersion: v1}", "{kind: List, items: []}"])
def test_manifests_without_any_object_that_is_read_are_refused(tmp_path: Path, text: str | None) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    if text is not None:
        (dump / "w.yaml").write_text(text)
    world = save(tmp_path / "world.yaml", *ONE, claim())
    for result in (run("-f", dump), run("claim/mine", "-f", world, "--what-if", dump)):
        assert result.exit_code == 1
        assert str(result.exception).startswith(f"{dump}: read, but no DeviceClass, DeviceTaintRule, Namespace, ")


def test_without_a_cluster_the_error_names_what_else_can_be_given() -> None:
    assert str(run().exception) == "no cluster in this test; or give a cluster's manifests with -f"
