"""Programs that speak the batch protocol: one JSON object per line in, one per line out."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tests.differential import build

Json = dict[str, Any]

LIMIT = 10.0
"""Seconds for one world; upstream's own limit for one node is the same."""

# Room for upstream's own limit to be told in words.
_GRACE = 2.0


def ours() -> Sequence[str]:
    """Give the command of the library."""
    return (sys.executable, "-m", "dragoman_allocator")


def theirs() -> Sequence[str]:
    """Give the command of the program with upstream's code."""
    return (str(build.upstream()),)


class Program:
    """One running program, started anew after it hung or died."""

    def __init__(self, command: Sequence[str], limit: float = LIMIT + _GRACE) -> None:
        self._command = command
        self._limit = limit
        self._errors: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def ask(self, question: Json) -> Json:
        """Give the answer; ``error`` starts with ``timeout`` or ``crash`` where there was none."""
        process = self._process or self._start()
        assert process.stdin
        try:
            process.stdin.write(json.dumps(question, ensure_ascii=False).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process)
        except BrokenPipeError:
            line = b""
        except TimeoutError:
            self.close()
            return {"error": f"timeout: no answer within {self._limit:g} s"}
        if not line:
            said = self._said()
            self.close()
            return {"error": f"crash: {said}"}
        try:
            answer: Json = json.loads(line)
        except ValueError:
            return {"error": f"crash: no JSON: {line[:200]!r}"}
        return answer

    def close(self) -> None:
        """End the program, whatever it does."""
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process, self._rest = None, b""
        if self._errors:
            self._errors.close()

    def _start(self) -> subprocess.Popen[bytes]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=1 << 20
        )
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        assert process.stdout
        handle = process.stdout.fileno()
        end = time.monotonic() + self._limit
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise TimeoutError
                some = os.read(handle, 1 << 20)
                if not some:
                    return b""
                self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _said(self) -> str:
        assert self._errors
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-600:]


def run_once(command: Sequence[str], question: Path) -> tuple[Json, float, float]:
    """Ask one question of a program of its own; give answer, seconds from start to end, and peak memory in MiB."""
    with question.open("rb") as source, tempfile.TemporaryFile() as sink:
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=source, stdout=sink)
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        spent = time.monotonic() - began
        sink.seek(0)
        answer: Json = json.loads(sink.read() or b'{"error": "crash: no answer"}')
    return answer, spent, usage.ru_maxrss / 1024
