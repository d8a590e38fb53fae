"""The frame of the command line: lazy commands, options, errors in one line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import click
import pytest
from click.testing import CliRunner

from dragoman.cli.main import COMMANDS, Options, Program, main
from dragoman_hookspecs import DragomanError, InvalidConfig

ERRORS = {
    "known": DragomanError("claim a/b\nis gone"),
    "config": InvalidConfig.at("a.b", "is wrong"),
    "unexpected": KeyError("x"),
    "usage": click.UsageError("not so"),
}


class OneCommand(Program):
    """The frame around one command that fails as it is told, without the plugins of this machine."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return click.Group.get_command(self, ctx, cmd_name)


def one_command() -> click.Group:
    @click.command()
    @click.argument("how")
    def fail(how: str) -> None:
        raise ERRORS[how]

    return OneCommand(name="dragoman", params=list(main.params), callback=main.callback, commands=[fail])


def program(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(one_command(), args)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(("how", "line"), [("known", "claim a/b is gone"), ("config", "a.b: is wrong")])
def test_known_error_is_one_line_and_exit_code_1(how: str, line: str) -> None:
    assert program("fail", how) == (1, "", f"Error: {line}\n")


def test_unexpected_error_is_one_line_with_the_way_to_see_more() -> None:
    code, _, stderr = program("fail", "unexpected")
    assert code == 1
    assert stderr.count("\n") == 1
    assert "KeyError: 'x'" in stderr
    assert "--debug" in stderr


def test_unexpected_error_shows_its_traceback_with_debug() -> None:
    with pytest.raises(KeyError):
        one_command().main(["--debug", "fail", "unexpected"])


def test_wrong_usage_is_exit_code_2() -> None:
    assert program("fail", "usage")[0] == 2
    assert program("fail")[0] == 2
    assert program("other")[0] == 2


def test_help_names_every_command_with_a_line_and_imports_none() -> None:
    script = (
        "import sys\n"
        "from dragoman.cli.main import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "assert not [name for name in sys.modules if name.startswith(('dragoman.cli.config', 'dynaconf'))]\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    for name, (_, line) in COMMANDS.items():
        assert any(name in printed and line in printed for printed in done.stdout.splitlines())


@pytest.mark.parametrize(
    "module", ["dragoman.cli.main", "dragoman.cli.config", "dragoman.plugins", "dragoman.settings"]
)
def test_light_commands_do_not_import_the_heavy_libraries(module: str) -> None:
    script = f"import sys, {module}; sys.exit(' '.join({{'grpc', 'kubernetes', 'pyroute2'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_command_that_is_missing_is_named_with_the_reason() -> None:
    class Broken(Program):
        table = MappingProxyType({"gone": ("dragoman.no_such_module:gone", "Is gone.")})

    result = CliRunner().invoke(Broken(name="dragoman", params=list(main.params), callback=main.callback), ["gone"])
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: command gone is not available in this installation: No module named 'dragoman.no_such_module'\n"
    )


def test_settings_of_the_file_that_was_named_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("podUid: u\n")
    assert Options(config=path).load().settings.pod_uid == "u"


def test_program_tells_its_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("dragoman, version ")


@pytest.mark.parametrize(("arguments", "lines"), [(["--help"], 0), (["no-such-command"], 4)])
def test_a_plugin_that_cannot_be_made_is_one_line_whatever_is_asked(
    tmp_path: Path, arguments: list[str], lines: int
) -> None:
    (tmp_path / "unmakable.py").write_text(
        "from dragoman_hookspecs import Commands\n"
        "def create(context, settings): raise RuntimeError('no way')\n"
        "plugin = Commands(settings_key='unmakable', create=create)\n"
    )
    info = tmp_path / "dragoman_unmakable-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: dragoman-unmakable\nVersion: 1.0\nRequires-Dist: dragoman-hookspecs\n"
    )
    (info / "entry_points.txt").write_text("[dragoman.plugins]\nunmakable = unmakable:plugin\n")
    command = [sys.executable, "-m", "dragoman", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    told = done.stderr.splitlines()
    assert told[0] == "Warning: plugin unmakable of dragoman-unmakable 1.0: create raised RuntimeError: no way"
    assert len(told) == 1 + lines


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"]], ids=" ".join)
def test_output_on_a_full_disk_is_one_line_and_exit_code_1(arguments: list[str], unbuffered: str) -> None:
    command = [sys.executable, "-m", "dragoman", *arguments]
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environ)
    assert (done.returncode, done.stderr) == (1, "Error: cannot write: No space left on device\n")


@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"]], ids=" ".join)
def test_output_that_nobody_reads_any_more_is_exit_code_1_without_a_word(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "dragoman", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_slices_are_not_withdrawn_beside_an_agent_that_runs_and_does_not_answer(tmp_path: Path) -> None:
    settings = tmp_path / "s.yaml"
    settings.write_text(f"paths: {{runDir: {tmp_path}}}\nkubernetes: {{server: 'http://127.0.0.1:1'}}\n")
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(tmp_path / "control.sock"))
        agent.listen()
        result = CliRunner().invoke(main, ["--config", str(settings), "agent", "withdraw"])
    assert result.exit_code == 1
    assert "an agent runs on this node" in result.stderr
