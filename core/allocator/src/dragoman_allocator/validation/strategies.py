"""What the API server does with an object of each kind before it stores it (``pkg/registry/resource`` of 1.37)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from dragoman_allocator.errors import InvalidInput
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import claim_status, claims, classes, gates, metadata, pods, slices
from dragoman_allocator.validation.errors import Errors
from dragoman_allocator.validation.expressions import Compiler
from dragoman_allocator.validation.reading import same


@dataclass(frozen=True, slots=True)
class Setting:
    """What rules depend on besides the object: gates, a CEL compiler, and whether the namespace allows admin access."""

    features: Features
    compiler: Compiler
    admin: bool = False


Create = Callable[[JsonObject, Setting], Errors]
Update = Callable[[JsonObject, JsonObject, Setting], Errors]
Prepare = Callable[[JsonObject, JsonObject | None, Setting], None]


@dataclass(frozen=True, slots=True)
class Strategy:
    """How a kind, or a subresource of it, is prepared and checked; a status has no ``create``."""

    prepare: Prepare
    update: Update
    create: Create | None = None
    namespaced: bool = False

    def check(self, new: JsonObject, old: JsonObject | None, setting: Setting) -> Errors:
        """Prepare ``new`` and check it by the rules written by hand."""
        if old is None:
            if self.create is None:
                raise InvalidInput("a status is only ever updated: give the stored object as old")
            self.prepare(new, None, setting)
            return self.create(new, setting) or self._common(new, None)
        _keep(new["metadata"], old["metadata"], "generation")
        self.prepare(new, old, setting)
        _carry(new["metadata"], old["metadata"])
        return self._common(new, old) + self.update(new, old, setting)

    def _common(self, new: JsonObject, old: JsonObject | None) -> Errors:
        errors = metadata.check_any(new["metadata"], namespaced=self.namespaced)
        return errors if old is None else errors + metadata.check_any_update(new["metadata"], old["metadata"])


def strategy(kind: str, subresource: str | None) -> Strategy:
    """Give the strategy. Raises ``InvalidInput`` for a subresource that the kind does not have."""
    found = STRATEGIES.get((kind, subresource or ""))
    if found is None:
        raise InvalidInput(f"{kind} has no subresource {subresource!r}")
    return found


def _carry(new: JsonObject, old: JsonObject) -> None:
    """Keep what no update changes, whatever it says."""
    new.setdefault("uid", old.get("uid", ""))
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in old:
            new[name] = old[name]
    if "deletionGracePeriodSeconds" in old:
        new.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])


def _gated(kind: str) -> Prepare:
    def prepare(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
        _count(new, old)
        gates.drop(gates.ROWS[kind], new, old, setting.features)

    return prepare


def _count(new: JsonObject, old: JsonObject | None) -> None:
    """Count changes of the spec, for the kinds that do."""
    if old is None:
        new["metadata"]["generation"] = 1
    elif not same(new["spec"], old["spec"]):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _keep(new: JsonObject, old: JsonObject | None, *names: str) -> None:
    for name in names:
        new.pop(name, None)
        if old is not None and name in old:
            new[name] = old[name]


def _prepare_claim(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
    new["status"] = {} if old is None else old["status"]
    gates.drop(gates.CLAIM_SPEC, new["spec"], None if old is None else old["spec"], setting.features)


def _prepare_template(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
    stored = None if old is None else old["spec"]["spec"]
    gates.drop(gates.CLAIM_SPEC, new["spec"]["spec"], stored, setting.features)


def _prepare_status(new: JsonObject, old: JsonObject | None, _setting: Setting) -> None:
    if old is not None:
        new["spec"] = old["spec"]
        _reset_metadata(new["metadata"], old["metadata"])


def _prepare_claim_status(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
    if old is not None:
        _prepare_status(new, old, setting)
        gates.drop(gates.CLAIM_STATUS, new, old, setting.features)
        claim_status.drop_deallocated(new, old, setting.features)


def _prepare_taint_rule(new: JsonObject, old: JsonObject | None, _setting: Setting) -> None:
    _count(new, old)
    new["status"] = {} if old is None else old["status"]


def _prepare_pool_request(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
    _keep(new, old, "status")
    gates.drop(gates.POOL_REQUEST, new, old, setting.features)


def _prepare_pod_status(new: JsonObject, old: JsonObject | None, setting: Setting) -> None:
    _prepare_status(new, old, setting)
    pods.prepare_status(new, old, setting.features)


def _reset_metadata(new: JsonObject, old: JsonObject) -> None:
    """A status endpoint does not change metadata, but for managed fields."""
    _keep(
        new,
        old,
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    )


STRATEGIES: Final[Mapping[tuple[str, str], Strategy]] = {
    ("ResourceSlice", ""): Strategy(
        _gated("ResourceSlice"),
        lambda new, old, setting: slices.update(new, old, setting.features),
        lambda new, setting: slices.create(new, setting.features),
    ),
    ("ResourceClaim", ""): Strategy(
        _prepare_claim,
        lambda new, old, _: claims.update(new, old),
        lambda new, setting: claims.create(new, setting.features, setting.compiler, admin=setting.admin),
        namespaced=True,
    ),
    ("ResourceClaim", "status"): Strategy(
        _prepare_claim_status,
        lambda new, old, setting: claim_status.update(new, old, admin=setting.admin),
        namespaced=True,
    ),
    ("ResourceClaimTemplate", ""): Strategy(
        _prepare_template,
        lambda new, old, setting: claims.update_template(new, old, setting.features, setting.compiler),
        lambda new, setting: claims.create_template(new, setting.features, setting.compiler, admin=setting.admin),
        namespaced=True,
    ),
    ("DeviceClass", ""): Strategy(
        _gated("DeviceClass"),
        lambda new, old, setting: classes.update_class(new, old, setting.compiler),
        lambda new, setting: classes.create_class(new, setting.compiler),
    ),
    ("DeviceTaintRule", ""): Strategy(
        _prepare_taint_rule,
        lambda new, old, _: classes.update_taint_rule(new, old),
        lambda new, _: classes.create_taint_rule(new),
    ),
    ("DeviceTaintRule", "status"): Strategy(
        _prepare_status, lambda new, old, _: classes.update_taint_rule_status(new, old)
    ),
    ("ResourcePoolStatusRequest", ""): Strategy(
        _prepare_pool_request,
        lambda new, old, _: metadata.check_update(new["metadata"], old["metadata"]),
        lambda new, _: metadata.check(new["metadata"], namespaced=False),
    ),
    ("Pod", "status"): Strategy(
        _prepare_pod_status,
        lambda new, old, _: metadata.check_update(new["metadata"], old["metadata"]) + pods.update_status(new),
        namespaced=True,
    ),
    ("ResourcePoolStatusRequest", "status"): Strategy(
        _prepare_status, lambda new, old, _: classes.update_pool_request_status(new, old)
    ),
}
