"""Attributes of a device as the API takes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from dragoman.model.limits import VALUES_PER_DEVICE, cut, is_qualified_name, is_semver
from dragoman_hookspecs import AttributeValue, Version

Warn = Callable[[str, str], None]
"""Takes what was changed and why."""

CORE_ATTRIBUTES = ("deviceManager", "pool")
"""Attributes that core owns, whatever a manager gives under these names."""

_STANDARD_DOMAIN = "resource.kubernetes.io/"


def with_core_attributes(
    attributes: Mapping[str, AttributeValue], *, manager: str, pool: str | None, driver: str, warn: Warn
) -> dict[str, AttributeValue]:
    """Add ``deviceManager`` and, where there is one, ``pool``; a manager's own of these names is overridden."""
    result = without_core_attributes(attributes, driver=driver)
    for name in sorted(attributes.keys() - result.keys()):
        warn(f"attribute {name}", "the name belongs to Dragoman; the manager's value was dropped")
    result["deviceManager"] = manager
    if pool is not None:
        result["pool"] = pool
    return result


def without_core_attributes(attributes: Mapping[str, AttributeValue], *, driver: str) -> dict[str, AttributeValue]:
    """Leave out what core owns, in both spellings."""
    owned = {spelling for name in CORE_ATTRIBUTES for spelling in (name, f"{driver}/{name}")}
    return {name: value for name, value in attributes.items() if name not in owned}


def fit_attributes(
    attributes: Mapping[str, AttributeValue],
    *,
    driver: str,
    room: int,
    lists: bool,
    first: Collection[str] = CORE_ATTRIBUTES,
    warn: Warn,
) -> dict[str, AttributeValue]:
    """Cut and drop until the API takes the attributes; the result is in name order.

    Where there are more than ``room``, or more values than the API takes, those of ``first`` are kept before those of
    the standard domain, and these before the rest, each in name order.
    """
    good: dict[str, AttributeValue] = {}
    for name, value in attributes.items():
        if (fault := _name_fault(name, attributes, driver)) or (fault := _value_fault(value, lists)):
            warn(f"attribute {name}", f"dropped: {fault}")
            continue
        good[name] = _shortened(value)
        if good[name] != value:
            warn(f"attribute {name}", "cut to 64 bytes")
    kept: dict[str, AttributeValue] = {}
    values = 0
    for name in sorted(good, key=lambda name: (name not in first, not name.startswith(_STANDARD_DOMAIN), name)):
        count = _count(good[name])
        if len(kept) >= room or values + count > VALUES_PER_DEVICE:
            warn(f"attribute {name}", "dropped: the device has more attributes than the API takes")
            continue
        kept[name] = good[name]
        values += count
    return dict(sorted(kept.items()))


def has_lists(attributes: Mapping[str, AttributeValue]) -> bool:
    """Tell whether any value is a list."""
    return any(isinstance(value, tuple) for value in attributes.values())


def _name_fault(name: str, attributes: Mapping[str, AttributeValue], driver: str) -> str:
    if not is_qualified_name(name):
        return "the name is not a C identifier of at most 32 characters, with or without a domain"
    domain, slash, bare = name.rpartition("/")
    # Selectors see both spellings as one attribute, and which of the two wins is left to chance.
    if slash and domain == driver and bare in attributes:
        return f"it is the same attribute as {bare}"
    return ""


def _value_fault(value: AttributeValue, lists: bool) -> str:
    if not isinstance(value, tuple):
        return _scalar_fault(value)
    if not lists:
        return "list attributes are not taken by this cluster"
    if not value:
        return "the list is empty"
    if len({type(item) for item in value}) > 1:
        return "the list holds values of different types"
    return next(filter(None, map(_scalar_fault, value)), "")


def _scalar_fault(value: bool | int | str | Version) -> str:
    match value:
        case bool() | str():
            return ""
        case int():
            return "" if -(2**63) <= value < 2**63 else "the number does not fit 64 bits"
        case Version():
            return "" if is_semver(value.text) else f"{value.text!r} is not a semantic version"
        case _:
            return f"a value of type {type(value).__name__} cannot be published"


def _shortened(value: AttributeValue) -> AttributeValue:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, tuple) and isinstance(value[0], str):
        return tuple(cut(item) for item in value if isinstance(item, str))
    return value


def _count(value: AttributeValue) -> int:
    return len(value) if isinstance(value, tuple) else 1
