"""Failures as the API server words them: a ``Status`` object with code, reason and causes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver.resources import Resource


@dataclass(frozen=True, slots=True)
class Cause:
    """One entry of ``details.causes``: a field path, a ``FieldValue…`` reason, and what is wrong."""

    field: str
    reason: str
    message: str


class ApiFault(Exception):
    """A request that is answered with a failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        causes: Iterable[Cause] = (),
        details: JsonObject | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = tuple(causes)
        self.details = details or {}
        self.retry_after = retry_after

    def status(self) -> JsonObject:
        """Give the body of the answer."""
        details = dict(self.details)
        if self.causes:
            details["causes"] = [{"field": c.field, "reason": c.reason, "message": c.message} for c in self.causes]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "code": self.code,
            "reason": self.reason,
            "message": self.message,
            "details": details,
        }


def bad_request(message: str) -> ApiFault:
    """A request that makes no sense to the server."""
    return ApiFault(400, "BadRequest", message)


def not_served() -> ApiFault:
    """A version or a kind that a known group has not: the same word as for a missing object, about nothing."""
    return ApiFault(404, "NotFound", "the server could not find the requested resource")


def not_found(resource: Resource, name: str) -> ApiFault:
    """No object of that name."""
    return ApiFault(404, "NotFound", f'{resource.full_name} "{name}" not found', details=_details(resource, name))


def already_exists(resource: Resource, name: str) -> ApiFault:
    """The name is taken."""
    text = f'{resource.full_name} "{name}" already exists'
    return ApiFault(409, "AlreadyExists", text, details=_details(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiFault:
    """A precondition (resource version or UID) does not hold."""
    text = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {why}'
    return ApiFault(409, "Conflict", text, details=_details(resource, name))


def expired(version: int, oldest: int) -> ApiFault:
    """The changes since that version are gone."""
    return ApiFault(410, "Expired", f"too old resource version: {version} ({oldest})")


def invalid(resource: Resource, name: str, causes: Iterable[Cause]) -> ApiFault:
    """The object breaks rules; every one is listed."""
    listed = tuple(causes)
    text = ", ".join(f"{cause.field}: {cause.message}" for cause in listed)
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    details = {**_details(resource, name), "kind": resource.kind}
    return ApiFault(422, "Invalid", f'{kind} "{name}" is invalid: {text}', causes=listed, details=details)


def no_manager() -> ApiFault:
    """Server-side apply by nobody."""
    cause = Cause("fieldManager", "FieldValueRequired", "is required for apply patch")
    text = f'PatchOptions.meta.k8s.io "" is invalid: fieldManager: {cause.message}'
    return ApiFault(422, "Invalid", text, causes=[cause], details={"group": "meta.k8s.io", "kind": "PatchOptions"})


def _details(resource: Resource, name: str) -> JsonObject:
    return {"name": name, "group": resource.group, "kind": resource.plural}
