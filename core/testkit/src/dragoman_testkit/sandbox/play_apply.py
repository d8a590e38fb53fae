"""How ``dragoman sandbox apply`` writes objects: as ``kubectl apply`` does, so that what the cluster has set stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman_hookspecs import JsonObject
from dragoman_testkit.sandbox.apiserver import ApiFault, ApiServer


class Applying:
    """Creates and changes objects. It remembers what was applied: what is no more said there goes."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self._applied: dict[str, JsonObject] = {}
        """By the UID of the object."""

    def write(self, obj: JsonObject, plural: str, namespace: str) -> str:
        """Give what was done: ``created``, ``changed`` or ``unchanged``. Raises ``ApiFault``."""
        try:
            made = self._api.create(obj, namespace)
        except ApiFault as fault:
            if fault.reason != "AlreadyExists":
                raise
            return self._change(obj, plural, namespace)
        self._applied[made["metadata"]["uid"]] = obj
        return "created"

    def _change(self, obj: JsonObject, plural: str, namespace: str) -> str:
        live = self._api.get(plural, obj["metadata"]["name"], namespace)
        uid, version = live["metadata"]["uid"], live["metadata"]["resourceVersion"]
        changed = self._api.update(_merged(live, self._applied.get(uid, {}), obj))
        self._applied[uid] = obj
        return "unchanged" if changed["metadata"]["resourceVersion"] == version else "changed"


def _merged(live: Mapping[str, Any], before: Mapping[str, Any], given: Mapping[str, Any]) -> JsonObject:
    """Give ``live`` with what is ``given``, without what only ``before`` gave; lists are replaced as a whole."""
    kept = {key: value for key, value in live.items() if key in given or key not in before}
    return kept | {key: _value(live.get(key), before.get(key), value) for key, value in given.items()}


def _value(live: Any, before: Any, given: Any) -> Any:
    if not isinstance(live, Mapping) or not isinstance(given, Mapping):
        return given
    return _merged(live, before if isinstance(before, Mapping) else {}, given)
