"""A driver that does what a test says when a kubelet calls it, and writes down the calls."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import grpc

from dragoman.kubelet._proto import dra_v1_pb2, dra_v1beta1_pb2, health_v1_pb2, health_v1alpha1_pb2
from dragoman.model.claims import ClaimRef, PreparedDevice
from tests.cluster.shared.kubelets import Driver, Handlers, Kubelet
from tests.cluster.shared.pods import POOL, REQUEST
from tests.cluster.shared.wire import unique
from tests.cluster.waiting import until

PREPARE, UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"
ALL = ("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth")
_DRA = {"v1": dra_v1_pb2, "v1beta1": dra_v1beta1_pb2}
_HEALTH = {"v1": health_v1_pb2, "v1alpha1": health_v1alpha1_pb2}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the kubelet: version of the API, method, claims."""

    version: str
    method: str
    claims: tuple[ClaimRef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Health of one device; ``timeout`` in seconds, 0 for the kubelet's default."""

    device: str = "dev-0"
    health: str = "HEALTHY"
    message: str = ""
    timeout: int = 0


def device(name: str = "dev-0", *ids: str, requests: Sequence[str] = (REQUEST,)) -> PreparedDevice:
    """Give a device as a driver answers it; ``ids`` are of CDI."""
    return PreparedDevice(requests=tuple(requests), pool=POOL, device=name, cdi_device_ids=ids)


@dataclass(slots=True, kw_only=True)
class Preparing(Driver):
    """``answers``: what a claim of that name gets when it is prepared, by default one device without CDI ids.

    A text is an error, None no answer at all; the key ``""`` is what an unknown UID gets beside. ``faults`` are errors
    of unprepare. ``watched`` are the versions of the health streams that began.
    """

    versions: tuple[str, ...] = ALL
    answers: dict[str, Sequence[PreparedDevice] | str | None] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)
    _reports: Sequence[Report] = ()
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _turn: int = 0
    _ended: bool = False

    def report(self, *reports: Report) -> None:
        """Send these on all streams, and on those that begin later."""
        with self._changed:
            self._reports, self._turn = reports, self._turn + 1
            self._changed.notify_all()

    def end_streams(self, *, ended: bool = True) -> None:
        """End the health streams in order, and those that begin while ``ended``."""
        with self._changed:
            self._ended = ended
            self._changed.notify_all()

    def of(self, method: str) -> list[tuple[ClaimRef, ...]]:
        """Give the claims of each call of a method."""
        return [call.claims for call in self.calls if call.method == method]

    def services(self) -> dict[str, Handlers]:
        """Give the services of all versions, announced or not."""
        dra = {_name(messages, "DRAPlugin"): self._dra(version, messages) for version, messages in _DRA.items()}
        health = {
            _name(messages, "DRAResourceHealth"): self._health(version, messages)
            for version, messages in _HEALTH.items()
        }
        return dra | health

    def _dra(self, version: str, messages: Any) -> Handlers:
        def prepare(request: Any, _: Any) -> Any:
            return self._prepare(messages, self._note(version, PREPARE, request))

        def unprepare(request: Any, _: Any) -> Any:
            response = messages.NodeUnprepareResourcesResponse()
            for ref in self._note(version, UNPREPARE, request):
                response.claims[ref.uid].error = self.faults.get(ref.name, "")
            return response

        return {
            PREPARE: _unary(messages.NodePrepareResourcesRequest, prepare),
            UNPREPARE: _unary(messages.NodeUnprepareResourcesRequest, unprepare),
        }

    def _note(self, version: str, method: str, request: Any) -> tuple[ClaimRef, ...]:
        refs = tuple(ClaimRef(uid=each.uid, namespace=each.namespace, name=each.name) for each in request.claims)
        self.calls.append(Call(version, method, refs))
        return refs

    def _prepare(self, messages: Any, refs: Sequence[ClaimRef]) -> Any:
        response = messages.NodePrepareResourcesResponse()
        for ref in refs:
            answer = self.answers.get(ref.name, (device(),))
            if isinstance(answer, str):
                response.claims[ref.uid].error = answer
            elif answer is not None:
                response.claims[ref.uid].devices.extend(_device(messages, each) for each in answer)
        if "" in self.answers:
            response.claims["nobody"].error = ""
        return response

    def _health(self, version: str, messages: Any) -> Handlers:
        def watch(_: Any, context: Any) -> Iterator[Any]:
            self.watched.append(version)
            context.add_callback(self._wake)
            return self._stream(messages, context)

        handler = grpc.unary_stream_rpc_method_handler(
            watch,
            messages.NodeWatchResourcesRequest.FromString,
            messages.NodeWatchResourcesResponse.SerializeToString,
        )
        return {"NodeWatchResources": handler}

    def _stream(self, messages: Any, context: Any) -> Iterator[Any]:
        seen = 0
        while (turn := self._next(seen, context)) is not None:
            seen, reports = turn
            yield messages.NodeWatchResourcesResponse(devices=[_report(messages, each) for each in reports])

    def _next(self, seen: int, context: Any) -> tuple[int, Sequence[Report]] | None:
        """Wait for reports after those ``seen``; None where the stream ends."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn > seen or self._ended or not context.is_active())
            return None if self._ended or not context.is_active() else (self._turn, self._reports)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


@contextlib.contextmanager
def registered(kubelet: Kubelet, versions: Sequence[str] = ALL) -> Iterator[Preparing]:
    """Give a driver that the kubelet has registered, for as long as the context lasts."""
    driver = Preparing(kubelet=kubelet, name=f"{unique('driver')}.example.com", versions=tuple(versions))
    with driver.serving():
        until(lambda: driver.told, "the driver is told")
        yield driver


def _unary(request: Any, function: Any) -> grpc.RpcMethodHandler[Any, Any]:
    return grpc.unary_unary_rpc_method_handler(function, request.FromString, lambda answer: answer.SerializeToString())


def _device(messages: Any, item: PreparedDevice) -> Any:
    return messages.Device(
        request_names=item.requests,
        pool_name=item.pool,
        device_name=item.device,
        cdi_device_ids=item.cdi_device_ids,
    )


def _report(messages: Any, item: Report) -> Any:
    return messages.DeviceHealth(
        device=messages.DeviceIdentifier(pool_name=POOL, device_name=item.device),
        health=messages.HealthStatus.Value(item.health),
        health_check_timeout_seconds=item.timeout,
        message=item.message,
    )


def _name(messages: Any, service: str) -> str:
    name: str = messages.DESCRIPTOR.services_by_name[service].full_name
    return name
