"""What stayed open is told, and nothing else."""

from __future__ import annotations

import os

from dragoman_testkit.descriptors import held


class Cycle:
    """Holds a descriptor until the garbage collector comes, as a forgotten one does."""

    def __init__(self) -> None:
        self.itself = self
        self.opened = os.open(os.devnull, os.O_RDONLY)

    def __del__(self) -> None:
        os.close(self.opened)


def test_what_was_opened_is_new_until_it_is_closed() -> None:
    before = held()
    opened = os.open(os.devnull, os.O_RDONLY)
    assert (str(opened), os.devnull) in held() - before
    os.close(opened)
    assert (str(opened), os.devnull) not in held() - before


def test_another_file_under_a_number_that_was_in_use_is_new() -> None:
    reader, writer = os.pipe()
    opened = os.open(os.devnull, os.O_RDONLY)
    before = held()
    os.dup2(opened, reader)
    assert (str(reader), os.devnull) in held() - before
    for number in (reader, writer, opened):
        os.close(number)


def test_what_is_garbage_already_is_not_held() -> None:
    number = Cycle().opened
    assert (str(number), os.devnull) not in held()
