"""Rules about claims and claim templates."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import metadata, requests
from dragoman_allocator.validation.errors import IMMUTABLE, Errors, covered, forbidden, invalid
from dragoman_allocator.validation.expressions import Compiler
from dragoman_allocator.validation.reading import same

ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
NOT_ADMIN: Final = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"


def create(claim: JsonObject, features: Features, compiler: Compiler, *, admin: bool) -> Errors:
    """Check a new claim; ``admin`` tells whether its namespace has the label that allows admin access."""
    errors = [] if admin else admin_access(claim["spec"])
    errors += metadata.check(claim["metadata"], namespaced=True)
    return errors + requests.claim(claim["spec"], "spec.devices", features, compiler)


def update(claim: JsonObject, old: JsonObject) -> Errors:
    """Check an update, which may only change metadata."""
    errors = metadata.check(claim["metadata"], namespaced=True)
    errors += metadata.check_update(claim["metadata"], old["metadata"])
    if not same(claim["spec"], old["spec"]):
        errors += covered([invalid("spec", claim["spec"], IMMUTABLE)], "immutable")
    return errors


def admin_access(spec: JsonObject) -> Errors:
    """Refuse admin access; upstream leaves ``exactly`` out of the path."""
    for index, request in enumerate(spec["devices"].get("requests", [])):
        if request.get("exactly", {}).get("adminAccess"):
            return [forbidden(f"spec.devices.requests[{index}].adminAccess", NOT_ADMIN)]
    return []


def create_template(template: JsonObject, features: Features, compiler: Compiler, *, admin: bool) -> Errors:
    """Check a new template, or all of a changed one."""
    errors = [] if admin else admin_access(template["spec"]["spec"])
    return errors + _template(template, features, compiler)


def update_template(template: JsonObject, old: JsonObject, features: Features, compiler: Compiler) -> Errors:
    """Check an update of a template, which may only change metadata; the spec is checked all the same, as upstream."""
    errors = _template(template, features, compiler)
    errors += metadata.check_update(template["metadata"], old["metadata"])
    if not same(template["spec"], old["spec"]):
        errors.append(invalid("spec", template["spec"], IMMUTABLE))
    return errors


def _template(template: JsonObject, features: Features, compiler: Compiler) -> Errors:
    errors = metadata.check(template["metadata"], namespaced=True)
    errors += metadata.template(template["spec"]["metadata"], "spec.metadata")
    return errors + requests.claim(template["spec"]["spec"], "spec.spec.devices", features, compiler)
