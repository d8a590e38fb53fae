import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_allocator.batch.lines import lines


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    source, sink = os.pipe()
    yield source, sink
    os.close(source)


def _of(content: bytes, tmp_path: Path, longest: int = 2**20) -> list[bytes | None]:
    file = tmp_path / "input"
    file.write_bytes(content)
    with file.open("rb") as opened:
        return list(lines(opened.fileno(), lambda: None, longest))


def test_every_line_is_given_in_order_without_its_end(tmp_path: Path) -> None:
    assert _of(b"a\n\nb\r\nc\n", tmp_path) == [b"a", b"", b"b\r", b"c"]


def test_a_last_line_without_an_end_is_given_too(tmp_path: Path) -> None:
    assert _of(b"a\nb", tmp_path) == [b"a", b"b"]
    assert _of(b"", tmp_path) == []


def test_a_line_of_several_reads_is_put_together(tmp_path: Path) -> None:
    long = os.urandom(3 * 2**20).replace(b"\n", b" ")
    assert _of(b"a\n" + long + b"\nb\n", tmp_path, 4 * 2**20) == [b"a", long, b"b"]


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_kept(tmp_path: Path) -> None:
    assert _of(b"x" * 5 * 2**20 + b"\nb\n" + b"y" * 101, tmp_path, 100) == [None, b"b", None]


def test_word_is_given_before_a_read_that_would_wait(pipe: tuple[int, int]) -> None:
    source, sink = pipe
    os.write(sink, b"first\n")
    further = [b"second\nthird\n", b""]
    seen: list[bytes | None] = []
    waits: list[list[bytes | None]] = []

    def idle() -> None:
        waits.append(list(seen))
        more = further.pop(0)
        os.write(sink, more) if more else os.close(sink)

    for line in lines(source, idle):
        seen += [line]
    assert seen == [b"first", b"second", b"third"]
    assert waits == [[b"first"], [b"first", b"second", b"third"]]
