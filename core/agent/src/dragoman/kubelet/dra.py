"""The DRA services v1 and v1beta1: one handler, since their messages differ in the share id only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from loguru import logger

from dragoman.kubelet._proto import dra_v1_pb2, dra_v1beta1_pb2
from dragoman.kubelet.calls import Calls
from dragoman.kubelet.ports import ClaimService
from dragoman.kubelet.rpc import Handler, clean, service
from dragoman.model.claims import ClaimRef, PrepareAnswer, PreparedDevice

DRA_VERSIONS: Final = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""How the versions are named at registration; the kubelet takes the first that it knows."""

NO_ANSWER: Final = "the driver gave no answer for it; see the agent's log"

Answer = TypeVar("Answer")


def dra_services(claims: ClaimService, calls: Calls) -> list[Handler]:
    """Make both services over one claim service."""
    return [_Dra(messages, claims, calls).handler() for messages in (dra_v1_pb2, dra_v1beta1_pb2)]


class _Dra:
    """One version. An RPC never fails as a whole: each claim of it gets its own answer, even if the handler breaks."""

    def __init__(self, messages: Any, claims: ClaimService, calls: Calls) -> None:
        self._messages = messages
        self._claims = claims
        self._calls = calls
        self._knows_shares = "share_id" in messages.Device.DESCRIPTOR.fields_by_name

    def handler(self) -> Handler:
        methods = {"NodePrepareResources": self._prepare, "NodeUnprepareResources": self._unprepare}
        return service(self._messages.DESCRIPTOR, "DRAPlugin", methods)

    async def _prepare(self, request: Any, _context: Any) -> Any:
        claims = _refs(request.claims)
        answers, fault = await self._calls.run(
            "prepare", _names(claims), lambda: _guarded(self._claims.prepare, claims)
        )
        response = self._messages.NodePrepareResourcesResponse()
        for claim in claims:
            answer = answers.get(claim.uid) or PrepareAnswer(error=f"prepare of {claim}: {fault}")
            if answer.error:
                response.claims[claim.uid].error = clean(answer.error)
            else:
                response.claims[claim.uid].devices.extend(map(self._device, answer.devices))
        return response

    async def _unprepare(self, request: Any, _context: Any) -> Any:
        claims = _refs(request.claims)
        answers, fault = await self._calls.run(
            "unprepare", _names(claims), lambda: _guarded(self._claims.unprepare, claims)
        )
        response = self._messages.NodeUnprepareResourcesResponse()
        for claim in claims:
            response.claims[claim.uid].error = clean(answers.get(claim.uid, f"unprepare of {claim}: {fault}"))
        return response

    def _device(self, device: PreparedDevice) -> Any:
        message = self._messages.Device(
            request_names=device.requests,
            pool_name=device.pool,
            device_name=device.device,
            cdi_device_ids=device.cdi_device_ids,
        )
        if self._knows_shares and device.share_id is not None:
            message.share_id = device.share_id
        return message


async def _guarded(
    work: Callable[[Sequence[ClaimRef]], Awaitable[Mapping[str, Answer]]], claims: Sequence[ClaimRef]
) -> tuple[Mapping[str, Answer], str]:
    """Give the answers, and what to say of a claim that has none."""
    try:
        return await work(claims), NO_ANSWER
    except Exception as error:  # noqa: BLE001 - a gRPC error would discard the answers of the whole batch
        logger.exception("the claim service failed for {} claims", len(claims))
        return {}, f"the driver failed inside, {type(error).__name__}: {error}; see the agent's log"


def _refs(claims: Iterable[Any]) -> list[ClaimRef]:
    """Read the claims of a request. A pod that lists one claim twice brings its UID twice; it is answered once."""
    refs = (ClaimRef(uid=claim.uid, namespace=claim.namespace, name=claim.name) for claim in claims)
    return list({ref.uid: ref for ref in refs}.values())


def _names(claims: Sequence[ClaimRef]) -> str:
    return ", ".join(map(str, claims)) or "no claims"
