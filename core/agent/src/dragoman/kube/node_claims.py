"""The claims of all pods of this node: read once, where the ledger that knew them was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from dragoman.clock import Clock
from dragoman.kube.claims import ClaimReader
from dragoman.kube.client import KubeClient, decode
from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.retry import patiently
from dragoman.model.claims import Claim, NodeClaimsRead
from dragoman.model.errors import ClaimNotFound, Refused, Unavailable

_PODS = "/api/v1/pods"

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a claim."""


class PodClaim(msgspec.Struct, rename="camel"):
    """An entry of ``spec.resourceClaims`` or ``status.resourceClaimStatuses``; that of a template has no claim name."""

    resource_claim_name: str | None = None


class Spec(msgspec.Struct, rename="camel"):
    """``spec``."""

    resource_claims: list[PodClaim] | None = None


class Status(msgspec.Struct, rename="camel"):
    """``status``."""

    resource_claim_statuses: list[PodClaim] | None = None
    extended_resource_claim_status: PodClaim | None = None


class Meta(msgspec.Struct):
    """``metadata``."""

    namespace: str = ""


class Pod(msgspec.Struct):
    """A pod as far as it names claims."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    def claims(self) -> Iterator[Name]:
        """Give the claims that the pod names: its own, those made for it, and that of its extended resources."""
        entries = [*(self.spec.resource_claims or ()), *(self.status.resource_claim_statuses or ())]
        if self.status.extended_resource_claim_status is not None:
            entries.append(self.status.extended_resource_claim_status)
        for entry in entries:
            if entry.resource_claim_name:
                yield self.metadata.namespace, entry.resource_claim_name


class ListMeta(msgspec.Struct, rename={"continue_": "continue"}):
    """``metadata`` of a list."""

    continue_: str | None = None


class PodList(msgspec.Struct):
    """One page of pods."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[Pod] | None = None


class NodeClaimReader:
    """Satisfies the engine's ``NodeClaims``: one list of pods by node name, then one read for each claim.

    ``page``: how many pods are listed with one request.
    """

    def __init__(self, client: KubeClient, claims: ClaimReader, clock: Clock, *, node: str, page: int = 500) -> None:
        self._client = client
        self._claims = claims
        self._clock = clock
        self._node = node
        self._size = page

    async def of_node(self) -> NodeClaimsRead:
        """Read the claims of all pods of the node, ended ones too: their devices may not be given back yet.

        A claim that is gone is left out. Raises ``Unavailable``, or ``Refused`` where pods may not be listed.
        """
        found = await asyncio.gather(*map(self._read, await self._names()))
        return NodeClaimsRead(
            claims=tuple(each for each in found if isinstance(each, Claim)),
            unreadable=tuple(each for each in found if isinstance(each, str)),
        )

    async def _read(self, name: Name) -> Claim | str | None:
        try:
            return await self._claims.find(*name)
        except ClaimNotFound:
            return None
        except Unavailable as error:
            return f"claim {'/'.join(name)} cannot be read: {error}"

    async def _names(self) -> list[Name]:
        names: dict[Name, None] = {}
        query = {"fieldSelector": f"spec.nodeName={self._node}", "limit": str(self._size)}
        while True:
            page = await self._page(query)
            for pod in page.items or ():
                names.update(dict.fromkeys(pod.claims()))
            if not page.metadata.continue_:
                return list(names)
            query = {**query, "continue": page.metadata.continue_}

    async def _page(self, query: dict[str, str]) -> PodList:
        try:
            body = await patiently(self._clock, lambda: self._client.get(_PODS, query))
        except ApiError as error:
            what = f"the pods of node {self._node} cannot be listed: {error.message}"
            if error.status == 403:
                raise Refused(f"{what}; allow list on pods to the agent's account") from error
            # 410 among them: the list is begun again.
            raise ServerUnavailable(what, status=error.status) from error
        return decode(_PODS, body, PodList)
