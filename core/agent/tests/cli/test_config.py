"""``dragoman config show`` and ``dragoman config check``."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis
import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.main import main
from dragoman.settings import SettingsError, check_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "settings.yaml").write_text("nri: {index: '10'}\ndeviceManagerConfigs: {zzz: {count: 3}}\n")
    (tmp_path / "conf.d" / "10.yaml").write_text("pools: [{name: a, filter: {ifNames: [x]}}]\n")
    return tmp_path


def show(folder: Path, *args: str, **env: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(folder / "settings.yaml"), "config", "show", *args], env=env)


def check(*files: Path, args: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(main, ["config", "check", *args, *map(str, files)])


def test_show_gives_every_value_with_its_layer(folder: Path) -> None:
    result = show(folder, "-o", "json", DRAGOMAN_POD_UID="u")
    rows = {row["path"]: (row["value"], row["origin"]) for row in json.loads(result.stdout)}
    assert rows["podUid"] == ("u", "environment DRAGOMAN_POD_UID")
    assert rows["nri.index"] == ("10", str(folder / "settings.yaml"))
    assert rows["nri.name"] == ("dragoman", "defaults")
    assert rows["deviceManagerConfigs.zzz.count"] == (3, str(folder / "settings.yaml"))
    assert rows["pools"] == ([{"name": "a", "filter": {"ifNames": ["x"]}}], str(folder / "conf.d" / "10.yaml"))
    assert rows["pluginConfigs"] == ({}, "defaults")
    assert rows["kubernetes.server"] == (None, "defaults")
    assert "nri" not in rows


def test_show_as_table_has_a_line_for_each_value(folder: Path) -> None:
    lines = show(folder).stdout.splitlines()
    assert lines[0].split() == ["PATH", "ORIGIN", "VALUE"]
    assert ["nri.name", "defaults", "dragoman"] in [line.split() for line in lines]


def test_show_as_yaml_is_a_settings_file_of_the_same_settings(folder: Path, tmp_path: Path) -> None:
    result = show(folder, "-o", "yaml")
    saved = tmp_path / "saved.yaml"
    saved.write_text(result.stdout)
    settings = check_file(saved).settings
    assert settings.nri.index == "10"
    assert settings.pools[0].name == "a"
    assert settings.device_manager_configs == {"zzz": {"count": 3}}
    assert f'  index: "10"  # {folder / "settings.yaml"}' in result.stdout.splitlines()


TEXTS = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["on", "No", "null", "~", "1", "a: b", "x #y", "\x9b2J", "\u2028"]
)


@hypothesis.settings(derandomize=True, max_examples=20, deadline=None)
@given(section=st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=2), max_size=3))
def test_show_as_yaml_is_read_as_what_was_set_and_drives_no_terminal(section: dict[str, object]) -> None:
    with TemporaryDirectory() as folder:
        first, second = Path(folder) / "settings.yaml", Path(folder) / "again.yaml"
        first.write_text(yaml.safe_dump({"pluginConfigs": {"x": section}}), encoding="utf-8")
        shown = show(Path(folder), "-o", "yaml").stdout
        assert all(line.isprintable() for line in shown.split("\n"))
        second.write_text(shown, encoding="utf-8")
        assert check_file(second).settings.plugin_configs == check_file(first).settings.plugin_configs


def test_show_refuses_faulty_settings_in_one_line(folder: Path) -> None:
    result = show(folder, DRAGOMAN_DRIVER_NAM="a")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: environment DRAGOMAN_DRIVER_NAM: ")
    assert result.stderr.count("\n") == 1


def test_show_warns_of_what_is_ignored(folder: Path) -> None:
    (folder / "conf.d" / "20.yml").touch()
    result = show(folder, DRAGOMAN_PORT="tcp://10.0.0.1:80")
    assert result.exit_code == 0
    assert "20.yml is not read" in result.stderr
    assert "DRAGOMAN_PORT is ignored" in result.stderr


def test_check_of_good_files_is_exit_code_0(folder: Path) -> None:
    result = check(folder / "settings.yaml", folder / "conf.d" / "10.yaml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2 checked, 0 faults" in result.stderr
    assert "deviceManagerConfigs.zzz is not checked" in result.stderr


def test_check_tells_path_and_file_of_every_fault(tmp_path: Path) -> None:
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("nri: {index: 5}\npools: [{nam: x}]\n")
    second.write_text("a: [\n")
    result = check(first, second)
    assert result.exit_code == 1
    starts = [f"{first}: nri.index: ", f"{first}: pools[0].name: ", f"{first}: pools[0].nam: ", f"{second}: line "]
    for start in starts:
        assert any(line.startswith(start) for line in result.stdout.splitlines()), start


def test_check_tells_faults_of_a_plugins_section_beside_those_of_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("pools: [{nam: x}]\ndeviceManagerConfigs: {dummy: {count: -1}, zzz: {}}\n")
    result = check(path)
    told = [line.partition(": ")[2].partition(":")[0] for line in result.stdout.splitlines()]
    assert sorted(told) == ["deviceManagerConfigs.dummy.count", "pools[0].nam", "pools[0].name"]
    assert "deviceManagerConfigs.zzz is not checked" in result.stderr


def test_check_tells_a_section_that_is_none_once(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("deviceManagerConfigs: {dummy: 3}\n")
    result = check(path)
    assert result.stdout.count("deviceManagerConfigs.dummy") == 1
    assert "1 fault" in result.stderr


@pytest.mark.parametrize("args", [[], ["no-such-file"], ["-x"]])
def test_check_of_nothing_is_wrong_usage(args: list[str]) -> None:
    assert CliRunner().invoke(main, ["config", "check", *args]).exit_code == 2


def test_check_takes_a_whole_node_config(tmp_path: Path) -> None:
    path = tmp_path / "n.yaml"
    path.write_text("apiVersion: a/v1\nkind: NodeConfig\nmetadata: {name: n}\nspec: {nri: {index: 5}}\n")
    result = check(path)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{path}: nri.index: ")


@pytest.mark.parametrize(
    "second", ["driverName: net.example.com", "kind: NodeConfig\nspec: {}", "kind: DeviceClass\nmetadata: {name: c}"]
)
def test_check_says_of_settings_in_several_documents_what_the_agent_says(tmp_path: Path, second: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"---\nnri: {{index: '10'}}\n---\n{second}\n---\n")
    with pytest.raises(SettingsError) as refused:
        check_file(path)
    result = check(path)
    assert (result.exit_code, result.stdout) == (1, f"{refused.value.faults[0]}\n")
    assert "must hold one document, holds 2" in result.stdout


def test_check_takes_one_document_among_empty_ones_as_the_agent_does(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("---\n---\nnri: {index: '10'}\n---\n")
    assert check_file(path).settings.nri.index == "10"
    result = check(path)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, "1 checked, 0 faults")


def test_check_takes_a_node_config_among_manifests(tmp_path: Path) -> None:
    path = manifest(tmp_path / "m.yaml", f"{CLAIM}---\nkind: NodeConfig\nspec: {{}}\n---{CLASS}", "{mtu: 1400}")
    result = check(path)
    assert (result.exit_code, result.stdout) == (0, "")


CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: n}
spec:
  devices:
    requests: [{name: r}]
    config:
    - opaque: {driver: other.example.com, parameters: {mtu: no}}
    - opaque: {driver: DRIVER, parameters: PARAMETERS}
"""
TEMPLATE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t}
spec: {spec: {devices: {config: [{opaque: {driver: DRIVER, parameters: PARAMETERS}}]}}}
"""
CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec: {config: [{opaque: {driver: DRIVER, parameters: PARAMETERS}}]}
"""


def manifest(path: Path, text: str, parameters: str, driver: str = "net.dragoman.dev") -> Path:
    path.write_text(text.replace("PARAMETERS", parameters).replace("DRIVER", driver))
    return path


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (CLAIM, "ResourceClaim n/a: spec.devices.config[1].opaque.parameters.mtu"),
        (TEMPLATE, "ResourceClaimTemplate t: spec.spec.devices.config[0].opaque.parameters.mtu"),
        (CLASS, "DeviceClass c: spec.config[0].opaque.parameters.mtu"),
    ],
)
def test_check_finds_faults_in_the_parameters_of_our_driver(tmp_path: Path, text: str, place: str) -> None:
    result = check(manifest(tmp_path / "m.yaml", text, "{mtu: text}"))
    assert result.exit_code == 1
    [line] = result.stdout.splitlines()
    assert line.startswith(f"{tmp_path / 'm.yaml'}: {place}: ")


@pytest.mark.parametrize("text", [CLAIM, TEMPLATE, CLASS])
def test_check_accepts_good_parameters(tmp_path: Path, text: str) -> None:
    result = check(manifest(tmp_path / "m.yaml", text, "{mtu: 1400, podIfName: net1}"))
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize("parameters", ["{podIfname: x}", "{podIfName: a/b}", "text", "[]", ""])
def test_check_refuses_unknown_keys_and_impossible_values(tmp_path: Path, parameters: str) -> None:
    assert check(manifest(tmp_path / "m.yaml", TEMPLATE, parameters)).exit_code == 1


def test_check_tells_once_of_a_key_that_no_device_takes_and_which_one_is_close(tmp_path: Path) -> None:
    result = check(manifest(tmp_path / "m.yaml", TEMPLATE, "{podIfname: net1}"))
    (line,) = result.stdout.splitlines()
    assert line.endswith("parameters.podIfname: is not a known key; did you mean podIfName?")


def test_check_notes_parameters_of_other_drivers(tmp_path: Path) -> None:
    result = check(manifest(tmp_path / "m.yaml", CLAIM, "{mtu: 1400}"))
    assert result.exit_code == 0
    told = "config[0].opaque.parameters is not checked: it is for driver other.example.com, not net.dragoman.dev"
    assert told in result.stderr


def test_only_a_class_may_lock_parameters(tmp_path: Path) -> None:
    locked = "{mtu: 1400, locked: [mtu]}"
    assert check(manifest(tmp_path / "c.yaml", CLASS, locked)).exit_code == 0
    assert check(manifest(tmp_path / "t.yaml", TEMPLATE, locked)).exit_code == 1


def test_check_reads_several_documents_and_lists_and_tells_what_it_passes_over(tmp_path: Path) -> None:
    path = manifest(tmp_path / "m.yaml", "kind: Pod\nmetadata: {name: p}\n---" + CLAIM + "---" + CLASS, "{mtu: x}")
    result = check(path)
    assert len(result.stdout.splitlines()) == 2
    assert "Pod p is not checked" in result.stderr
    claim = {"kind": "DeviceClass", "spec": {"config": [{"opaque": {"driver": "net.dragoman.dev", "parameters": 1}}]}}
    path.write_text(json.dumps({"kind": "List", "items": [claim, claim]}))
    assert len(check(path).stdout.splitlines()) == 2


def test_driver_of_the_settings_files_is_the_one_whose_parameters_are_checked(tmp_path: Path) -> None:
    path = manifest(tmp_path / "m.yaml", CLASS, "{mtu: x}", driver="net.example.com")
    settings = tmp_path / "s.yaml"
    settings.write_text("driverName: net.example.com\n")
    assert check(path).exit_code == 0
    assert check(path, settings).exit_code == 1
    assert check(path, args=("--driver", "net.example.com")).exit_code == 1


@pytest.mark.parametrize("spec", ["spec: {devices: []}", "spec: {devices: {config: {}}}", "spec: text"])
def test_claim_that_is_not_built_as_the_api_says_is_a_fault(tmp_path: Path, spec: str) -> None:
    (tmp_path / "m.yaml").write_text(f"kind: ResourceClaim\nmetadata: {{name: a}}\n{spec}\n")
    result = check(tmp_path / "m.yaml")
    assert result.exit_code == 1
    assert "ResourceClaim a: spec" in result.stdout


@pytest.mark.parametrize("spec", ["", "spec:", "spec: {devices: {requests: []}}", "spec: {devices: {config: [{}]}}"])
def test_claim_without_parameters_is_fine(tmp_path: Path, spec: str) -> None:
    (tmp_path / "m.yaml").write_text(f"kind: ResourceClaim\n{spec}\n")
    assert check(tmp_path / "m.yaml").exit_code == 0


@pytest.mark.parametrize("kind", ["{a: 1}", "[a]", "7"])
def test_a_kind_that_is_no_text_is_passed_over_like_an_unknown_one(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"kind: {kind}\nmetadata: {{name: a}}\n")
    result = CliRunner().invoke(main, ["config", "check", str(file)])
    assert result.exit_code == 0
    assert "a is not checked" in result.output


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ("kind: List\nitems: [3, {kind: Pod}]", "items[0]: must be an object"),
        ("kind: List\nitems: [{kind: List, items: [null]}]", "items[0].items[0]: must be an object"),
        ("kind: List\nitems: {a: b}", "items: must be a list"),
        ("kind: List\nitems: [{metadata: {name: a}}]", "items[0]: has no kind"),
    ],
)
def test_a_list_of_what_are_no_objects_is_a_fault(tmp_path: Path, document: str, fault: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(document)
    result = check(file)
    assert (result.exit_code, result.stdout) == (1, f"{file}: {fault}\n")


def test_items_of_a_typed_list_are_of_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("kind: DeviceClassList\nitems: [{metadata: {name: c}, spec: {config: 7}}]")
    assert check(file).stdout == f"{file}: DeviceClass c: spec.config: must be a list\n"


def test_node_configs_in_a_list_are_checked_as_settings(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("kind: List\nitems: [{kind: NodeConfig, spec: {podUid: [1]}}, {kind: NodeConfig, spec: {}}]")
    result = check(file)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{file}: podUid: ")


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("7", "spec.config[0]: must be an object"),
        ("{opaque: text}", "spec.config[0].opaque: must be an object"),
        ("{opaque: {parameters: {}}}", "spec.config[0].opaque.driver: must name a driver"),
    ],
)
def test_configuration_that_is_not_built_as_the_api_says_is_a_fault(tmp_path: Path, entry: str, fault: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"kind: DeviceClass\nmetadata: {{name: c}}\nspec: {{config: [{entry}, [1]]}}\n")
    result = check(file, args=("--driver", "a.example.com"))
    second = "spec.config[1]: must be an object"
    assert result.stdout.splitlines() == [f"{file}: DeviceClass c: {each}" for each in (fault, second)]
