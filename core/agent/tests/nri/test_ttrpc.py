"""ttrpc in both roles: golden bytes of the protocol, stream ids, limits, and what is ignored."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.nri._proto.nri_pb2 import ConfigureResponse, FailurePolicy, RegisterPluginRequest
from dragoman.nri._proto.ttrpc_pb2 import Request, Response
from dragoman.nri.mux import MuxReader, frames
from dragoman.nri.ttrpc import (
    CLIENT,
    MAX_DATA,
    SERVER,
    Answer,
    Call,
    CallError,
    Client,
    Code,
    IllegalStep,
    MessageReader,
    Server,
    State,
    Step,
    Streams,
)

REGISTER = bytes.fromhex(
    "00000002000000490000003f0000000101000a1c6e72692e706b672e6170692e7631616c706861312e52756e74696d65120e52656769737465"
    "72506c7567696e1a090a03647261120231302080e497d012"
)
CONFIGURED = bytes.fromhex("000000010000000e000000040000000102001202100f")
FAILED = bytes.fromhex("000000010000001a000000100000000302000a0e080c120a6d6574686f6420466f6f")
WITH_POLICY = bytes.fromhex("00000001000000140000000a0000000102001208100f1a0408011001")


def request(stream: int, method: str = "Foo", type_: int = 1, **fields: bytes | int) -> bytes:
    data = Request(service="S", method=method, **fields).SerializeToString()  # type: ignore[arg-type]  # test shorthand
    return len(data).to_bytes(4, "big") + stream.to_bytes(4, "big") + bytes([type_, 0]) + data


def server_after(*streams: int) -> Server:
    server = Server()
    for stream in streams:
        assert list(server.receive(request(stream))) == [Call(stream, "S", "Foo", b"")]
    return server


def response_of(wire: bytes) -> tuple[int, Response]:
    """Give stream and response of one message."""
    (message,) = MessageReader().receive(wire)
    assert message.type == 2
    assert message.data is not None
    return message.stream, Response.FromString(message.data)


def test_a_register_call_has_the_known_bytes() -> None:
    client = Client()
    payload = RegisterPluginRequest(plugin_name="dra", plugin_idx="10").SerializeToString()
    assert client.call("nri.pkg.api.v1alpha1.Runtime", "RegisterPlugin", payload, 5.0) == 1
    (message,) = client.take()
    assert frames(2, message) == REGISTER


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ConfigureResponse(events=0x0F), CONFIGURED),
        (
            ConfigureResponse(events=0x0F, failure_policy=FailurePolicy(fail_request=True, keep_connected=True)),
            WITH_POLICY,
        ),
    ],
)
def test_a_configure_answer_has_the_known_bytes(answer: ConfigureResponse, expected: bytes) -> None:
    server = server_after(1)
    server.answer(1, answer.SerializeToString())
    (message,) = server.take()
    assert frames(1, message) == expected


def test_an_error_answer_has_the_known_bytes() -> None:
    server = server_after(3)
    server.fail(3, CallError(Code.UNIMPLEMENTED, "method Foo"))
    (message,) = server.take()
    assert frames(1, message) == FAILED


@pytest.mark.parametrize("cut", range(len(REGISTER) + 1))
def test_a_call_split_at_any_byte_is_read(cut: int) -> None:
    mux, server = MuxReader({2}), Server()
    chunks = [*mux.receive(REGISTER[:cut]), *mux.receive(REGISTER[cut:])]
    calls = [call for chunk in chunks for call in server.receive(chunk.data)]
    payload = RegisterPluginRequest(plugin_name="dra", plugin_idx="10").SerializeToString()
    assert calls == [Call(1, "nri.pkg.api.v1alpha1.Runtime", "RegisterPlugin", payload, 5.0)]


@pytest.mark.parametrize(
    ("wire", "stream", "code", "text"),
    [(CONFIGURED, 1, Code.OK, ""), (WITH_POLICY, 1, Code.OK, ""), (FAILED, 3, Code.UNIMPLEMENTED, "method Foo")],
)
def test_an_answer_split_at_any_byte_is_read(wire: bytes, stream: int, code: int, text: str) -> None:
    for cut in range(len(wire) + 1):
        mux, client = MuxReader({1}), Client()
        streams = [client.call("S", "Foo", b"") for _ in range(2)]
        assert streams == [1, 3]
        chunks = [*mux.receive(wire[:cut]), *mux.receive(wire[cut:])]
        (answer,) = [answer for chunk in chunks for answer in client.receive(chunk.data)]
        assert (answer.stream, answer.code, answer.message) == (stream, code, text)


def test_calls_use_odd_growing_streams_and_answers_come_in_any_order() -> None:
    client, server = Client(), Server()
    assert [client.call("S", method, b"") for method in ("A", "B", "C")] == [1, 3, 5]
    calls = [call for message in client.take() for call in server.receive(message)]
    for call in reversed(calls):
        server.answer(call.stream, call.method.encode())
    answers = [answer for message in server.take() for answer in client.receive(message)]
    assert answers == [Answer(5, 0, "", b"C"), Answer(3, 0, "", b"B"), Answer(1, 0, "", b"A")]


@pytest.mark.parametrize(
    ("stream", "text"), [(2, "stream id 2 must be odd"), (3, "must increment"), (1, "must increment")]
)
def test_a_stream_id_that_is_even_or_used_is_refused(stream: int, text: str) -> None:
    server = server_after(3)
    assert list(server.receive(request(stream))) == []
    (message,) = server.take()
    answered, response = response_of(message)
    assert answered == stream
    assert response.status.code == Code.INVALID_ARGUMENT
    assert text in response.status.message


def test_a_request_over_the_limit_is_refused_and_the_next_one_served() -> None:
    server = Server()
    header = (MAX_DATA + 1).to_bytes(4, "big") + bytes.fromhex("000000010100")
    wire = header + bytes(MAX_DATA + 1) + request(3)
    calls = [call for start in range(0, len(wire), 65536) for call in server.receive(wire[start : start + 65536])]
    assert [call.stream for call in calls] == [3]
    (message,) = server.take()
    stream, response = response_of(message)
    assert (stream, response.status.code) == (1, Code.RESOURCE_EXHAUSTED)


def test_an_answer_over_the_limit_fails_its_call_only() -> None:
    client, other = Client(), server_after(1, 3)
    assert [client.call("S", "Foo", b"") for _ in range(2)] == [1, 3]
    big = (MAX_DATA + 1).to_bytes(4, "big") + bytes.fromhex("000000010200") + bytes(MAX_DATA + 1)
    other.answer(3, b"fine")
    answers = list(client.receive(big + other.take()[0]))
    assert [(answer.stream, answer.code) for answer in answers] == [(1, Code.RESOURCE_EXHAUSTED), (3, Code.OK)]


def test_an_answer_too_large_to_send_becomes_an_error() -> None:
    server = server_after(1)
    server.answer(1, bytes(MAX_DATA))
    (message,) = server.take()
    assert response_of(message)[1].status.code == Code.RESOURCE_EXHAUSTED


def test_a_call_too_large_to_send_is_not_made() -> None:
    client = Client()
    with pytest.raises(CallError, match="Foo has more than"):
        client.call("S", "Foo", bytes(MAX_DATA))
    assert client.take() == []


@pytest.mark.parametrize("type_", [0, 2, 3, 4, 255])
def test_a_server_ignores_other_message_types(type_: int) -> None:
    server = Server()
    assert [call.stream for call in server.receive(request(1, type_=type_) + request(3))] == [3]
    assert server.take() == []


def test_a_request_that_cannot_be_read_is_refused() -> None:
    server = Server()
    assert list(server.receive(bytes.fromhex("00000002000000010100") + b"\xff\xff")) == []
    assert response_of(server.take()[0])[1].status.code == Code.INVALID_ARGUMENT


def test_an_answer_that_cannot_be_read_fails_its_call() -> None:
    client = Client()
    client.call("S", "Foo", b"")
    (answer,) = client.receive(bytes.fromhex("00000002000000010200") + b"\xff\xff")
    assert answer.code == Code.INTERNAL


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    client, server = Client(), server_after(1, 3)
    stream = client.call("S", "Foo", b"")
    client.abandon(stream)
    server.answer(1, b"late")
    server.answer(3, b"never asked")
    assert [answer for message in server.take() for answer in client.receive(message)] == []


def test_metadata_and_fields_of_newer_versions_are_ignored() -> None:
    data = Request(service="S", method="Foo").SerializeToString() + bytes.fromhex("2a080a01611203626364f2040178")
    wire = len(data).to_bytes(4, "big") + bytes.fromhex("000000010100") + data
    assert list(Server().receive(wire)) == [Call(1, "S", "Foo", b"")]


def test_no_timeout_is_none() -> None:
    assert next(Server().receive(request(1, timeout_nano=0))).timeout is None
    assert next(Server().receive(request(1, timeout_nano=1_500_000_000))).timeout == 1.5


@pytest.mark.parametrize("table", [SERVER, CLIENT], ids=["server", "client"])
@pytest.mark.parametrize("step", Step)
@pytest.mark.parametrize("state", State)
def test_only_the_steps_of_the_table_are_legal(
    table: dict[tuple[State, Step], State], state: State, step: Step
) -> None:
    streams = Streams(table)
    if state is not State.IDLE:
        streams.step(1, Step.CALL)
    if state is State.DONE:
        streams.step(1, Step.ANSWER)
    assert streams.state(1) is state
    if after := table.get((state, step)):
        streams.step(1, step)
        assert streams.state(1) is after
    else:
        with pytest.raises(IllegalStep, match="ttrpc stream 1"):
            streams.step(1, step)
        assert streams.state(1) is state


def test_a_call_is_answered_once() -> None:
    server = server_after(1)
    server.answer(1, b"")
    with pytest.raises(IllegalStep):
        server.fail(1, CallError(Code.UNKNOWN, "again"))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.binary(max_size=6000), max_size=5), st.integers(min_value=1, max_value=5000))
def test_calls_and_answers_survive_the_trunk_in_pieces_of_any_size(payloads: list[bytes], piece: int) -> None:
    client, server, mux = Client(), Server(), MuxReader({2})
    streams = [client.call("S", "Echo", payload) for payload in payloads]
    wire = b"".join(frames(2, message) for message in client.take())
    for start in range(0, len(wire), piece):
        for chunk in mux.receive(wire[start : start + piece]):
            for call in server.receive(chunk.data):
                server.answer(call.stream, call.payload)
    answers = [answer for message in server.take() for answer in client.receive(message)]
    assert answers == [Answer(stream, 0, "", payload) for stream, payload in zip(streams, payloads, strict=True)]
