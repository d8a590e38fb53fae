"""Rules of single settings and of pools."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pluggy
import pytest

from dragoman.model.pools import PoolConfig, PoolFilter
from dragoman.schema import decode
from dragoman.settings import Limits, Paths, Settings
from dragoman_hookspecs import InvalidConfig, hooks


def faults(data: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidConfig) as caught:
        decode(Settings, data)
    return {fault.path: fault.message for fault in caught.value.faults}


def test_defaults_of_the_registration_are_those_of_the_source_document() -> None:
    settings = Settings()
    assert settings.dra_registration_retry_interval == 1
    assert settings.dra_registration_timeout == 5
    assert settings.dra_registration_max_attempts == 10


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1_000_001, "must be 1–1000000 attempts, is 1000001"),
        (0, "must be 1–1000000 attempts, is 0"),
        (10**400, f"must be 1–1000000 attempts, is {10**400}"),
    ],
)
def test_a_number_out_of_range_is_told_as_people_write_it(given: int, said: str) -> None:
    assert faults({"draRegistrationMaxAttempts": given}) == {"draRegistrationMaxAttempts": said}


@pytest.mark.parametrize(
    ("given", "is_"), [(1e16, "10000000000000000"), (1234567.25, "1234567.25"), (601, "601"), (1e-7, "0.0000001")]
)
def test_seconds_out_of_range_are_told_as_people_write_them(given: float, is_: str) -> None:
    assert faults({"draRegistrationTimeout": given}) == {
        "draRegistrationTimeout": f"must be 0.01–600 seconds, is {is_}"
    }


def test_defaults_of_paths_are_those_of_kubernetes_and_the_runtimes() -> None:
    paths = Paths()
    assert paths.kubelet_root == Path("/var/lib/kubelet")
    assert paths.cdi_dir == Path("/var/run/cdi")
    assert paths.nri_socket == Path("/var/run/nri/nri.sock")


def test_names_of_the_source_document_are_the_keys() -> None:
    settings = decode(
        Settings,
        {
            "driverName": "net.example.com",
            "draRegistrationRetryInterval": 2,
            "draRegistrationTimeout": 3,
            "draRegistrationMaxAttempts": 4,
            "deviceManagerConfigs": {"rxQueue": {"enabled": True, "ifaces": [{"ifName": "ens1f0", "count": 4}]}},
            "pools": [
                {
                    "name": "fast",
                    "filter": {
                        "deviceManagers": ["sr-iov"],
                        "ifNames": ["a"],
                        "pfNames": ["b"],
                        "parentIfNames": ["c"],
                        "pciAddrs": ["0000:03:00.1"],
                        "vendorIDs": ["15b3"],
                        "deviceIDs": ["101e"],
                        "drivers": ["mlx5_core"],
                    },
                }
            ],
        },
    )
    assert settings.pools[0].filter == PoolFilter(
        device_managers=("sr-iov",),
        if_names=("a",),
        pf_names=("b",),
        parent_if_names=("c",),
        pci_addrs=("0000:03:00.1",),
        vendor_ids=("15b3",),
        device_ids=("101e",),
        drivers=("mlx5_core",),
    )
    assert settings.device_manager_configs["rxQueue"]["ifaces"] == [{"ifName": "ens1f0", "count": 4}]


@pytest.mark.parametrize("name", ["net.dragoman.dev", "a", "a-b.c0", "a" * 63])
def test_driver_name_is_a_dns_subdomain(name: str) -> None:
    assert Settings(driver_name=name).driver_name == name


@pytest.mark.parametrize("name", ["", "A.b", "a_b", "a..b", "-a", "a-", "a/b", "a" * 64, ".".join(["a" * 60, "b" * 3])])
def test_driver_name_that_is_no_dns_subdomain_of_63_characters_is_refused(name: str) -> None:
    assert "driverName" in faults({"driverName": name})


def test_driver_name_begins_with_a_letter_because_it_is_the_cdi_vendor() -> None:
    assert "letter" in faults({"driverName": "1net.dev"})["driverName"]


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("nodeName", {"nodeName": "No_Node"}),
        ("podUid", {"podUid": "../x"}),
        ("draRegistrationRetryInterval", {"draRegistrationRetryInterval": 0}),
        ("draRegistrationTimeout", {"draRegistrationTimeout": -1}),
        ("draRegistrationMaxAttempts", {"draRegistrationMaxAttempts": 0}),
        ("draRegistrationMaxAttempts", {"draRegistrationMaxAttempts": 1.5}),
        ("paths.stateDir", {"paths": {"stateDir": "relative"}}),
        ("paths.sys", {"paths": {"sys": "/a/../b"}}),
        ("inventory.interval", {"inventory": {"interval": 0}}),
        ("inventory.settle", {"inventory": {"settle": -1}}),
        ("limits.setupDevice", {"limits": {"setupDevice": 0}}),
        ("nri.index", {"nri": {"index": "5"}}),
        ("nri.index", {"nri": {"index": "٠٠"}}),
        ("nri.index", {"nri": {"index": 50}}),
        ("nri.name", {"nri": {"name": "a.b"}}),
        ("kubernetes.server", {"kubernetes": {"server": "localhost:80"}}),
        ("kubernetes.server", {"kubernetes": {"server": "http://["}}),
        ("kubernetes.server", {"kubernetes": {"server": "http://a", "kubeconfig": "/k"}}),
        ("kubernetes.kubeconfig", {"kubernetes": {"kubeconfig": "k"}}),
        ("logging.level", {"logging": {"level": "loud"}}),
        ("logging.format", {"logging": {"format": "xml"}}),
        ("health.interval", {"health": {"interval": 0}}),
        ("orphans.graceTime", {"orphans": {"graceTime": -1}}),
        ("blockedPlugins[0]", {"requiredPlugins": ["a"], "blockedPlugins": ["a"]}),
        ("polls", {"polls": []}),
        ("drivername", {"drivername": "a"}),
        ("pools[0].filter.vendorIds", {"pools": [{"name": "a", "filter": {"vendorIds": ["1"]}}]}),
        ("pools[0].name", {"pools": [{"filter": {}}]}),
        ("deviceManagerConfigs.dummy", {"deviceManagerConfigs": {"dummy": 3}}),
    ],
)
def test_value_out_of_range_is_refused_with_its_path(path: str, data: dict[str, Any]) -> None:
    assert list(faults(data)) == [path]


def test_pool_without_a_filter_differs_from_one_with_an_empty_filter() -> None:
    settings = decode(Settings, {"pools": [{"name": "none"}, {"name": "all", "filter": {}}]})
    assert settings.pools == (PoolConfig(name="none"), PoolConfig(name="all", filter=PoolFilter()))


def test_pool_name_of_64_bytes_is_the_longest() -> None:
    assert Settings(pools=(PoolConfig(name="a" * 64),)).pools[0].name == "a" * 64
    assert "pools[0].name" in faults({"pools": [{"name": "a" * 65}]})
    assert "pools[0].name" in faults({"pools": [{"name": "ä" * 33}]})


@pytest.mark.parametrize("name", ["", "a/b"])
def test_pool_name_that_is_empty_or_has_a_slash_is_refused(name: str) -> None:
    assert "pools[0].name" in faults({"pools": [{"name": name}]})


def test_duplicate_pool_names_are_refused() -> None:
    assert "pools[0]" in faults({"pools": [{"name": "a"}, {"name": "b"}, {"name": "a"}]})["pools[2].name"]


def test_interface_name_in_two_pools_is_refused_and_both_places_are_named() -> None:
    pools = [{"name": "a", "filter": {"ifNames": ["x", "y"]}}, {"name": "b", "filter": {"ifNames": ["z", "y"]}}]
    message = faults({"pools": pools})["pools[1].filter.ifNames[1]"]
    assert "pools[0].filter.ifNames[1]" in message


def test_interface_name_twice_in_one_pool_is_refused() -> None:
    pools = [{"name": "a", "filter": {"ifNames": ["x", "x"]}}]
    assert list(faults({"pools": pools})) == ["pools[0].filter.ifNames[1]"]


def test_other_filter_values_may_overlap_between_pools() -> None:
    filters = {"drivers": ["d"], "pfNames": ["p"], "vendorIDs": ["v"], "pciAddrs": ["c"]}
    decode(Settings, {"pools": [{"name": "a", "filter": filters}, {"name": "b", "filter": filters}, {"name": "c"}]})


@pytest.mark.parametrize("key", ["deviceManagers", "ifNames", "pfNames", "pciAddrs", "vendorIDs", "drivers"])
def test_empty_filter_value_is_refused(key: str) -> None:
    assert list(faults({"pools": [{"name": "a", "filter": {key: ["x", ""]}}]})) == [f"pools[0].filter.{key}[1]"]


def test_all_faults_of_pools_are_found_at_once() -> None:
    found = faults({"driverName": "X", "pools": [{"name": "a/"}, {"name": "b", "filter": {"drivers": [""]}}]})
    assert set(found) == {"driverName", "pools[0].name", "pools[1].filter.drivers[0]"}


def test_every_hook_that_ends_has_a_limit() -> None:
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    names = {name for name in vars(manager.hook) if not name.startswith("_")}
    endless = {"watch_devices", "watch_health", "run_controller"}
    assert {field.name for field in fields(Limits)} == names - endless
