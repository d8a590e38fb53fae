"""All layers together: order, origins, faults and reload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.schema import decode
from dragoman.settings import Loaded, Settings, SettingsError, check_file, load


@pytest.fixture
def main(tmp_path: Path) -> Path:
    (tmp_path / "conf.d").mkdir()
    return tmp_path / "settings.yaml"


def write(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def faults(main: Path, environ: Mapping[str, str] | None = None, node_config: Any = None) -> list[tuple[str, str]]:
    with pytest.raises(SettingsError) as caught:
        load(main, environ=environ or {}, node_config=node_config, required=True)
    return [(fault.layer, fault.path) for fault in caught.value.faults]


def test_later_layers_win_key_by_key(main: Path) -> None:
    names = {"nri": {"name": "main"}, "logging": {"level": "debug"}, "podUid": "main", "health": {"interval": 1}}
    write(main, names | {"driverName": "main", "nodeName": "main"})
    write(main.parent / "conf.d" / "10.yaml", {"nri": {"name": "ten"}, "podUid": "ten", "driverName": "ten"})
    write(main.parent / "conf.d" / "20.yaml", {"podUid": "twenty", "driverName": "twenty"})
    node_config = {
        "kind": "NodeConfig",
        "metadata": {"name": "n1"},
        "spec": {"driverName": "object", "podUid": "object"},
    }
    loaded = load(main, environ={"DRAGOMAN_DRIVER_NAME": "variable"}, node_config=node_config)
    settings = loaded.settings
    assert settings.driver_name == "variable"
    assert settings.pod_uid == "object"
    assert settings.nri.name == "ten"
    assert settings.node_name == "main"
    assert settings.logging.level == "debug"
    assert loaded.origins["driverName"] == "environment DRAGOMAN_DRIVER_NAME"
    assert loaded.origins["podUid"] == "NodeConfig n1"
    assert loaded.origins["nri.name"] == str(main.parent / "conf.d" / "10.yaml")
    assert loaded.origins["health.interval"] == str(main)
    assert "nri.index" not in loaded.origins


def test_later_drop_in_wins_by_name_and_not_by_age(main: Path) -> None:
    write(main.parent / "conf.d" / "20.yaml", {"podUid": "twenty"})
    write(main.parent / "conf.d" / "10.yaml", {"podUid": "ten"})
    assert load(main, environ={}).settings.pod_uid == "twenty"


def test_pools_of_a_later_layer_replace_those_of_an_earlier_one(main: Path) -> None:
    write(main, {"pools": [{"name": "a", "filter": {"ifNames": ["x"]}}]})
    write(main.parent / "conf.d" / "10.yaml", {"pools": [{"name": "b", "filter": {"ifNames": ["x"]}}]})
    assert [pool.name for pool in load(main, environ={}).settings.pools] == ["b"]


def test_null_takes_a_key_back_to_its_default(main: Path) -> None:
    write(main, {"nri": {"name": "n", "index": "10"}, "pools": [{"name": "a"}]})
    write(main.parent / "conf.d" / "10.yaml", "nri: {name: null}\npools:\n")
    loaded = load(main, environ={})
    assert loaded.settings.nri.name == Settings().nri.name
    assert loaded.settings.nri.index == "10"
    assert loaded.settings.pools == ()
    assert loaded.origins.keys() == {"nri", "nri.index"}


def test_nothing_at_all_gives_the_defaults(main: Path) -> None:
    assert load(main, environ={}) == Loaded(settings=Settings(), origins={}, raw={})


def test_drop_ins_are_read_without_a_main_file(main: Path) -> None:
    write(main.parent / "conf.d" / "10.yaml", {"podUid": "u"})
    assert load(main, environ={}).settings.pod_uid == "u"


def test_main_file_that_was_named_must_exist(main: Path) -> None:
    assert faults(main) == [(str(main), "")]


def test_unknown_key_is_refused_with_path_and_layer(main: Path) -> None:
    write(main, {"pools": [{"name": "a", "filter": {"ifName": ["x"]}}]})
    write(main.parent / "conf.d" / "10.yaml", {"nri": {"indx": "10"}})
    assert faults(main) == [
        (str(main), "pools[0].filter.ifName"),
        (str(main.parent / "conf.d" / "10.yaml"), "nri.indx"),
    ]


@pytest.mark.parametrize("key", ["polls", "drivername", "dynaconf_include", "LOADERS_FOR_DYNACONF"])
def test_unknown_key_is_refused_even_if_it_is_null(main: Path, key: str) -> None:
    write(main, {key: None})
    assert faults(main) == [(str(main), key)]


def test_faults_of_all_files_and_variables_are_told_at_once(main: Path) -> None:
    write(main, "a: [")
    broken = write(main.parent / "conf.d" / "10.yaml", "- a")
    found = faults(main, {"DRAGOMAN_DRIVER_NAM": "x"}, {"kind": "Pod"})
    assert [layer for layer, _ in found] == [str(main), str(broken), "NodeConfig", "environment DRAGOMAN_DRIVER_NAM"]


def test_wrong_value_names_the_layer_that_gave_it_and_not_the_last_one(main: Path) -> None:
    write(main, {"inventory": {"interval": -1}})
    write(main.parent / "conf.d" / "10.yaml", {"inventory": {"settle": 1}})
    assert faults(main) == [(str(main), "inventory.interval")]


def test_wrong_value_of_a_variable_names_the_variable(main: Path) -> None:
    write(main, {"driverName": "a"})
    assert faults(main, {"DRAGOMAN_DRIVER_NAME": "A"}) == [("environment DRAGOMAN_DRIVER_NAME", "driverName")]


def test_fault_of_a_value_that_a_later_layer_corrects_is_none(main: Path) -> None:
    write(main, {"driverName": "WRONG"})
    assert load(main, environ={"DRAGOMAN_DRIVER_NAME": "right"}).settings.driver_name == "right"


@pytest.mark.parametrize("token", ["@format {env[HOME]}", "@read_file /etc/hostname", "@jinja {{ 1 }}", "@none"])
def test_tokens_in_files_stay_text(main: Path, token: str) -> None:
    write(main, {"deviceManagerConfigs": {"dummy": {"text": token, "list": [token]}}, "pools": [{"name": token[:7]}]})
    settings = load(main, environ={}).settings
    assert settings.device_manager_configs["dummy"] == {"text": token, "list": [token]}
    assert settings.pools[0].name == token[:7]


def test_sections_of_plugins_keep_every_key_and_value(main: Path) -> None:
    section = {"a.b": 1, "A": [{"ifName": "x"}], "net": {"ipv4": {}}, "dynaconf_merge": True, "empty": {}, "e": ""}
    write(main, {"deviceManagerConfigs": {"rxQueue": section, "dummy": {}}})
    assert load(main, environ={}).settings.device_manager_configs == {"rxQueue": section, "dummy": {}}


def test_service_links_do_not_stop_the_start(main: Path) -> None:
    loaded = load(main, environ={"DRAGOMAN_PORT": "tcp://10.0.0.1:80", "DRAGOMAN_SERVICE_HOST": "10.0.0.1"})
    assert loaded.settings == Settings()
    assert len(loaded.warnings) == 2


def test_bad_reload_raises_and_leaves_what_was_loaded(main: Path) -> None:
    write(main, {"driverName": "a"})
    before = load(main, environ={})
    write(main, "driverName: [")
    with pytest.raises(SettingsError):
        load(main, environ={})
    assert before.settings.driver_name == "a"
    assert before.raw == {"driverName": "a"}
    write(main, {"driverName": "b"})
    assert load(main, environ={}).settings.driver_name == "b"


def test_later_drop_in_that_appears_is_seen_by_the_next_load(main: Path) -> None:
    write(main, {"podUid": "a"})
    assert load(main, environ={}).settings.pod_uid == "a"
    write(main.parent / "conf.d" / "30.yaml", {"podUid": "b"})
    assert load(main, environ={}).settings.pod_uid == "b"


def test_effective_settings_are_complete_and_decode_to_the_same(main: Path) -> None:
    write(
        main, {"pools": [{"name": "a", "filter": {}}], "paths": {"sys": "/s"}, "deviceManagerConfigs": {"x": {"y": 1}}}
    )
    loaded = load(main, environ={})
    effective = loaded.effective()
    assert effective["nri"] == {"index": "50", "name": "dragoman"}
    assert effective["kubernetes"] == {"kubeconfig": None, "server": None}
    assert effective["blockedPlugins"] == []
    assert decode(Settings, json.loads(json.dumps(effective))) == loaded.settings


def test_one_file_is_checked_on_its_own(main: Path) -> None:
    write(main.parent / "conf.d" / "10.yaml", "broken: [")
    assert check_file(write(main, {"podUid": "u"})).settings.pod_uid == "u"
    with pytest.raises(SettingsError, match="podUid"):
        check_file(write(main, {"podUid": "/"}))


def test_variable_wins_over_its_key_beside_tokens_in_the_same_section(main: Path) -> None:
    section = {"parent": "@format {this.other}", "nested": {"text": "@format {env[HOME]}", "count": "1"}}
    write(main, {"deviceManagerConfigs": {"dummy": section}})
    settings = load(main, environ={"DRAGOMAN_DEVICE_MANAGER_CONFIGS__DUMMY__NESTED__COUNT": "2"}).settings
    nested = {"text": "@format {env[HOME]}", "count": 2}
    assert settings.device_manager_configs["dummy"] == {"parent": "@format {this.other}", "nested": nested}
