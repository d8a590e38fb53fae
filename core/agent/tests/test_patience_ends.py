"""Work that is given up leaves no program behind."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
from pathlib import Path

import pytest

from dragoman.patience import Patience


@pytest.mark.parametrize("attempt", range(5))
async def test_a_program_that_starts_others_while_it_is_ended_leaves_none_of_them(tmp_path: Path, attempt: int) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    many = "echo begun; n=0; while [ $n -lt 300 ]; do sleep 1000 & n=$((n+1)); done; wait"
    begun = asyncio.Event()
    asyncio.get_running_loop().add_reader(reader, begun.set)
    work = asyncio.create_task(
        Patience().bounded("it", lambda: subprocess.run(["sh", "-c", f"({many}) > {pipe}"], check=False))
    )
    await begun.wait()
    asyncio.get_running_loop().remove_reader(reader)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    while True:
        assert select.select([reader], [], [], 30)[0], "nobody holds the pipe any more"
        if not os.read(reader, 100):
            break
    os.close(reader)
