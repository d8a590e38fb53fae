"""The main file and conf.d."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.settings import SettingsError
from dragoman.settings.files import drop_ins, settings


def message(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(path)
    return str(caught.value)


def test_settings_file_is_the_spec(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("driverName: a\n")
    assert settings(tmp_path / "s.yaml") == {"driverName": "a"}


def test_whole_node_config_is_taken_by_its_spec(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("apiVersion: x/v1\nkind: NodeConfig\nmetadata: {name: n}\nspec: {driverName: a}\n")
    assert settings(tmp_path / "s.yaml") == {"driverName": "a"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n---\n", "kind: NodeConfig\n", "kind: NodeConfig\nspec:\n"])
def test_empty_file_sets_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert settings(tmp_path / "s.yaml") == {}


def test_json_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"driverName": "a"}')
    assert settings(tmp_path / "s.json") == {"driverName": "a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: [", "line 2"),
        ("a: 1\na: 2", "line 2: key 'a' stands in line 1 already"),
        ("- a", "must hold an object with settings, holds a list"),
        ("just text", "holds text"),
        ("3", "holds a number"),
        ("a: 1\n---\nb: 1", "must hold one document, holds 2"),
        ("kind: Pod", "kind: must be NodeConfig"),
        ("kind: NodeConfig\nspec: []", "holds a list"),
    ],
)
def test_broken_file_is_an_error_with_file_and_place(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    assert expected in message(path)
    assert message(path).startswith(f"{path}: ")


def test_absent_file_is_an_error_only_where_it_is_required(tmp_path: Path) -> None:
    assert "No such file" in message(tmp_path / "none.yaml")
    assert settings(tmp_path / "none.yaml", required=False) == {}


def test_folder_in_place_of_a_file_is_an_error_even_where_none_is_required(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="directory"):
        settings(tmp_path, required=False)


def test_drop_ins_come_in_name_order(tmp_path: Path) -> None:
    folder = tmp_path / "conf.d"
    folder.mkdir()
    for name in ("20.yaml", "10.yaml", "9.yaml", "Z.yaml", "a.yaml"):
        (folder / name).touch()
    read, warnings = drop_ins(tmp_path / "settings.yaml")
    assert [path.name for path in read] == ["10.yaml", "20.yaml", "9.yaml", "Z.yaml", "a.yaml"]
    assert warnings == []


def test_hidden_files_of_a_mounted_config_map_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "conf.d" / "..data").mkdir(parents=True)
    (tmp_path / "conf.d" / ".10.yaml.swp").touch()
    (tmp_path / "conf.d" / ".hidden.yaml").touch()
    assert drop_ins(tmp_path / "settings.yaml") == ([], [])


def test_drop_in_of_another_suffix_is_told_and_not_silently_lost(tmp_path: Path) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10.yml").touch()
    read, [warning] = drop_ins(tmp_path / "settings.yaml")
    assert read == []
    assert "10.yml is not read" in warning


def test_a_folder_of_drop_ins_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "conf.d").symlink_to("conf.d")
    with pytest.raises(SettingsError, match=rf"{tmp_path}/conf\.d: cannot be read: Too many levels"):
        drop_ins(tmp_path / "settings.yaml")


def test_relative_main_file_finds_its_drop_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "10.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert drop_ins(Path("settings.yaml"))[0] == [Path("conf.d/10.yaml")]
