import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman_allocator.batch.kinds import KINDS
from dragoman_allocator.batch.loop import answer, serve

GOOD = b'{"id":"next","kind":"quantity","text":"1"}'


def _serve(tmp_path: Path, *written: bytes) -> list[Any]:
    file, sink = tmp_path / "input", io.BytesIO()
    file.write_bytes(b"\n".join(written) + b"\n")
    with file.open("rb") as source:
        serve(source.fileno(), sink)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize(
    "identity", ["1", "0", '"a"', "null", "1.50", "[1,{}]", "123456789012345678901234567890", "1e400", "false"]
)
def test_the_id_comes_back_as_it_was_written(identity: str) -> None:
    line = f'{{"kind":"quantity","text":"1","id":{identity}}}'.encode()
    assert answer(line).startswith(f'{{"id":{identity},'.encode())


def test_an_answer_without_an_id_has_null() -> None:
    assert json.loads(answer(b'{"kind":"quantity","text":"1"}'))["id"] is None


def test_answers_come_in_order_one_per_line(tmp_path: Path) -> None:
    answers = _serve(tmp_path, *(b'{"id":%d,"kind":"quantity","text":"%dKi"}' % (n, n) for n in range(50)))
    assert [(one["id"], one["value"]) for one in answers] == [(n, n * 1024) for n in range(50)]


BAD = {
    "nothing": b"",
    "blank": b"   ",
    "no JSON": b"hello",
    "array": b"[]",
    "number": b"7",
    "null": b"null",
    "cut off": b'{"id":1',
    "two objects": b"{}{}",
    "NaN": b'{"kind":"quantity","text":NaN}',
    "deep nesting": b'{"id":' + b"[" * 200_000,
    "deep closed nesting": b'{"kind":"quantity","text":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "invalid UTF-8": b'{"kind":"quantity","text":"\xff"}',
    "invalid UTF-8 in a name": b'{"\xff":1}',
    "invalid UTF-8 in the id": b'{"id":"\xff","kind":"quantity","text":"1"}',
    "huge integer": b'{"kind":"quantity","text":' + b"9" * 10_000 + b"}",
    "huge integer as id": b'{"id":' + b"9" * 10_000 + b',"kind":"quantity","text":"1"}',
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "no kind": b"{}",
    "kind of another type": b'{"kind":["quantity"]}',
    "unknown kind": b'{"kind":"' + b"x" * 10_000 + b'"}',
    "text of another type": b'{"kind":"quantity","text":[5]}',
    "text that is a truth value": b'{"kind":"quantity","text":true}',
    "NUL": b"\x00" * 1000,
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD.keys())
def test_a_bad_line_gets_an_error_and_the_next_one_is_answered(line: bytes, tmp_path: Path) -> None:
    refused, good = _serve(tmp_path, line, GOOD)
    assert refused.keys() == {"id", "error"}
    assert refused["error"].startswith("input: ")
    assert len(refused["error"]) < 400
    assert good == {"id": "next", "canonical": "1", "value": 1, "milliValue": 1000}


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize(
    "members",
    [
        "",
        ',"slices":7',
        ',"claims":[[]]',
        ',"features":{"x":1},"gates":7',
        ',"text":null',
        ',"object":5,"expression":[],"node":"n"',
    ],
)
def test_no_kind_has_a_fault_with_lines_that_lack_or_confuse_members(kind: str, members: str) -> None:
    answered = json.loads(answer(f'{{"id":1,"kind":"{kind}"{members}}}'.encode()))
    assert answered["id"] == 1
    assert not str(answered.get("error", "")).startswith("fault")


def test_the_id_of_a_refused_line_comes_back() -> None:
    assert json.loads(answer(b'{"id":7,"kind":"no"}'))["id"] == 7


def test_a_line_too_long_to_read_is_refused() -> None:
    assert json.loads(answer(None)) == {"id": None, "error": "input: the line is longer than 536870912 bytes"}


COMMAND = [sys.executable, "-m", "dragoman_allocator"]


@pytest.mark.parametrize("arguments", [(), ("batch",)])
def test_the_command_answers_a_line_while_its_input_stays_open(arguments: tuple[str, ...]) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *arguments], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(GOOD + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == "next"
        rest, complaints = process.communicate(b"x")
    assert json.loads(rest)["error"].startswith("input: ")
    assert (process.returncode, complaints) == (0, b"")


@pytest.mark.parametrize(
    ("redirected", "code", "why"),
    [("<&-", 2, "must be open"), (">&-", 2, "must be open"), (">/dev/full", 1, "No space")],
)
def test_without_usable_input_and_output_the_command_says_so(redirected: str, code: int, why: str) -> None:
    shell = ["sh", "-c", f"printf '{{}}' | \"$@\" {redirected}", "sh", *COMMAND]
    process = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert process.returncode == code
    assert why in process.stderr
    assert "Traceback" not in process.stderr


def test_the_command_ends_quietly_when_nobody_reads_its_answers(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes((GOOD + b"\n") * 10_000)
    with (tmp_path / "input").open("rb") as source:
        process = subprocess.Popen(COMMAND, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()
    assert process.wait() == 0
