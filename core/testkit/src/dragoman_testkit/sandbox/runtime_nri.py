"""NRI as a runtime serves it, over the agent's own codecs in the mirrored role."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.clock import Clock
from dragoman.conversations import Conversations, stop_listening
from dragoman.nri._proto import nri_pb2 as pb
from dragoman.nri.connection import Connection
from dragoman.nri.mux import PLUGIN_ID, RUNTIME_ID, MuxError
from dragoman.nri.plugin import RUNTIME_SERVICE
from dragoman.nri.session import PLUGIN_SERVICE
from dragoman.nri.ttrpc import Call, CallError, Code
from dragoman.nri.work import within
from dragoman_testkit.sandbox.runtime_adjust import variables
from dragoman_testkit.sandbox.runtime_frames import RoomyReader

CALLS: dict[int, tuple[str, Callable[[pb.PodSandbox], bytes]]] = {
    pb.RUN_POD_SANDBOX: ("RunPodSandbox", lambda pod: pb.RunPodSandboxRequest(pod=pod).SerializeToString()),
    pb.STOP_POD_SANDBOX: ("StopPodSandbox", lambda pod: pb.StopPodSandboxRequest(pod=pod).SerializeToString()),
    pb.REMOVE_POD_SANDBOX: ("RemovePodSandbox", lambda pod: pb.RemovePodSandboxRequest(pod=pod).SerializeToString()),
}
"""Sandbox events that are calls of their own since NRI 0.12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NriOptions:
    """Which NRI a runtime speaks. The defaults are NRI 0.12.5 as containerd 2.3 has it.

    ``dedicated_calls`` False: NRI up to 0.11, sandbox events come as StateChange. ``knows_failure_policy``: since
    0.12.4. ``chunk``: pods in one message of Synchronize, 0 for all in one. Timeouts in seconds.
    """

    dedicated_calls: bool = True
    knows_failure_policy: bool = True
    request_timeout: float = 2.0
    registration_timeout: float = 5.0
    chunk: int = 0
    runtime_name: str = "dragoman-sandbox"
    runtime_version: str = "v2.3.0"

    @property
    def nri_version(self) -> str:
        """Give the version that Configure tells; older ones tell none."""
        return "v0.12.5" if self.dedicated_calls else ""

    @property
    def valid_events(self) -> int:
        """Give the mask of the events that exist."""
        return 0x3FFF if self.dedicated_calls else 0x07FF


class Misnamed(CallError):
    """A plugin registered with a name or index that is none."""


class RemotePlugin:
    """A plugin that connected."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, options: NriOptions, clock: Clock
    ) -> None:
        self.name = ""
        self.forgotten = False
        roomy: Any = RoomyReader(reader)  # a connection does no more than read of it
        self.connection = Connection(roomy, writer, self._serve, serves=RUNTIME_ID, calls=PLUGIN_ID, clock=clock)
        self._options = options
        self._events = 0
        self._policy = pb.FailurePolicy()
        self._dedicated = options.dedicated_calls
        self._clock = clock
        self._registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def read(self) -> None:
        """Serve it until it leaves. Raises ``MuxError``."""
        try:
            await self.connection.run()
        finally:
            self._registered.cancel()

    async def register(self) -> None:
        """Wait until it registers, and configure it. Raises ``CallError``, and ``Misnamed``."""
        options = self._options
        await within(self._clock, options.registration_timeout, self._registered)
        if not self._registered.done() or self._registered.cancelled():
            raise CallError(Code.DEADLINE_EXCEEDED, "the plugin did not register")
        self._registered.result()
        request = pb.ConfigureRequest(
            runtime_name=options.runtime_name,
            runtime_version=options.runtime_version,
            registration_timeout=int(options.registration_timeout * 1000),
            request_timeout=int(options.request_timeout * 1000),
            nri_version=options.nri_version,
        )
        answer = pb.ConfigureResponse.FromString(await self._call("Configure", request.SerializeToString()))
        if answer.events & ~options.valid_events:
            raise CallError(Code.INVALID_ARGUMENT, f"plugin {self.name} wants unknown events {answer.events:#x}")
        self._events = answer.events or options.valid_events
        self._policy = answer.failure_policy if options.knows_failure_policy else pb.FailurePolicy()

    async def synchronize(self, pods: Sequence[pb.PodSandbox], containers: Sequence[pb.Container]) -> None:
        """Tell pods and containers, in parts if so configured. Raises ``CallError``."""
        total = max(len(pods), len(containers), 1)
        size = self._options.chunk or total
        for start in range(0, total, size):
            end = start + size
            request = pb.SynchronizeRequest(pods=pods[start:end], containers=containers[start:end], more=end < total)
            answer = pb.SynchronizeResponse.FromString(await self._call("Synchronize", request.SerializeToString()))
            if answer.more != request.more:
                raise CallError(Code.INTERNAL, f"plugin {self.name} does not handle split sync requests")

    async def happen(self, event: int, pod: pb.PodSandbox) -> None:
        """Tell an event of a sandbox, if it wants to know. Raises ``CallError``."""
        if not self._wants(event):
            return
        if self._dedicated:
            method, payload = CALLS[event]
            try:
                await self._call(method, payload(pod))
            except CallError as error:
                if error.code != Code.UNIMPLEMENTED:
                    raise
                self._dedicated = False
            else:
                return
        await self._call("StateChange", pb.StateChangeEvent(event=event, pod=pod).SerializeToString())  # type: ignore[arg-type]  # the number of an Event

    async def create_container(self, pod: pb.PodSandbox, container: pb.Container) -> dict[str, str]:
        """Ask whether it may be created, and give the variables that it is to have. Raises ``CallError``."""
        if not self._wants(pb.CREATE_CONTAINER):
            return {}
        request = pb.CreateContainerRequest(pod=pod, container=container)
        return variables(await self._call("CreateContainer", request.SerializeToString()))

    def survives(self, error: CallError) -> bool:
        """Tell whether it stays connected after a fatal error: only if it was late and asked for that."""
        return error.code == Code.DEADLINE_EXCEEDED and self._policy.keep_connected

    @property
    def fails_requests(self) -> bool:
        """Tell whether it asked that what it does not answer fails."""
        return self._policy.fail_request

    def _wants(self, event: int) -> bool:
        return bool(self._events & 1 << (event - 1))

    async def _call(self, method: str, payload: bytes) -> bytes:
        return await self.connection.call(PLUGIN_SERVICE, method, payload, self._options.request_timeout)

    async def _serve(self, call: Call) -> bytes:
        if self.forgotten:
            await asyncio.Event().wait()
        if (call.service, call.method) == (RUNTIME_SERVICE, "UpdateContainers"):
            return b""
        if (call.service, call.method) != (RUNTIME_SERVICE, "RegisterPlugin"):
            raise CallError(Code.UNIMPLEMENTED, f"method {call.method}")
        request = pb.RegisterPluginRequest.FromString(call.payload)
        if not request.plugin_name or len(request.plugin_idx) != 2 or not request.plugin_idx.isdigit():
            error = Misnamed(Code.UNKNOWN, f"invalid plugin {request.plugin_idx}-{request.plugin_name}")
            self._registered.set_exception(error)
            raise error
        self.name = f"{request.plugin_idx}-{request.plugin_name}"
        if not self._registered.done():
            self._registered.set_result(None)
        return b""


FATAL = frozenset({Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE})
"""Errors that cost a plugin its connection, while the operation goes on without it."""


class NriEnd:
    """The runtime's socket and the plugins at it, in the order of their index."""

    def __init__(
        self,
        socket: Path,
        options: NriOptions,
        clock: Clock,
        pods: Callable[[], Sequence[pb.PodSandbox]],
        containers: Callable[[], Sequence[pb.Container]] = tuple,
    ) -> None:
        self.dropped: list[str] = []
        self._socket = socket
        self._options = options
        self._clock = clock
        self._pods = pods
        self._containers = containers
        self._plugins: list[RemotePlugin] = []
        self._changed = asyncio.Condition()
        self._one_by_one = asyncio.Lock()
        # The real one holds one lock for a whole request over all plugins, and for adding a plugin.
        self._request = asyncio.Lock()
        self._conversations = Conversations(self._host)
        self._server: asyncio.Server | None = None

    @property
    def plugins(self) -> list[str]:
        """Name the plugins that are told events."""
        return [plugin.name for plugin in self._plugins]

    @property
    def waits(self) -> bool:
        """Whether plugins are asked or told something that one of them has not answered yet."""
        return self._request.locked()

    async def wait_for_plugins(self, count: int = 1) -> None:
        """Wait until that many are told events."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._plugins) == count)

    async def start(self) -> None:
        """Listen. A socket file that was left behind is replaced."""
        self._socket.parent.mkdir(parents=True, exist_ok=True)
        self._socket.unlink(missing_ok=True)
        self._conversations = Conversations(self._host)
        self._server = await asyncio.start_unix_server(self._conversations.accept, str(self._socket))

    async def stop(self) -> None:
        """Go away as a runtime does that ends: plugins lose their connection, and the socket file is gone."""
        if self._server:
            await stop_listening(self._server)
            self._socket.unlink(missing_ok=True)
        await self._conversations.end()

    async def drop_plugins(self) -> None:
        """Cut the connections of all plugins, as some runtimes do with a plugin that answers late."""
        for plugin in tuple(self._plugins):
            await self._drop(plugin, "told to drop it")

    async def forget_plugins(self) -> None:
        """Forget all plugins and leave their connections open: they are neither told nor answered anything more."""
        for plugin in self._plugins:
            plugin.forgotten = True
        self._plugins.clear()
        await self._notify()

    async def happen(self, event: int, pod: pb.PodSandbox) -> None:
        """Tell all plugins. Raises ``CallError`` with the text of one that refuses."""
        await self._each(lambda plugin: plugin.happen(event, pod))

    async def create_container(self, pod: pb.PodSandbox, container: pb.Container) -> dict[str, str]:
        """Ask all plugins, and give the variables that they add. Raises ``CallError`` with a refusal's text."""
        added: dict[str, str] = {}

        async def ask(plugin: RemotePlugin) -> None:
            added.update(await plugin.create_container(pod, container))

        await self._each(ask)
        return added

    async def _each(self, ask: Callable[[RemotePlugin], Awaitable[None]]) -> None:
        async with self._request:
            for plugin in tuple(self._plugins):
                try:
                    await ask(plugin)
                except CallError as error:
                    if error.code not in FATAL:
                        raise
                    if not plugin.survives(error):
                        await self._drop(plugin, str(error))
                    if plugin.fails_requests:
                        raise

    async def _host(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        plugin = RemotePlugin(reader, writer, self._options, self._clock)
        reading = asyncio.ensure_future(plugin.read())
        try:
            async with self._one_by_one:
                await plugin.register()
            async with self._request:
                await plugin.synchronize(self._pods(), self._containers())
                self._plugins.append(plugin)
                self._plugins.sort(key=lambda one: one.name)
            await self._notify()
            await reading
        except Misnamed as error:
            self.dropped.append(f"unregistered plugin: {error}")
            await reading  # it is left alone, and its connection stays
        except (CallError, MuxError) as error:
            self.dropped.append(f"{plugin.name or 'unregistered plugin'}: {error}")
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await self._drop(plugin, "")

    async def _drop(self, plugin: RemotePlugin, reason: str) -> None:
        if reason:
            self.dropped.append(f"{plugin.name}: {reason}")
        if plugin in self._plugins:
            self._plugins.remove(plugin)
        plugin.connection.close()
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
