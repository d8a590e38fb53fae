from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from dragoman.kube.client import KubeClient
from dragoman.kube.events import EventWriter
from dragoman.model.status import Event, Subject
from dragoman_hookspecs import JsonObject
from dragoman_testkit.fakes.clock import VirtualClock
from dragoman_testkit.sandbox.apiserver import ApiServer

Finish = Callable[[Awaitable[Any]], Awaitable[Any]]
POD = Subject(kind="Pod", namespace="ns", name="p", uid="u1")
CLAIM = Subject(kind="ResourceClaim", namespace="ns", name="c", uid="u2")


@pytest.fixture
async def events(client: KubeClient, clock: VirtualClock) -> AsyncIterator[EventWriter]:
    writer = EventWriter(client, clock, driver="net.dragoman.dev", node="n1")
    yield writer
    await writer.aclose()


def event(message: str = "no link", subject: Subject = POD, *, warning: bool = True) -> Event:
    return Event(subject=subject, reason="AttachFailed", message=message, warning=warning)


def written(server: ApiServer) -> list[JsonObject]:
    return list(server.list("events"))


async def test_an_event_names_its_subject_and_its_source(server: ApiServer, events: EventWriter) -> None:
    await events.emit(event(subject=CLAIM, warning=False))
    await events.flush()
    (found,) = written(server)
    assert found["involvedObject"] == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "namespace": "ns",
        "name": "c",
        "uid": "u2",
    }
    assert (found["type"], found["reason"], found["message"]) == ("Normal", "AttachFailed", "no link")
    assert found["source"] == {"component": "net.dragoman.dev", "host": "n1"}
    assert found["metadata"]["namespace"] == "ns"


async def test_equal_events_are_one_with_a_count_and_both_times(
    server: ApiServer, events: EventWriter, clock: VirtualClock
) -> None:
    await events.emit(event())
    await events.flush()
    await clock.advance(30)
    await events.emit(event())
    await events.emit(event())
    await events.flush()
    (found,) = written(server)
    assert found["count"] == 3
    assert found["firstTimestamp"] < found["lastTimestamp"]


async def test_other_messages_are_other_events(server: ApiServer, events: EventWriter) -> None:
    await events.emit(event("one"))
    await events.emit(event("two"))
    await events.flush()
    assert sorted(found["message"] for found in written(server)) == ["one", "two"]


async def test_an_event_that_has_expired_is_written_anew(server: ApiServer, events: EventWriter) -> None:
    await events.emit(event())
    await events.flush()
    server.delete("events", written(server)[0]["metadata"]["name"], "ns")
    await events.emit(event())
    await events.flush()
    assert [found["count"] for found in written(server)] == [1]


async def test_a_flood_is_bounded_and_counted(server: ApiServer, events: EventWriter) -> None:
    for number in range(300):
        await events.emit(event(str(number)))
    await events.flush()
    assert len(written(server)) + events.dropped == 300
    assert events.dropped == 300 - 256


async def test_an_event_waits_for_a_server_that_comes_back(
    server: ApiServer, events: EventWriter, finish: Finish
) -> None:
    server.faults.fail(503, count=2)
    await events.emit(event())
    await finish(events.flush())
    assert len(written(server)) == 1


@pytest.mark.parametrize("status", [403, 503])
async def test_an_event_that_cannot_be_written_is_given_up(
    server: ApiServer, events: EventWriter, finish: Finish, status: int
) -> None:
    server.faults.fail(status, count=100)
    await events.emit(event())
    await finish(events.flush())
    assert (written(server), events.dropped) == ([], 1)


async def test_a_long_message_is_cut(server: ApiServer, events: EventWriter) -> None:
    await events.emit(event("é" * 2000))
    await events.flush()
    assert written(server)[0]["message"] == "é" * 512
