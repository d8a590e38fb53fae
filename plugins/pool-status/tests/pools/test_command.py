"""``dragoman pools``: from manifests and from a cluster, as table and as JSON."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman_hookspecs import ApiRefused, Cluster, Connect, DragomanError
from dragoman_pool_status.command import command
from dragoman_pool_status.kinds import CLAIMS, RULES, SLICES

from .memorycluster import MemoryCluster
from .poolobjects import DRIVER, claim, rule, slice_


def connecting(cluster: MemoryCluster) -> Connect:
    @contextmanager
    def connect(
        kubeconfig: Path | None, context: str | None, request_timeout: float | None = None
    ) -> Iterator[Cluster]:
        cluster.timeout = request_timeout
        yield cluster

    return connect


def run(*words: str, cluster: MemoryCluster | None = None) -> str:
    result = CliRunner().invoke(command(connecting(cluster or MemoryCluster())), words)
    if result.exception is not None:
        raise result.exception
    return result.output


def pools(*words: str, **given: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("-o", "json", *words, **given))
    return found


def manifest(folder: Path, *documents: Any, name: str = "dump.yaml") -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(documents[0]) if name.endswith(".json") else yaml.safe_dump_all(documents))
    return str(path)


SHARED = {"name": "d1", "allowMultipleAllocations": True, "capacity": {"bw": {"value": "10Gi"}}}


class TestTable:
    def test_shows_counts_and_what_is_left_of_shares(self, tmp_path: Path) -> None:
        held = claim("a", "d1", consumedCapacity={"bw": "4Gi"})
        path = manifest(tmp_path, slice_() | {"spec": {**slice_()["spec"], "devices": [SHARED, {"name": "d2"}]}}, held)

        assert run("-f", path).splitlines() == [
            "DRIVER           POOL  NODE  DEVICES  ALLOCATED  AVAILABLE  UNAVAILABLE  SHARES",
            "gpu.example.com  p     n1    2        1          1          0            unused 0/1, bw 6Gi/10Gi",
        ]

    def test_shows_partitions_as_alternatives(self, tmp_path: Path) -> None:
        profile = f"{DRIVER}/profile"
        half = {
            "attributes": {"profile": {"string": "Half"}},
            "consumesCounters": [{"counterSet": "gpu", "counters": {"memory": {"value": "40Gi"}}}],
        }
        parts = slice_("parts", count=2, partitionTypeAttribute=profile)
        parts["spec"]["devices"] = [{"name": f"h{number}", **half} for number in range(3)]
        sets = slice_("sets", count=2, sharedCounters=[{"name": "gpu", "counters": {"memory": {"value": "80Gi"}}}])
        del sets["spec"]["devices"]
        path = manifest(tmp_path, parts, sets, claim("a", "h0"))

        assert run("-f", path).splitlines()[1].split()[-2:] == ["Half", "1/3"]

    def test_shows_why_a_pool_cannot_be_counted(self, tmp_path: Path) -> None:
        row = run("-f", manifest(tmp_path, slice_(count=2))).splitlines()[1]

        fault = "PoolIncomplete: pool gpu.example.com/p is incomplete: observed 1/2 slices at generation 1"
        assert row == f"gpu.example.com  p     n1    {fault}"

    def test_shows_who_holds_devices(self, tmp_path: Path) -> None:
        path = manifest(tmp_path, slice_(), claim("a", "d1"), claim("b", "d2", adminAccess=True))

        assert run("-f", path, "--holders").splitlines()[3:] == [
            "DRIVER           POOL  DEVICE  CLAIM  REQUEST  FOR       ADMIN",
            "gpu.example.com  p     d1      ns/a   r        pods/w-a  -",
            "gpu.example.com  p     d2      ns/b   r        pods/w-b  yes",
        ]

    def test_shows_which_holders_must_leave_and_when(self, tmp_path: Path) -> None:
        taint = {"key": "broken", "value": "yes", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
        tainted = slice_()
        tainted["spec"]["devices"][0]["taints"] = [taint]
        seconds = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
        path = manifest(tmp_path, tainted, claim("a", "d1", tolerations=[seconds]), claim("b", "d2"))

        rows = run("-f", path, "--holders").splitlines()[3:]
        assert rows[1].endswith("2026-01-01T00:01:00Z (broken=yes:NoExecute)")
        assert "NoExecute" not in rows[2]
        (pool,) = json.loads(run("-f", path, "--holders", "-o", "json"))
        eviction = {"at": "2026-01-01T00:01:00Z", "taint": "broken=yes:NoExecute"}
        assert [held.get("eviction") for held in pool["holders"]] == [eviction, None]

    def test_shows_its_head_alone_where_there_are_no_pools(self) -> None:
        assert run(cluster=MemoryCluster(SLICES, CLAIMS)).startswith("DRIVER  POOL  NODE")

    def test_says_where_no_pool_is_of_a_driver_and_which_drivers_have_some(self, tmp_path: Path) -> None:
        path = manifest(tmp_path, slice_())
        result = CliRunner().invoke(command(connecting(MemoryCluster())), ["-f", path, "--driver", "nope"])

        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) == 1
        assert result.stderr == f"Note: there is no pool of driver nope; there are pools of {DRIVER}\n"

    def test_says_where_there_are_no_pools_at_all(self, tmp_path: Path) -> None:
        words = ["-f", manifest(tmp_path, claim("a", "d1")), "--pool", "p", "-o", "json"]
        result = CliRunner().invoke(command(connecting(MemoryCluster())), words)

        assert (result.exit_code, json.loads(result.stdout)) == (0, [])
        assert result.stderr == "Note: there is no pool p; there are no ResourceSlices at all\n"

    def test_writes_no_control_characters(self, tmp_path: Path) -> None:
        path = manifest(tmp_path, slice_(nodeName="n\x1b[31m"))

        assert "\x1b" not in run("-f", path)
        assert "\x1b" not in run("-f", manifest(tmp_path, slice_(driver="n\x1b[31m")), "--driver", "nope")


class TestManifests:
    @pytest.mark.parametrize("text", [None, "", "{kind: Pod, apiVersion: v1}", "{a: 1}", "{kind: List, items: []}"])
    def test_without_any_object_that_is_read_are_refused(self, tmp_path: Path, text: str | None) -> None:
        if text is not None:
            (tmp_path / "dump.yaml").write_text(text)

        with pytest.raises(
            DragomanError, match=f"^{tmp_path}: read, but no DeviceTaintRule, ResourceClaim or Resource"
        ):
            run("-f", str(tmp_path))

    def test_may_be_folders_lists_and_json(self, tmp_path: Path) -> None:
        typed: dict[str, Any] = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSliceList",
            "items": [slice_("a", pool="a")],
        }
        del typed["items"][0]["kind"], typed["items"][0]["apiVersion"]
        manifest(
            tmp_path, {"kind": "List", "items": [slice_("b", pool="b"), claim("c", "d1", pool="b")]}, name="b.json"
        )
        manifest(tmp_path, typed, None, {"kind": "Pod"}, name="a.yml")
        manifest(tmp_path / "deeper", slice_("c", pool="c"), rule(pool="c"), name="c.yaml")
        (tmp_path / "notes.txt").write_text("{")

        found = [(pool["poolName"], pool["availableDevices"]) for pool in pools("-f", str(tmp_path))]
        assert found == [("a", 2), ("b", 1), ("c", 0)]

    def test_of_v1beta1_are_read(self, tmp_path: Path) -> None:
        older = slice_() | {"apiVersion": "resource.k8s.io/v1beta1"}
        taint = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
        older["spec"]["devices"] = [{"name": "d1", "basic": taint}, {"name": "d2", "basic": {}}]

        (pool,) = pools("-f", manifest(tmp_path, older))
        assert (pool["totalDevices"], pool["unavailableDevices"]) == (2, 1)

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("a: [", r"dump\.yaml, document 1 cannot be read: "),
            ("- 1", r"dump\.yaml, document 1 is a list where an object of the API is expected"),
            ("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, spec: 3}", r"document 1: ResourceSlice: spec: "),
            (
                "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s1}, spec: {driver: 3}}",
                r"dump\.yaml, document 1: ResourceSlice s1: spec\.driver: expected str, got int$",
            ),
            (
                "{apiVersion: resource.k8s.io/v1beta1, kind: ResourceSlice, metadata: 7, spec: {devices: [3]}}",
                r"document 1: ResourceSlice: spec\.devices\[0\]: ",
            ),
            (
                "{apiVersion: resource.k8s.io/v1alpha9, kind: ResourceSlice, metadata: {name: s1}}",
                r"document 1: ResourceSlice s1: apiVersion: resource\.k8s\.io/v1alpha9 is not known, only .*v1beta2",
            ),
            (
                "{apiVersion: resource.k8s.io/v1alpha9, kind: ResourceClaim, metadata: {name: c, namespace: n}}",
                r"document 1: ResourceClaim n/c: apiVersion: resource\.k8s\.io/v1alpha9 is not known",
            ),
            (
                "{apiVersion: resource.k8s.io/v1alpha9, kind: DeviceTaintRule, metadata: {name: t}}",
                r"document 1: DeviceTaintRule t: apiVersion: resource\.k8s\.io/v1alpha9 is not known",
            ),
            (
                "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s1}, "
                "spec: {pool: {generation: 9999999999999999999999}}}",
                r"ResourceSlice s1: ",
            ),
            ("{kind: List, items: 3}", r"dump\.yaml, document 1: items is an integer where a list is expected"),
            (
                "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, status: &a {allocation: *a}}",
                r"document 1 cannot be read: a value holds itself",
            ),
        ],
    )
    def test_that_cannot_be_read_are_refused_with_their_place(self, tmp_path: Path, text: str, error: str) -> None:
        (tmp_path / "dump.yaml").write_text(text)

        with pytest.raises(DragomanError, match=error):
            run("-f", str(tmp_path))

    @pytest.mark.parametrize("where", ["capacity", "share"])
    def test_with_an_amount_that_is_none_cost_only_its_pool(self, tmp_path: Path, where: str) -> None:
        amounts = {"capacity": "10Gi", "share": "4Gi"} | {where: "much"}
        odd, held = slice_("b", pool="b"), claim("x", "d1", pool="b", consumedCapacity={"bw": amounts["share"]})
        odd["spec"]["devices"] = [SHARED | {"capacity": {"bw": {"value": amounts["capacity"]}}}]
        others = [slice_(name, pool=name) for name in "ac"], claim("y", "d1", pool="c")
        path = manifest(tmp_path, odd, held, *others[0], others[1])

        found = pools("-f", path, "--holders")
        assert [(pool["poolName"], pool.get("availableDevices")) for pool in found] == [("a", 2), ("b", 0), ("c", 1)]
        assert [[holder["claim"] for holder in pool["holders"]] for pool in found] == [[], ["ns/x"], ["ns/y"]]
        assert found[1]["validationError"].startswith("'much' is not a quantity")
        assert "'much' is not a quantity" in run("-f", path).splitlines()[2]


class TestCluster:
    @pytest.fixture
    def cluster(self) -> MemoryCluster:
        cluster = MemoryCluster(SLICES, CLAIMS, RULES[1])
        for name in "abcde":
            cluster.put(SLICES, slice_(name, pool=name))
        cluster.put(CLAIMS, claim("x", "d1", pool="e"))
        cluster.put(RULES[1], rule(pool="d"))
        return cluster

    def test_is_read_page_by_page_with_the_rules_that_it_serves(self, cluster: MemoryCluster) -> None:
        found = [(pool["poolName"], pool["availableDevices"]) for pool in pools(cluster=cluster)]

        assert found == [("a", 2), ("b", 2), ("c", 2), ("d", 0), ("e", 1)]

    def test_is_told_how_long_an_answer_may_take(self, cluster: MemoryCluster) -> None:
        run("--request-timeout", "1m30s", cluster=cluster)

        assert cluster.timeout == 90
        with pytest.raises(SystemExit):
            run("--request-timeout", "soon", cluster=cluster)

    def test_is_read_in_one_piece_when_a_list_expires_between_pages(self, cluster: MemoryCluster) -> None:
        cluster.expired = 10

        assert len(pools(cluster=cluster)) == 5
        assert cluster.expired == 9

    def test_tells_holders_in_json(self, cluster: MemoryCluster) -> None:
        (pool,) = pools("--pool", "e", "--driver", DRIVER, "--holders", cluster=cluster)

        assert pool["holders"] == [{"device": "d1", "claim": "ns/x", "request": "r", "reservedFor": ["pods/w-x"]}]

    def test_that_refuses_is_told(self) -> None:
        with pytest.raises(ApiRefused, match="could not find"):
            run(cluster=MemoryCluster())

    def test_without_connection_needs_manifests(self) -> None:
        def nowhere(kubeconfig: Path | None, context: str | None, request_timeout: float | None = None) -> Any:
            raise DragomanError("no access")

        result = CliRunner().invoke(command(nowhere), [])
        assert str(result.exception) == "no access; or give a cluster's manifests with -f"
