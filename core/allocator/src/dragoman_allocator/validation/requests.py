"""Rules about what a claim asks for (api-semantics 1.6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from dragoman_allocator import names
from dragoman_allocator.features import Features
from dragoman_allocator.objects.meta import JsonObject
from dragoman_allocator.validation import formats, opaque, tolerations
from dragoman_allocator.validation.errors import (
    Errors,
    complaints,
    covered,
    invalid,
    not_supported,
    required,
)
from dragoman_allocator.validation.expressions import Budget, Compiler

MOST_REQUESTS: Final = 32
MOST_SUBREQUESTS: Final = 8
MOST_CONSTRAINTS: Final = 32
MOST_CONFIGS: Final = 32
MOST_SELECTORS: Final = 32

_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_NO_CONSTRAINT: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)
_UNUSED: Final = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)


def claim(spec: JsonObject, path: str, features: Features, compiler: Compiler) -> Errors:
    """Check the spec of a claim or of a template; ``path`` is that of ``devices``."""
    devices = spec["devices"]
    constraints = devices.get("constraints", [])
    rules = _Requests(Budget(compiler), _constrained(constraints))
    known = References.of(spec)
    errors = formats.unique(devices.get("requests", []), f"{path}.requests", MOST_REQUESTS, rules.request)
    errors += formats.listed(
        constraints, f"{path}.constraints", MOST_CONSTRAINTS, lambda one, at: _constraint(one, at, known, features)
    )
    errors += formats.listed(
        devices.get("config", []), f"{path}.config", MOST_CONFIGS, lambda one, at: config(one, at, known, stored=False)
    )
    return errors + rules.budget.total(path)


@dataclass(frozen=True, slots=True)
class References:
    """What constraints, configurations and results may name: requests, and subrequests as ``request/subrequest``."""

    subrequests: dict[str, frozenset[str]]

    @classmethod
    def of(cls, spec: JsonObject) -> Self:
        """Read the names from the spec of a claim; of requests with one name the last counts."""
        return cls(
            {
                request.get("name", ""): frozenset(one.get("name", "") for one in request.get("firstAvailable", []))
                for request in spec["devices"].get("requests", [])
            }
        )

    def check(self, name: str, path: str) -> Errors:
        """Check a reference."""
        parts = name.split("/")
        if len(parts) > 2:
            return [invalid(path, name, _NO_REQUEST)]
        errors = [error for part in parts for error in formats.label(part, path)]
        found = self.subrequests.get(parts[0])
        if found is None or not found.issuperset(parts[1:]):
            errors.append(invalid(path, name, _NO_REQUEST))
        return errors


def config(value: JsonObject, path: str, known: References, *, stored: bool) -> Errors:
    """Check a configuration of a claim or of an allocation."""
    errors = formats.unique_texts(value.get("requests", []), f"{path}.requests", MOST_REQUESTS, known.check)
    return errors + opaque.configuration(value, path, stored=stored)


def selectors(found: list[JsonObject], path: str, budget: Budget | None) -> Errors:
    """Check selectors; without a budget their expressions are stored ones, which are good."""

    def selector(value: JsonObject, at: str) -> Errors:
        if "cel" not in value:
            return [required(f"{at}.cel")]
        expression = value["cel"].get("expression", "")
        return [] if budget is None else budget.selector(expression, f"{at}.cel.expression")

    return formats.listed(found, path, MOST_SELECTORS, selector)


def _constrained(constraints: Iterable[JsonObject]) -> dict[str, set[str]]:
    """Give the attributes that constraints name, by request; ``""`` stands for all requests."""
    found: dict[str, set[str]] = {}
    for constraint in constraints:
        attribute = constraint.get("matchAttribute", constraint.get("distinctAttribute"))
        if attribute is not None:
            for name in constraint.get("requests") or [""]:
                found.setdefault(name, set()).add(attribute)
    return found


def _constraint(value: JsonObject, path: str, known: References, features: Features) -> Errors:
    errors = formats.unique_texts(value.get("requests", []), f"{path}.requests", MOST_REQUESTS, known.check)
    for name in ("matchAttribute", "distinctAttribute"):
        if name in value:
            return errors + formats.fully_qualified(value[name], f"{path}.{name}")
    if features.on("DRAConsumableCapacity"):
        return [*errors, required(path, _NO_CONSTRAINT)]
    return [*errors, required(f"{path}.matchAttribute")]


@dataclass(frozen=True, slots=True)
class _Requests:
    """Checks requests, with what all requests of a claim share."""

    budget: Budget
    constrained: dict[str, set[str]]

    def request(self, value: JsonObject, path: str) -> Errors:
        name = value.get("name", "")
        errors = formats.label(name, f"{path}.name")
        subrequests = value.get("firstAvailable", [])
        if "exactly" in value and subrequests:
            return [*errors, invalid(path, None, f"{_ONE_OF}, but multiple fields are set")]
        if subrequests:
            return errors + formats.unique(
                subrequests,
                f"{path}.firstAvailable",
                MOST_SUBREQUESTS,
                lambda one, at: self._subrequest(one, at, name),
            )
        if "exactly" in value:
            exactly, inner = value["exactly"], f"{path}.exactly"
            return errors + _class(exactly, inner) + self._asking(exactly, inner, name)
        return [*errors, required(path, _ONE_OF)]

    def _subrequest(self, value: JsonObject, path: str, parent: str) -> Errors:
        name = value.get("name", "")
        errors = formats.label(name, f"{path}.name") + covered(_class(value, path))
        return errors + self._asking(value, path, f"{parent}/{name}")

    def _asking(self, value: JsonObject, path: str, name: str) -> Errors:
        errors = selectors(value.get("selectors", []), f"{path}.selectors", self.budget)
        errors += self._derived(value.get("derivedAttributes", []), f"{path}.derivedAttributes", name)
        errors += _mode(value, path)
        for index, toleration in enumerate(value.get("tolerations", [])):
            errors += tolerations.toleration(toleration, f"{path}.tolerations[{index}]")
        return errors

    def _derived(self, attributes: list[JsonObject], path: str, name: str) -> Errors:
        parent = name.partition("/")[0]
        used = set().union(*(self.constrained.get(one, set()) for one in ("", name, parent)))

        def attribute(value: JsonObject, at: str) -> Errors:
            errors: Errors = []
            if value.get("name", "") not in {"", *used}:
                errors.append(invalid(f"{at}.name", value["name"], _UNUSED))
            if expression := value.get("expression"):
                errors += self.budget.derived(expression, f"{at}.expression")
            return errors

        errors = formats.listed(attributes, path, None, attribute)
        return errors + formats.repeated((one.get("name", "") for one in attributes), path, by_rule=False)


def _class(value: JsonObject, path: str) -> Errors:
    name = value.get("deviceClassName", "")
    if not name:
        return [required(f"{path}.deviceClassName")]
    return complaints(f"{path}.deviceClassName", name, names.subdomain(name), formats.LONG)


def _mode(value: JsonObject, path: str) -> Errors:
    mode, count = value.get("allocationMode", ""), value.get("count", 0)
    if mode == "All":
        text = "must not be specified when allocationMode is 'All'"
        return [invalid(f"{path}.count", count, text)] if count else []
    if mode == "ExactCount":
        return [] if count > 0 else [invalid(f"{path}.count", count, "must be greater than zero")]
    return covered([not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount"))])
