"""The controller as a plugin: threads, watches and writes, against an API server in memory."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import dragoman_pool_status
from dragoman_hookspecs import (
    ApiRefused,
    Cluster,
    Commands,
    Context,
    Controller,
    InvalidConfig,
    RegisterCommands,
    RunController,
)
from dragoman_pool_status import PoolStatusSettings
from dragoman_pool_status.controller import Controlling
from dragoman_pool_status.kinds import BUILT_IN, CLAIMS, OWN, RULES, SLICES
from dragoman_pool_status.moments import seconds_of, text_of

from .memorycluster import MemoryCluster
from .poolobjects import claim, request, rule, slice_


@contextmanager
def running(what: Cluster | Controlling, now: str = "2026-03-01T10:00:00Z") -> Iterator[Controlling]:
    if isinstance(what, Controlling):
        controlling = what
    else:
        controlling = Controlling(what, logging.getLogger("test"), grace=0, clock=lambda: seconds_of(now) or 0.0)
    stopped = threading.Event()
    thread = threading.Thread(target=controlling.run, args=(stopped,), daemon=True)
    thread.start()
    try:
        yield controlling
    finally:
        stopped.set()
        thread.join(60)
        assert not thread.is_alive()


def answered(body: Any) -> bool:
    return body is not None and body.get("status") is not None


def devices(cluster: MemoryCluster, kind: Any = OWN) -> Any:
    body = cluster.wait_for(kind.of("q"), answered)
    assert body is not None
    (pool,) = body["status"]["pools"]
    return pool["totalDevices"], pool["allocatedDevices"], pool["availableDevices"], pool["unavailableDevices"]


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster(SLICES, CLAIMS, RULES[0], BUILT_IN.path, OWN.path)


class TestAnswers:
    @pytest.mark.parametrize("kind", [OWN, BUILT_IN])
    def test_a_request_of_either_kind_with_what_the_cluster_has(self, cluster: MemoryCluster, kind: Any) -> None:
        cluster.put(SLICES, slice_(devices=4))
        cluster.put(CLAIMS, claim("a", "d1"))
        cluster.put(RULES[0], rule(device="d2"))
        with running(cluster):
            cluster.put(kind.path, request())

            assert devices(cluster, kind) == (4, 1, 2, 1)

    def test_changes_that_come_later_count(self, cluster: MemoryCluster) -> None:
        cluster.put(SLICES, slice_())
        cluster.put(CLAIMS, claim("a", "d1"))
        cluster.put(CLAIMS, claim("b", "d2"))
        with running(cluster):
            cluster.put(OWN.path, request())
            assert devices(cluster) == (2, 2, 0, 0)
            cluster.delete(OWN.of("q"))
            cluster.delete(f"{CLAIMS}/a")
            cluster.put(SLICES, slice_(devices=5))
            cluster.put(OWN.path, request(uid="u2"))

            assert devices(cluster) == (5, 1, 4, 0)

    def test_in_a_cluster_without_rules_and_without_the_built_in_kind(self) -> None:
        bare = MemoryCluster(SLICES, CLAIMS, OWN.path)
        bare.put(SLICES, slice_())
        with running(bare):
            bare.put(OWN.path, request())

            assert devices(bare) == (2, 0, 2, 0)

    def test_rules_of_an_older_version_count(self) -> None:
        older = MemoryCluster(SLICES, CLAIMS, RULES[2], OWN.path)
        older.put(SLICES, slice_())
        older.put(RULES[2], rule())
        with running(older):
            older.put(OWN.path, request())

            assert devices(older) == (2, 0, 0, 2)

    def test_an_object_that_cannot_be_read_costs_only_itself(self, cluster: MemoryCluster) -> None:
        cluster.put(SLICES, slice_("odd", devices=0) | {"spec": 1})
        cluster.put(SLICES, slice_())
        with running(cluster):
            cluster.put(OWN.path, request())

            assert devices(cluster) == (2, 0, 2, 0)


def test_until_everything_was_read_it_is_not_ready_and_says_what_is_still_read(cluster: MemoryCluster) -> None:
    cluster.held = CLAIMS
    with running(cluster) as controlling:
        until(lambda: controlling.unready() == f"it still reads {CLAIMS}")
        cluster.released.set()
        until(lambda: not controlling.unready())


def test_what_is_not_served_is_not_waited_for() -> None:
    with running(MemoryCluster(SLICES, CLAIMS)) as controlling:
        until(lambda: not controlling.unready())


def test_requests_of_a_kind_that_is_served_no_longer_are_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    cluster, times = MemoryCluster(SLICES, CLAIMS, OWN.path), ["2026-03-01T10:00:00Z"]
    cluster.put(SLICES, slice_(count=2))
    cluster.put(OWN.path, request(created=times[0]))
    controlling = Controlling(cluster, logging.getLogger("test"), grace=0, clock=lambda: seconds_of(times[-1]) or 0.0)
    with running(controlling):
        until(lambda: not controlling.unready())
        cluster.withdraw(OWN.path)
        until(lambda: len(caplog.messages) == 1)
        times.append("2026-03-03T10:00:00Z")
        for pool in ("turns", "turns-again"):
            cluster.put(SLICES, slice_(pool, pool=pool))
            until(lambda pool=pool: f'pool="{pool}"' in controlling.metrics())  # type: ignore[misc]  # bound here
    (message,) = caplog.messages
    assert message.startswith("the cluster serves no ResourcePoolStatusRequest")


def test_two_controllers_side_by_side_give_each_request_one_answer(cluster: MemoryCluster) -> None:
    cluster.put(SLICES, slice_())
    with running(cluster), running(cluster):
        for number in range(20):
            cluster.put(OWN.path, request(name=f"q{number}"))
        found = [cluster.wait_for(OWN.of(f"q{number}"), answered) for number in range(20)]
    assert [body["status"]["pools"][0]["totalDevices"] for body in found if body] == [2] * 20
    assert [cluster.get(OWN.of(f"q{number}")) for number in range(20)] == found


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    end, moment = time.monotonic() + 60, threading.Event()
    while not condition():
        assert time.monotonic() < end
        moment.wait(0.001)


class TestKeepsTo:
    def test_an_answer_that_came_first(self, cluster: MemoryCluster) -> None:
        cluster.put(BUILT_IN.path, request() | {"status": {"poolCount": 7}})
        with running(cluster):
            cluster.put(OWN.path, request())
            cluster.wait_for(OWN.of("q"), answered)

            assert cluster.get(BUILT_IN.of("q"))["status"] == {"poolCount": 7}

    def test_the_hour_after_which_an_answer_goes(self, cluster: MemoryCluster) -> None:
        cluster.put(OWN.path, request() | {"status": {"poolCount": 7}})
        with running(cluster, "2026-03-01T11:00:01Z"):
            cluster.wait_for(OWN.of("q"), lambda body: body is None)

    def test_its_own_metrics(self, cluster: MemoryCluster) -> None:
        cluster.put(SLICES, slice_())
        with running(cluster) as controlling:
            cluster.put(OWN.path, request())
            cluster.wait_for(OWN.of("q"), answered)

        text = controlling.metrics()
        assert 'dragoman_pool_devices{driver="gpu.example.com",pool="p",node="n1"} 2\n' in text
        assert 'dragoman_pool_status_requests_processed_total{driver="gpu.example.com"} 1\n' in text

    def test_its_own_metrics_where_the_amounts_of_one_pool_cannot_be_read(self, cluster: MemoryCluster) -> None:
        device = {"name": "d1", "allowMultipleAllocations": True, "capacity": {"bw": {"value": "much"}}}
        odd = slice_("odd", pool="odd")
        odd["spec"]["devices"] = [device]
        cluster.put(SLICES, odd)
        cluster.put(SLICES, slice_())
        with running(cluster) as controlling:
            until(lambda: not controlling.unready())
            until(lambda: controlling.metrics().count("dragoman_pool_complete{") == 2)

        found = [line for line in controlling.metrics().splitlines() if 'pool="odd"' in line]
        of = '{driver="gpu.example.com",pool="odd",node="n1"}'
        assert found == [
            f"dragoman_pool_complete{of} 1",
            f"dragoman_pool_valid{of} 0",
            f"dragoman_pool_resource_slices{of} 1",
            f"dragoman_pool_devices{of} 1",
            f"dragoman_pool_devices_allocated{of} 0",
            f"dragoman_pool_devices_available{of} 1",
            f"dragoman_pool_devices_unavailable{of} 0",
        ]
        assert 'dragoman_pool_devices_available{driver="gpu.example.com",pool="p",node="n1"} 2' in controlling.metrics()


def test_a_cluster_without_any_kind_of_request_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    handler = Told(logging.WARNING)
    logging.getLogger("test").addHandler(handler)
    with running(MemoryCluster(SLICES, CLAIMS)):
        assert told.wait(60)
    logging.getLogger("test").removeHandler(handler)
    assert caplog.messages == [
        "the cluster serves no ResourcePoolStatusRequest, so there are only metrics: "
        "apply the CRD of resource.dragoman.dev (deploy/crds), it is looked for every minute"
    ]


def test_a_cluster_without_slices_ends_the_run_with_the_reason() -> None:
    controlling = Controlling(MemoryCluster(), logging.getLogger("test"), grace=0)

    with pytest.raises(ApiRefused, match="could not find"):
        controlling.run(threading.Event())


class TestPlugin:
    @staticmethod
    def made(kind: type, tmp_path: Path, settings: object) -> Any:
        (descriptor,) = (each for each in dragoman_pool_status.plugin if isinstance(each, kind))
        context = Context(node_name="n", driver_name="d", state_dir=tmp_path, cdi_dir=tmp_path)
        return descriptor.create(context, settings)

    def test_adds_the_command(self, tmp_path: Path) -> None:
        added: list[Any] = []
        self.made(Commands, tmp_path, None).register_commands(RegisterCommands(add=added.append))

        assert [command.name for command in added] == ["pools"]

    def test_runs_the_controller_until_stopped(self, tmp_path: Path, cluster: MemoryCluster) -> None:
        plugin = self.made(Controller, tmp_path, PoolStatusSettings(grace_seconds=0))
        stopped = threading.Event()
        offered: list[Callable[[], str]] = []
        run = RunController(cluster=cluster, stopped=stopped, metrics=offered.append, ready=offered.append)
        thread = threading.Thread(target=plugin.run_controller, args=(run,), daemon=True)
        thread.start()
        cluster.put(SLICES, slice_())
        cluster.put(BUILT_IN.path, request(created=text_of(time.time())))

        assert answered(cluster.wait_for(BUILT_IN.of("q"), answered))
        ready, metrics = offered
        assert ready() == ""
        assert "dragoman_pool_devices{" in metrics()
        stopped.set()
        thread.join(60)
        assert not thread.is_alive()

    def test_a_negative_grace_is_refused(self) -> None:
        with pytest.raises(InvalidConfig, match="graceSeconds: must be 0 or more, not -1"):
            PoolStatusSettings(grace_seconds=-1)
