"""Records, their context, and what other loggers say."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from loguru import logger

from dragoman import logs


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    root, plugins = logging.getLogger(), logging.getLogger("dragoman.plugin")
    handlers, level, plugin_level = root.handlers[:], root.level, plugins.level
    yield
    logger.remove()
    root.handlers[:] = handlers
    root.setLevel(level)
    plugins.setLevel(plugin_level)


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("debug", "json", stream)
    return stream


def test_every_record_has_claim_device_plugin_and_request(stream: io.StringIO) -> None:
    logger.info("one")
    with logger.contextualize(claim="claim a/b", device="dummy0", plugin="dummy", request="0123"):
        logger.info("two")
    one, two = entries(stream)
    assert {key: one[key] for key in logs.CONTEXT} == dict.fromkeys(logs.CONTEXT, "")
    assert {key: two[key] for key in logs.CONTEXT} == {
        "claim": "claim a/b",
        "device": "dummy0",
        "plugin": "dummy",
        "request": "0123",
    }
    assert (two["level"], two["message"]) == ("info", "two")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", two["time"])


async def test_context_follows_tasks_and_does_not_leak_between_them(stream: io.StringIO) -> None:
    async def work(claim: str) -> None:
        with logger.contextualize(claim=claim):
            await asyncio.sleep(0)
            logger.info(claim)

    await asyncio.gather(*(work(f"claim {number}") for number in range(5)))
    assert all(entry["claim"] == entry["message"] for entry in entries(stream))


def test_context_that_is_no_json_is_written_as_text(stream: io.StringIO) -> None:
    with logger.contextualize(path=ValueError("x")):
        logger.info("one")
    assert entries(stream)[0]["path"] == "x"


def test_braces_and_markup_of_a_message_are_not_interpreted(stream: io.StringIO) -> None:
    logging.getLogger("dragoman.plugin.dummy").info("{0} {x} <red> %s", "{extra[claim]}")
    assert entries(stream)[0]["message"] == "{0} {x} <red> {extra[claim]}"


def test_exception_is_one_record_without_the_values_of_variables(stream: io.StringIO) -> None:
    password = "hunter" + "2"
    try:
        raise ValueError(len(password))
    except ValueError:
        logger.exception("failed")
    [entry] = entries(stream)
    assert "ValueError: 7" in entry["exception"]
    assert password not in stream.getvalue()


def test_loggers_of_plugins_speak_at_the_level_of_the_settings_and_name_the_plugin(stream: io.StringIO) -> None:
    logging.getLogger("dragoman.plugin.dummy").debug("detail")
    [entry] = entries(stream)
    assert (entry["plugin"], entry["logger"], entry["level"]) == ("dummy", "dragoman.plugin.dummy", "debug")


def test_plugin_that_is_bound_already_stays(stream: io.StringIO) -> None:
    with logger.contextualize(plugin="bound"):
        logging.getLogger("dragoman.plugin.dummy").info("x")
    assert entries(stream)[0]["plugin"] == "bound"


@pytest.mark.parametrize("name", ["grpc", "asyncio", "kubernetes.client.rest", "urllib3.connectionpool"])
def test_libraries_speak_from_warning_on_under_their_own_name(stream: io.StringIO, name: str) -> None:
    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble")
    [entry] = entries(stream)
    assert (entry["logger"], entry["level"], entry["message"]) == (name, "warning", "trouble")


def test_exception_of_a_library_is_kept(stream: io.StringIO) -> None:
    try:
        raise OSError("gone")
    except OSError:
        logging.getLogger("asyncio").exception("trouble")
    assert "OSError: gone" in entries(stream)[0]["exception"]


def test_a_library_whose_work_was_cancelled_is_not_heard(stream: io.StringIO) -> None:
    try:
        raise asyncio.CancelledError
    except asyncio.CancelledError:
        logging.getLogger("grpc").exception("not handled")
    assert entries(stream) == []


def test_level_of_another_logging_library_is_written_by_its_number(stream: io.StringIO) -> None:
    logging.getLogger("x").log(35, "between")
    assert entries(stream)[0]["level"] == "level 35"


def test_level_hides_what_is_below_it() -> None:
    stream = io.StringIO()
    logs.configure("warning", "json", stream)
    logger.info("hidden")
    logging.getLogger("dragoman.plugin.dummy").info("hidden")
    logger.warning("seen")
    assert [entry["message"] for entry in entries(stream)] == ["seen"]


def test_configuring_again_replaces_the_former_sink() -> None:
    first, second = io.StringIO(), io.StringIO()
    logs.configure("info", "json", first)
    logs.configure("info", "json", second)
    logger.info("x")
    logging.getLogger("y").warning("z")
    assert first.getvalue() == ""
    assert len(entries(second)) == 2


def test_text_is_one_line_with_what_is_bound() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    with logger.contextualize(claim="claim a/b", request="0123"):
        logger.info("prepared")
    assert re.fullmatch(r"\S+Z INFO    prepared claim=claim a/b request=0123\n", stream.getvalue())


def test_text_of_a_user_cannot_forge_a_line() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    with logger.contextualize(claim="a\n2026 ERROR b"):
        logger.info("one\ntwo\x1b[31m")
    [line] = stream.getvalue().splitlines()
    assert "one\\ntwo\\x1b[31m" in line


def test_text_shows_the_traceback_below_the_line() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    try:
        raise ValueError("x")
    except ValueError:
        logger.exception("failed")
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("Traceback")
    assert lines[-1] == "ValueError: x"


def test_standard_error_is_looked_up_when_a_record_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    logs.configure("info", "json")
    later = io.StringIO()
    monkeypatch.setattr(sys, "stderr", later)
    logger.info("x")
    assert [entry["message"] for entry in entries(later)] == ["x"]


def test_signal_writes_the_stacks_of_all_threads() -> None:
    script = (
        "import os, signal, threading\n"
        "from dragoman import logs\n"
        "logs.enable_stack_dumps()\n"
        "held, asleep = threading.Event(), threading.Event()\n"
        "def waits_in_a_thread():\n"
        "    asleep.set()\n"
        "    held.wait()\n"
        "thread = threading.Thread(target=waits_in_a_thread)\n"
        "thread.start()\n"
        "asleep.wait()\n"
        "os.kill(os.getpid(), signal.SIGUSR1)\n"
        "held.set()\n"
        "thread.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended by signal {signal.SIGUSR1}"
    assert "waits_in_a_thread" in done.stderr
    assert done.stderr.count("Thread 0x") + done.stderr.count("Current thread 0x") == 2
