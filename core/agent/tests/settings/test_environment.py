"""Settings from variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from dragoman.schema import keys
from dragoman.schema.types import known_keys
from dragoman.settings import SectionSchemas, Settings
from dragoman.settings.environment import Environment
from dragoman.settings.layers import merge
from dragoman.settings.service_links import is_service_link


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    if_name: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    pci_addr: str = ""
    count: int = 0
    ratio: float = 1.0
    names: tuple[str, ...] = ()
    first: Interface = field(default_factory=Interface)


SCHEMAS: SectionSchemas = {"deviceManagerConfigs": {"rxQueue": Installed}, "pluginConfigs": {"pool-status": Installed}}


def read(environ: Mapping[str, str], below: dict[str, Any] | None = None) -> Environment:
    environment = Environment(lambda: SCHEMAS, below or {})
    environment.read(environ)
    return environment


def values(environ: Mapping[str, str], below: dict[str, Any] | None = None) -> dict[str, Any]:
    environment = read(environ, below)
    assert environment.faults == []
    return merge(environment.layers)


def fault(environ: Mapping[str, str]) -> str:
    [found] = read(environ).faults
    return str(found)


@pytest.mark.parametrize(
    "name", ["DRAGOMAN_DRIVER_NAME", "DRAGOMAN_DRIVERNAME", "DRAGOMAN_driverName", "DRAGOMAN_driver_name"]
)
def test_name_matches_its_key_without_case_and_underscores(name: str) -> None:
    assert values({name: "a"}) == {"driverName": "a"}


def test_two_underscores_separate_levels() -> None:
    environ = {"DRAGOMAN_NRI__INDEX": "10", "DRAGOMAN_PATHS__KUBELET_ROOT": "/k", "DRAGOMAN_LIMITS__SETUP_DEVICE": "3"}
    assert values(environ) == {"nri": {"index": "10"}, "paths": {"kubeletRoot": "/k"}, "limits": {"setupDevice": 3}}


def test_keys_with_capitals_of_their_own_are_matched() -> None:
    environ = {"DRAGOMAN_DRA_REGISTRATION_MAX_ATTEMPTS": "3", "DRAGOMAN_POD_UID": "u"}
    assert values(environ) == {"draRegistrationMaxAttempts": 3, "podUid": "u"}


@pytest.mark.parametrize("text", ["0000:03:00.1", "1e3", "-1", "007", "0x10", "on", "123456", "true", "@int 3", "[1]"])
def test_text_keys_take_the_text_as_it_stands(text: str) -> None:
    assert values({"DRAGOMAN_POD_UID": text}) == {"podUid": text}
    assert values({"DRAGOMAN_DEVICE_MANAGER_CONFIGS__RX_QUEUE__PCI_ADDR": text}) == {
        "deviceManagerConfigs": {"rxQueue": {"pciAddr": text}}
    }


@pytest.mark.parametrize("text", ["@format {env[HOME]}", "@read_file /etc/hostname", "@jinja {{ this }}"])
def test_tokens_stay_text(text: str) -> None:
    assert values({"DRAGOMAN_NODE_NAME": text}) == {"nodeName": text}


def test_lists_and_objects_are_json() -> None:
    environ = {"DRAGOMAN_POOLS": '[{"name": "a", "filter": {}}]', "DRAGOMAN_NRI": '{"name": "n"}'}
    assert values(environ) == {"pools": [{"name": "a", "filter": {}}], "nri": {"name": "n"}}


def test_narrower_name_wins_over_the_whole_object() -> None:
    environ = {"DRAGOMAN_NRI__NAME": "narrow", "DRAGOMAN_NRI": '{"name": "whole", "index": "11"}'}
    assert values(environ) == {"nri": {"name": "narrow", "index": "11"}}


@pytest.mark.parametrize(("name", "text"), [("DRA_REGISTRATION_MAX_ATTEMPTS", "many"), ("POOLS", "a,b")])
def test_value_of_the_wrong_type_is_refused_with_variable_and_path(name: str, text: str) -> None:
    assert fault({f"DRAGOMAN_{name}": text}).startswith(f"environment DRAGOMAN_{name}: ")


@pytest.mark.parametrize(
    "name", ["DRIVER_NAM", "DRIVER", "NRI__INDX", "NRI__INDEX__X", "NRI___INDEX__", "POOLS__0__NAME", "", "__NRI"]
)
def test_misspelt_name_is_refused(name: str) -> None:
    assert fault({f"DRAGOMAN_{name}": "1"}).startswith(f"environment DRAGOMAN_{name}: ")


def test_misspelt_name_is_answered_with_the_right_one() -> None:
    assert "did you mean driverName?" in fault({"DRAGOMAN_DRIVER_NAM": "a"})


def test_two_variables_for_one_key_are_refused_and_both_named() -> None:
    message = fault({"DRAGOMAN_DRIVERNAME": "a", "DRAGOMAN_DRIVER_NAME": "b"})
    assert "DRAGOMAN_DRIVERNAME" in message
    assert "DRAGOMAN_DRIVER_NAME" in message


def test_empty_variable_sets_nothing() -> None:
    assert values({"DRAGOMAN_DRIVER_NAME": "", "DRAGOMAN_DRIVER_NAM": ""}) == {}


def test_other_prefixes_are_not_read() -> None:
    assert (
        values({"DRAGOMANX_DRIVER_NAME": "a", "dragoman_driver_name": "a", "DRIVER_NAME": "a", "DRAGOMAN": "x"}) == {}
    )


def test_variable_with_the_path_of_the_main_file_is_no_setting() -> None:
    assert values({"DRAGOMAN_CONFIG": "/x"}) == {}


def test_each_variable_is_a_layer_with_its_name() -> None:
    layers = read({"DRAGOMAN_POD_UID": "u", "DRAGOMAN_DRIVER_NAME": "a"}).layers
    assert [layer.name for layer in layers] == ["environment DRAGOMAN_DRIVER_NAME", "environment DRAGOMAN_POD_UID"]


def test_schema_of_an_installed_plugin_decides_the_types_of_its_section() -> None:
    root = "DRAGOMAN_DEVICE_MANAGER_CONFIGS__RXQUEUE__"
    environ = {f"{root}COUNT": "4", f"{root}NAMES": '["1"]', f"{root}FIRST__IF_NAME": "7", f"{root}ENABLED": "false"}
    section = {"count": 4, "names": ["1"], "first": {"ifName": "7"}, "enabled": False}
    assert values(environ) == {"deviceManagerConfigs": {"rxQueue": section}}


def test_settings_key_with_a_dash_can_be_named() -> None:
    assert values({"DRAGOMAN_PLUGIN_CONFIGS__POOL_STATUS__COUNT": "1"}) == {
        "pluginConfigs": {"pool-status": {"count": 1}}
    }


def test_wrong_value_for_a_plugin_is_left_to_the_check_of_its_section() -> None:
    assert values({"DRAGOMAN_DEVICE_MANAGER_CONFIGS__RXQUEUE__COUNT": "x"}) == {
        "deviceManagerConfigs": {"rxQueue": {"count": "x"}}
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("true", True), ('["a"]', ["a"]), ("eth0", "eth0"), ("007", "007"), ("@int 3", "@int 3")],
)
def test_section_of_an_unknown_plugin_takes_json_where_it_is_json_and_text_elsewhere(text: str, value: object) -> None:
    assert values({"DRAGOMAN_DEVICE_MANAGER_CONFIGS__OTHER__SOME_KEY": text}) == {
        "deviceManagerConfigs": {"other": {"someKey": value}}
    }


def test_names_of_an_unknown_plugin_with_small_letters_are_kept() -> None:
    assert values({"DRAGOMAN_PLUGIN_CONFIGS__myPlugin__if_name": "a"}) == {
        "pluginConfigs": {"myPlugin": {"if_name": "a"}}
    }


def test_settings_key_of_a_lower_layer_is_found_again() -> None:
    below = {"deviceManagerConfigs": {"eSwitch": {"count": 1}}}
    assert values({"DRAGOMAN_DEVICE_MANAGER_CONFIGS__ESWITCH__COUNT": "2"}, below) == {
        "deviceManagerConfigs": {"eSwitch": {"count": 2}}
    }


def test_name_that_means_two_settings_keys_is_refused() -> None:
    environment = read(
        {"DRAGOMAN_DEVICE_MANAGER_CONFIGS__RXQUEUE__COUNT": "2"}, {"deviceManagerConfigs": {"rxqueue": {}}}
    )
    assert "rxQueue or rxqueue" in str(environment.faults[0])


def test_whole_section_is_json() -> None:
    assert values({"DRAGOMAN_DEVICE_MANAGER_CONFIGS__RXQUEUE": '{"count": 2}'}) == {
        "deviceManagerConfigs": {"rxQueue": {"count": 2}}
    }


SERVICE_LINKS = {
    "DRAGOMAN_SERVICE_HOST": "10.0.0.1",
    "DRAGOMAN_SERVICE_PORT": "80",
    "DRAGOMAN_SERVICE_PORT_METRICS": "80",
    "DRAGOMAN_PORT": "tcp://10.0.0.1:80",
    "DRAGOMAN_PORT_80_TCP": "tcp://10.0.0.1:80",
    "DRAGOMAN_PORT_80_TCP_PROTO": "tcp",
    "DRAGOMAN_PORT_80_TCP_PORT": "80",
    "DRAGOMAN_PORT_80_TCP_ADDR": "10.0.0.1",
    "DRAGOMAN_CONTROLLER_SERVICE_HOST": "fd00::1",
    "DRAGOMAN_CONTROLLER_PORT_53_UDP": "udp://[fd00::1]:53",
}


@pytest.mark.parametrize("name", SERVICE_LINKS)
def test_service_link_is_ignored_with_a_warning(name: str) -> None:
    environment = read({name: SERVICE_LINKS[name]})
    assert (environment.layers, environment.faults) == ([], [])
    assert name in environment.warnings[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DRAGOMAN_HEALTH_PORT", "8080"),
        ("DRAGOMAN_PORT", "http://10.0.0.1:80"),
        ("DRAGOMAN_PORT", "tcp://host:80"),
        ("DRAGOMAN_PORT", "tcp://10.0.0.1"),
        ("DRAGOMAN_PORT", "tcp://[::1"),
        ("DRAGOMAN_SERVICE_HOST", "name"),
        ("DRAGOMAN_SERVICE_PORTS", "80"),
        ("DRAGOMAN_PORT_80_TCP_PROTO", "http"),
        ("DRAGOMAN_DRIVER_NAM", "10.0.0.1"),
    ],
)
def test_misspelt_name_that_only_resembles_a_service_link_is_refused(name: str, value: str) -> None:
    assert name in fault({name: value})


def paths(cls: type, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key in known_keys(cls, path):
        yield (*path, key)
        yield from paths(cls, (*path, key))


@pytest.mark.parametrize("value", ["10.0.0.1", "80", "tcp", "tcp://10.0.0.1:80"])
def test_no_setting_has_the_name_of_a_service_link(value: str) -> None:
    names = ["DRAGOMAN_" + "__".join(path).upper() for path in paths(Settings)]
    assert len(names) > len(keys(Settings))
    assert [name for name in names if is_service_link(name, value)] == []
