"""gRPC services and calls made from service descriptors: no generated gRPC code, which ties to one gRPC version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import FileDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

Method = Callable[[Any, Any], Any]
"""Takes the request message and the gRPC context; a coroutine function, or an async generator for a stream."""

Handler: TypeAlias = "grpc.GenericRpcHandler[Any, Any]"


def service(file: FileDescriptor, name: str, methods: Mapping[str, Method]) -> Handler:
    """Make a service of which every method of the descriptor is served."""
    descriptor = file.services_by_name[name]
    handlers = {method.name: _handler(method, methods[method.name]) for method in descriptor.methods}
    return grpc.method_handlers_generic_handler(descriptor.full_name, handlers)


def call(channel: grpc.aio.Channel, file: FileDescriptor, path: str) -> Any:
    """Make the client's side of a method; ``path`` is ``Service.Method``. It is called with a request message."""
    service_name, _, method_name = path.partition(".")
    descriptor = file.services_by_name[service_name]
    method = descriptor.methods_by_name[method_name]
    make = channel.unary_stream if method.server_streaming else channel.unary_unary
    return make(
        f"/{descriptor.full_name}/{method.name}",
        request_serializer=_serialize,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )


def clean(text: str) -> str:
    """Make a text fit for protobuf: what is no Unicode (a byte of a file name) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _handler(method: MethodDescriptor, function: Method) -> grpc.RpcMethodHandler[Any, Any]:
    make = grpc.unary_stream_rpc_method_handler if method.server_streaming else grpc.unary_unary_rpc_method_handler
    return make(
        function,
        request_deserializer=GetMessageClass(method.input_type).FromString,
        response_serializer=_serialize,
    )


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()
