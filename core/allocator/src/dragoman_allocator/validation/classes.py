"""Rules about DeviceClasses, DeviceTaintRules and ResourcePoolStatusRequests (api-semantics 1.7, 4.1)."""

from __future__ import annotations

from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import conditions, formats, metadata, opaque, tolerations
from dragoman_allocator.validation.errors import IMMUTABLE, Errors, covered, invalid, too_many
from dragoman_allocator.validation.expressions import Budget, Compiler
from dragoman_allocator.validation.reading import same
from dragoman_allocator.validation.requests import MOST_CONFIGS, selectors

MOST_CONDITIONS: Final = 8
EXTENDED: Final = "format=k8s-extended-resource-name"


def create_class(value: JsonObject, compiler: Compiler) -> Errors:
    """Check a new class."""
    return metadata.check_class(value["metadata"]) + _class(value["spec"], None, compiler)


def update_class(value: JsonObject, old: JsonObject, compiler: Compiler) -> Errors:
    """Check an update; unchanged lists of selectors or configurations are stored ones."""
    errors = metadata.check_class(value["metadata"])
    errors += metadata.check_update(value["metadata"], old["metadata"])
    return errors + _class(value["spec"], old["spec"], compiler)


def _class(spec: JsonObject, old: JsonObject | None, compiler: Compiler) -> Errors:
    def stored(name: str) -> bool:
        return old is not None and same(spec.get(name), old.get(name))

    budget = None if stored("selectors") else Budget(compiler)
    errors = selectors(spec.get("selectors", []), "spec.selectors", budget)
    kept = stored("config")
    errors += formats.listed(
        spec.get("config", []),
        "spec.config",
        MOST_CONFIGS,
        lambda one, path: opaque.configuration(one, path, stored=kept),
    )
    name = spec.get("extendedResourceName")
    if name is not None and not names.extended_resource(name):
        text = "must be a valid extended resource name"
        errors += covered([invalid("spec.extendedResourceName", name, text)], EXTENDED)
    return errors


def create_taint_rule(value: JsonObject) -> Errors:
    """Check a new rule."""
    return metadata.check(value["metadata"], namespaced=False) + _taint_rule(value["spec"], None)


def update_taint_rule(value: JsonObject, old: JsonObject) -> Errors:
    """Check an update."""
    errors = metadata.check_update(value["metadata"], old["metadata"])
    return errors + _taint_rule(value["spec"], old["spec"]["taint"])


def update_taint_rule_status(value: JsonObject, old: JsonObject) -> Errors:
    """Check an update of the status."""
    found = value["status"].get("conditions", [])
    errors = metadata.check_update(value["metadata"], old["metadata"]) + conditions.check(found, "status.conditions")
    if len(found) > MOST_CONDITIONS:
        errors.append(too_many("status.conditions", len(found), MOST_CONDITIONS))
    return errors


def _taint_rule(spec: JsonObject, old: JsonObject | None) -> Errors:
    selector, path = spec.get("deviceSelector", {}), "spec.deviceSelector"
    errors: Errors = []
    for name, check in (("driver", formats.driver), ("pool", formats.pool), ("device", formats.label)):
        if name in selector:
            errors += check(selector[name], f"{path}.{name}")
    return errors + tolerations.taint(spec["taint"], "spec.taint", old)


def update_pool_request_status(value: JsonObject, old: JsonObject) -> Errors:
    """Check the one update that writes the status of a ResourcePoolStatusRequest."""
    errors = metadata.check_update(value["metadata"], old["metadata"])
    if "status" in old:
        if not same(value.get("status"), old["status"]):
            errors.append(invalid("status", value.get("status"), IMMUTABLE))
    elif "status" in value:
        errors += conditions.check(value["status"].get("conditions", []), "status.conditions")
    return errors
