"""One synchronisation: list, compare, delete, update, create, until everything is as wanted."""

from __future__ import annotations

from collections.abc import Awaitable

from dragoman.kube.errors import ApiError, ServerUnavailable
from dragoman.kube.slice_cache import SliceCache
from dragoman.kube.slice_content import WantedSlices
from dragoman.kube.slice_json import slice_name
from dragoman.kube.slice_plan import StoredSlice, make_plan, match
from dragoman.kube.slice_writer import SliceWriter
from dragoman.kube.versions import Api, Versions
from dragoman.model.errors import Unavailable
from dragoman_hookspecs import JsonObject

_ROUNDS = 8
"""Rounds beside one for each slice, before the server counts as too restless to follow."""


class _Again(Exception):
    """Something was learnt on the way: plan anew."""


class SliceSync:
    """Not safe for concurrent use: the publisher holds a lock."""

    def __init__(self, writer: SliceWriter, versions: Versions, cache: SliceCache, *, driver: str, node: str) -> None:
        self.cache = cache
        self._writer = writer
        self._versions = versions
        self._names = (driver, node)
        self._listed: tuple[Api, str] | None = None
        self._attempts: dict[int, int] = {}
        self._probed: int | None = None

    @property
    def position(self) -> tuple[Api, str] | None:
        """API version and resource version from which to watch, or None when a list is due."""
        return self._listed

    def lost(self) -> None:
        """List again before anything else."""
        self._listed = None

    async def make_equal(self, wanted: WantedSlices) -> None:
        """Write what differs. Refused slices are noted in ``wanted``. Raises ``Unavailable``."""
        try:
            await self._versions.call(lambda api: self._make_equal(api, wanted))
        except ApiError as error:
            raise _failed(error) from error

    async def delete_all(self) -> None:
        """Delete every slice of this node and driver. Raises ``Unavailable``."""
        try:
            await self._versions.call(self._delete_all)
        except ApiError as error:
            raise _failed(error) from error

    async def _make_equal(self, api: Api, wanted: WantedSlices) -> None:
        wanted.speak(api)
        for _ in range(_ROUNDS + 2 * len(wanted.pool.slices)):
            if self._listed is None or self._listed[0] != api:
                await self._list(api)
            try:
                await self._round(api, wanted)
            except _Again:
                continue
            except Unavailable:
                # What was written is unknown: an answer may be lost.
                self._listed = None
                raise
            return
        raise ServerUnavailable(f"the slices of pool {wanted.pool.name} are changed by another hand all the time")

    async def _list(self, api: Api) -> None:
        listed = await self._writer.fetch(api)
        self.cache.replace(listed)
        self._listed = api, listed.resource_version

    async def _delete_all(self, api: Api) -> None:
        await self._list(api)
        for stored in self.cache.all():
            await self._erased(api, stored)
        self._listed = None

    async def _round(self, api: Api, wanted: WantedSlices) -> None:
        if self._probed != api.epoch:
            await self._probe(api, wanted)
            self._probed = api.epoch
        plan = make_plan(wanted.pool.name, wanted.indices(), self.cache.all(), wanted.same)
        header = wanted.header(plan.generation)
        for stored in plan.deletes:
            await self._delete(api, stored)
        for index, stored in plan.updates:
            await self._update(api, wanted, index, stored, header)
        for index in plan.creates:
            await self._create(api, wanted, index, header)

    async def _probe(self, api: Api, wanted: WantedSlices) -> None:
        """With a server that is met, learn whether slices that lack fields lack them because the server drops these.

        Otherwise each restart, of agent or server, beside a gate that is off would write all slices under a new
        generation.
        """
        for index, stored in match(wanted.pool.name, wanted.indices(), self.cache.all()).items():
            if wanted.lacks_fields(index, stored):
                await self._update(api, wanted, index, stored, stored.spec["pool"])

    async def _delete(self, api: Api, stored: StoredSlice) -> None:
        try:
            await self._erased(api, stored)
        except ApiError as error:
            await self._conflict(api, error)

    async def _update(
        self, api: Api, wanted: WantedSlices, index: int, stored: StoredSlice, header: JsonObject
    ) -> None:
        try:
            answer = await self._written(stored.name, self._writer.update(api, stored, header, wanted.content(index)))
        except ApiError as error:
            self._refusal(wanted, index, stored.name, error, stored)
            await self._conflict(api, error)
        else:
            wanted.learn(index, answer)

    async def _create(self, api: Api, wanted: WantedSlices, index: int, header: JsonObject) -> None:
        name = slice_name(*self._names, index, self._attempts.get(index, 0))
        try:
            answer = await self._written(name, self._writer.create(api, name, header, wanted.content(index)))
        except ApiError as error:
            self._refusal(wanted, index, name, error, None)
            if error.reason == "AlreadyExists":
                await self._list(api)
                if self.cache.find(name) is None:
                    # Somebody else's, or one of ours that is still going away.
                    self._attempts[index] = self._attempts.get(index, 0) + 1
                raise _Again from error
            await self._conflict(api, error)
        else:
            wanted.learn(index, answer)

    async def _written(self, name: str, request: Awaitable[StoredSlice]) -> StoredSlice:
        with self.cache.writing(name):
            answer = await request
            self.cache.wrote(answer)
        return answer

    async def _erased(self, api: Api, stored: StoredSlice) -> None:
        with self.cache.writing(stored.name):
            await self._writer.delete(api, stored)
            self.cache.deleted(stored)

    def _refusal(
        self, wanted: WantedSlices, index: int, name: str, error: ApiError, stored: StoredSlice | None
    ) -> None:
        if error.status == 422:
            wanted.refuse(index, name, error, stored)
            raise _Again from error

    async def _conflict(self, api: Api, error: ApiError) -> None:
        """List and plan anew when the server has something else than was thought. Raises everything else again."""
        if error.status == 409 or (error.status == 404 and not error.not_served):
            await self._list(api)
            raise _Again from error
        raise error


def _failed(error: ApiError) -> ServerUnavailable:
    """Missing rights may come, and just after its start a server knows of none."""
    if error.status == 403:
        need = (
            "the agent's account needs get, list, watch, create, update and delete on resourceslices (resource.k8s.io)"
        )
        return ServerUnavailable(f"the slices of this node may not be written: {error.message}; {need}", status=403)
    return ServerUnavailable(f"the slices of this node cannot be written: {error}", status=error.status)
