"""Files appear whole or not at all, and a crash leaves nothing for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_kit import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_with_the_mode_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "new" / "spec.json"
    assert files.write_atomic(path, b"1", mode=0o600)
    assert files.write_atomic(path, b"22", mode=0o640)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"22", 0o640)
    assert names(path.parent) == ["spec.json"]


def test_a_file_that_has_that_content_keeps_its_inode(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    files.write_atomic(path, b"1")
    inode = path.stat().st_ino
    assert not files.write_atomic(path, b"1")
    assert path.stat().st_ino == inode


@pytest.mark.parametrize("content", [b"1", b"2"])
def test_what_a_crash_left_is_gone_after_the_next_write_also_where_nothing_changes(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "spec.json"
    files.write_atomic(path, b"1")
    (tmp_path / ".spec.json.tmp").write_bytes(b"a part")
    files.write_atomic(path, content)
    assert (names(tmp_path), path.read_bytes()) == (["spec.json"], content)


def test_what_a_crash_left_is_gone_after_removal_also_where_the_file_never_appeared(tmp_path: Path) -> None:
    (tmp_path / ".spec.json.tmp").write_bytes(b"a part")
    assert not files.remove(tmp_path / "spec.json")
    assert names(tmp_path) == []


def test_a_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    (tmp_path / ".spec.json.tmp").symlink_to(target)
    files.write_atomic(tmp_path / "spec.json", b"1")
    assert (target.read_bytes(), (tmp_path / "spec.json").is_symlink()) == (b"precious", False)


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    (path / "full").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        files.write_atomic(path, b"1")
    assert names(tmp_path) == ["folder"]


def test_removal_tells_whether_there_was_a_file(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_bytes(b"1")
    assert [files.remove(path), files.remove(path)] == [True, False]
