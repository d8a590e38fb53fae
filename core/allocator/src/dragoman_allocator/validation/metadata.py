"""Rules about ``metadata`` that all kinds share (``k8s.io/apimachinery/pkg/api/validation``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dragoman_allocator import names
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation.errors import (
    IMMUTABLE,
    INTERNAL,
    NOT_NEGATIVE,
    Errors,
    FieldError,
    complaints,
    covered,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from dragoman_allocator.validation.formats import LONG
from dragoman_allocator.validation.reading import same

ANNOTATIONS_SIZE: Final = 256 * 1024
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_STANDARD: Final = ("kubernetes", _ORPHAN, _FOREGROUND)
_FIXED: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_REFERENCE: Final = ("apiVersion", "kind", "name", "uid")


def check(meta: JsonObject, *, namespaced: bool) -> Errors:
    """Check the metadata of an object."""
    errors: Errors = []
    if prefix := meta.get("generateName", ""):
        # the server hides a dash at the end this way, with the letter before it
        masked = prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
        errors += complaints("metadata.generateName", prefix, names.subdomain(masked))
    errors += _name(meta, names.subdomain)
    return errors + _common(meta, namespaced=namespaced) + _standard(meta)


def check_class(meta: JsonObject) -> Errors:
    """Check the metadata of a class, whose name a declared rule checks as well."""
    prefix, name = meta.get("generateName", ""), meta.get("name", "")
    errors: Errors = []
    if prefix and not name:
        text = f'generateName was specified ("{prefix}"), but no name was generated'
        errors.append(FieldError("metadata.name", INTERNAL, text, None))
    errors += covered(_name(meta, lambda name: names.subdomain(name, names.BYTES)), LONG) if name else _name(meta)
    return errors + _common(meta, namespaced=False) + _standard(meta)


def check_any(meta: JsonObject, *, namespaced: bool) -> Errors:
    """Check what holds for objects of all kinds of Kubernetes: the name can stand in a URL."""
    prefix = meta.get("generateName", "")
    errors = complaints("metadata.generateName", prefix, names.path_segment(prefix, whole=False))
    return errors + _name(meta, names.path_segment) + _common(meta, namespaced=namespaced)


def _name(meta: JsonObject, rule: Callable[[str], names.Complaints] = names.subdomain) -> Errors:
    if name := meta.get("name", ""):
        return complaints("metadata.name", name, rule(name))
    return [required("metadata.name", "name or generateName is required")]


def _standard(meta: JsonObject) -> Errors:
    """Check that finalizers without a domain are ones of Kubernetes."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", one, text)
        for index, one in enumerate(meta.get("finalizers", []))
        if "/" not in one and one not in _STANDARD
    ]


def _common(meta: JsonObject, *, namespaced: bool) -> Errors:
    errors = _namespace(meta.get("namespace", ""), namespaced=namespaced)
    if meta.get("generation", 0) < 0:
        errors.append(invalid("metadata.generation", meta["generation"], NOT_NEGATIVE, "minimum"))
    errors += check_labels(meta, "metadata.labels") + check_annotations(meta, "metadata.annotations") + _owners(meta)
    return errors + _finalizers(meta.get("finalizers", [])) + _managers(meta.get("managedFields", []))


def _namespace(namespace: str, *, namespaced: bool) -> Errors:
    if not namespaced:
        return [forbidden("metadata.namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required("metadata.namespace")]
    return complaints("metadata.namespace", namespace, names.label(namespace))


def check_update(new: JsonObject, old: JsonObject) -> Errors:
    """Check what an update may not change in metadata, and its parts that are checked at every update."""
    return check_any_update(new, old) + _standard(new)


def check_any_update(new: JsonObject, old: JsonObject) -> Errors:
    """Check what holds for updates of all kinds of Kubernetes."""
    errors: Errors = []
    if "deletionTimestamp" in old:
        added = sorted({*new.get("finalizers", [])} - {*old.get("finalizers", [])})
        if added:
            shown = "[]string{" + ", ".join(f'"{one}"' for one in added) + "}"
            text = f"no new finalizers can be added if the object is being deleted, found new finalizers {shown}"
            errors.append(forbidden("metadata.finalizers", text))
    if not new.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    errors += _generation(new.get("generation", 0), old.get("generation", 0))
    for name in ("name", "namespace", "uid"):
        if new.get(name, "") != old.get(name, ""):
            errors.append(invalid(f"metadata.{name}", new.get(name, ""), IMMUTABLE))
    errors += [
        invalid(f"metadata.{name}", new.get(name), IMMUTABLE)
        for name in _FIXED
        if not same(new.get(name), old.get(name))
    ]
    errors += check_labels(new, "metadata.labels") + check_annotations(new, "metadata.annotations") + _owners(new)
    return errors + _managers(new.get("managedFields", []))


def _generation(new: int, old: int) -> Errors:
    errors = [invalid("metadata.generation", new, NOT_NEGATIVE, "minimum")] if new < 0 else []
    if new < old:
        errors.append(invalid("metadata.generation", new, "must not be decremented"))
    return errors


def check_labels(meta: JsonObject, path: str) -> Errors:
    """Check keys and values of labels."""
    errors: Errors = []
    for key, value in meta.get("labels", {}).items():
        errors += complaints(path, key, names.label_key(key), "format=k8s-label-key")
        errors += complaints(path, value, names.label_value(value), "format=k8s-label-value")
    return errors


def check_annotations(meta: JsonObject, path: str) -> Errors:
    """Check keys and the size of annotations."""
    errors: Errors = []
    found = meta.get("annotations", {})
    for key in found:
        errors += complaints(path, key, names.label_key(names.lowered(key)), "format=k8s-label-key")
    if sum(names.size(key) + names.size(value) for key, value in found.items()) > ANNOTATIONS_SIZE:
        errors.append(too_long(path, ANNOTATIONS_SIZE))
    return errors


def _owners(meta: JsonObject) -> Errors:
    errors: Errors = []
    controller = ""
    owners = meta.get("ownerReferences", [])
    for index, owner in enumerate(owners):
        path = f"metadata.ownerReferences[{index}]"
        errors += [required(f"{path}.{name}", "must not be empty") for name in _REFERENCE if not owner.get(name)]
        errors += _owner_version(path, owner)
        if owner.get("controller"):
            current = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                text = 'Only one reference can have Controller set to true. Found "true" in references for'
                errors.append(invalid("metadata.ownerReferences", owners, f"{text} {controller} and {current}"))
            controller = controller or current
    return errors


def _owner_version(path: str, owner: JsonObject) -> Errors:
    api = owner.get("apiVersion", "")
    if api and (api.count("/") > 1 or api.endswith("/")):
        return [invalid(f"{path}.apiVersion", api, "must be <group>/<version> or <version>")]
    if api == "v1" and owner.get("kind") == "Event":
        return [invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")]
    return []


def _finalizers(finalizers: list[str]) -> Errors:
    path = "metadata.finalizers"
    errors = [error for one in finalizers for error in complaints(path, one, names.label_key(one))]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        errors.append(invalid(path, finalizers, f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"))
    return errors


def _managers(entries: list[JsonObject]) -> Errors:
    errors: Errors = []
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        operation = entry.get("operation", "")
        if not operation:
            errors.append(required(f"{path}.operation", "must not be empty"))
        elif operation not in ("Apply", "Update"):
            errors.append(not_supported(f"{path}.operation", operation, ("Apply", "Update")))
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            errors.append(invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        errors += _manager(f"{path}.manager", entry.get("manager", ""))
        if names.size(entry.get("subresource", "")) > 256:
            errors.append(too_long(f"{path}.subresource", 256))
    return errors


def _manager(path: str, manager: str) -> Errors:
    errors = [too_long(path, 128)] if names.size(manager) > 128 else []
    for index, one in enumerate(manager):
        if not one.isprintable():
            at = names.size(manager[:index])
            errors.append(invalid(path, manager, f"invalid character U+{ord(one):04X} (at position {at})"))
    return errors


def template(meta: JsonObject, path: str) -> Errors:
    """Check the metadata of claims in a template: labels and annotations only."""
    rest = [name for name in meta if name not in ("labels", "annotations")]
    return [
        *check_annotations(meta, f"{path}.annotations"),
        *check_labels(meta, f"{path}.labels"),
        *(forbidden(f"{path}.{_go_name(name)}", "cannot be set") for name in rest),
    ]


def _go_name(name: str) -> str:
    return {"uid": "uID"}.get(name, name)
