"""Messages without a socket."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.control import messages


def test_a_request_is_one_line_of_json_with_its_version() -> None:
    line = messages.request("devices", {"text": "a\nb"})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"version": 1, "method": "devices", "params": {"text": "a\nb"}}
    assert messages.parse_request(line) == messages.Request(method="devices", params={"text": "a\nb"})


def test_params_may_be_absent_and_unknown_members_are_ignored() -> None:
    assert messages.parse_request(b'{"version":1,"method":"devices","future":2}').params == {}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"GET / HTTP/1.1",
        b"[]",
        b"{}",
        b'{"version":1}',
        b'{"version":"1","method":"m"}',
        b"\xff\xfe",
        b'{"version":1,"method":7}',
        b'{"version":1,"method":"m","params":[]}',
        b"[" * 200_000,
        b'{"method":"devices"}',
    ],
)
def test_what_is_no_request_is_a_bad_request(line: bytes) -> None:
    with pytest.raises(messages.BadRequest, match="not a control request"):
        messages.parse_request(line)


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.binary(max_size=60))
def test_garbage_raises_nothing_else(line: bytes) -> None:
    with pytest.raises((messages.BadRequest, messages.UnsupportedVersion)):
        messages.parse_request(line)


def test_another_version_says_what_to_do() -> None:
    with pytest.raises(messages.UnsupportedVersion, match=r"version 2 .* use the command of the same release"):
        messages.parse_request(b'{"version":2,"verb":"devices"}')


def test_a_request_that_would_not_be_read_is_not_sent() -> None:
    with pytest.raises(messages.BadRequest, match="too long"):
        messages.request("prepare", {"claims": "x" * messages.REQUEST_LIMIT})


@pytest.mark.parametrize("value", [None, 0, "text", [1, 2], {"a": {"b": None}}])
def test_a_result_comes_out_as_it_went_in(value: object) -> None:
    assert messages.parse_answer(messages.result(value)) == value


def test_an_error_keeps_kind_and_sentence() -> None:
    with pytest.raises(messages.RemoteError, match="no such device") as caught:
        messages.parse_answer(messages.failure("DeviceUnknown", "no such device"))
    assert caught.value.kind == "DeviceUnknown"


@pytest.mark.parametrize("line", [b"", b"garbage", b"[]", b'{"version":1,"error":"text"}'])
def test_an_answer_that_is_none_is_an_error(line: bytes) -> None:
    with pytest.raises(messages.RemoteError, match="cannot be read"):
        messages.parse_answer(line)
