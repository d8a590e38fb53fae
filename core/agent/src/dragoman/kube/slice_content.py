"""What the slices of a pool should hold, and what was learnt of the server's view of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from dragoman.kube.errors import ApiError, Cause
from dragoman.kube.slice_compare import comparable, dropped, flat, within
from dragoman.kube.slice_json import LIST_MEMBERS, content_json
from dragoman.kube.slice_plan import StoredSlice
from dragoman.kube.versions import Api
from dragoman.model.slices import PoolSpec
from dragoman_hookspecs import JsonObject

_LIST_GATE = "DRAListTypeAttributes"
_DEVICE_PATH = re.compile(r"^spec\.devices\[(\d+)\]")
_HEAD = ("driver", "nodeName", "pool")


@dataclass(slots=True)
class Learnt:
    """What is known of one server beyond one pool: index to (wanted form, kept form), and whether it drops lists."""

    epoch: int = 0
    adopted: dict[int, tuple[JsonObject, JsonObject]] = field(default_factory=dict)
    lists_off: bool = False


class WantedSlices:
    """Contents by index, for the server that was met last.

    A server that drops fields keeps another form than was sent; that form is *adopted* for as long as the same is
    wanted, so that it is not written again and again. ``previous`` hands over what was learnt.
    """

    def __init__(self, pool: PoolSpec, previous: WantedSlices | None = None) -> None:
        self.pool = pool
        self._api: Api | None = None
        self._contents: dict[int, JsonObject] = {}
        self._forms: dict[int, JsonObject] = {}
        self.learnt: Learnt = previous.learnt if previous else Learnt()
        self._list_warnings: list[str] = []
        self._refused: dict[int, str] = {}

    def speak(self, api: Api) -> None:
        """Meet a server; another than before may take what was refused, and keep what was dropped."""
        if api == self._api:
            return
        self._api = api
        if self.learnt.epoch != api.epoch:
            self.learnt = Learnt(api.epoch)
        self._refused.clear()
        self._list_warnings.clear()
        self._contents = {index: content_json(spec, api.version) for index, spec in enumerate(self.pool.slices)}
        if self.learnt.lists_off:
            self._strip_lists()
        self._compare()

    def indices(self) -> Collection[int]:
        """Give the indices that are to exist; an empty pool is one slice without devices."""
        return self._contents.keys()

    def header(self, generation: int) -> JsonObject:
        """Give ``spec.pool``."""
        return {"name": self.pool.name, "generation": generation, "resourceSliceCount": len(self._contents)}

    def content(self, index: int) -> JsonObject:
        """Give the spec of a slice without its head."""
        return self._contents[index]

    def same(self, index: int, stored: StoredSlice) -> bool:
        """Whether the server has what is wanted, or what it made of it when it was last written."""
        form = comparable(stored.spec)
        return form == self._forms[index] or self.learnt.adopted.get(index) == (self._forms[index], form)

    def lacks_fields(self, index: int, stored: StoredSlice) -> bool:
        """Whether the stored slice is the wanted one with fields left out, and it is not known that they must be."""
        return not self.same(index, stored) and within(comparable(stored.spec), self._forms[index])

    def learn(self, index: int, stored: StoredSlice) -> None:
        """Take note of the answer to a write."""
        form = comparable(stored.spec)
        if form == self._forms[index]:
            self.learnt.adopted.pop(index, None)
        else:
            self.learnt.adopted[index] = (self._forms[index], form)

    def refuse(self, index: int, name: str, error: ApiError, stored: StoredSlice | None) -> None:
        """Take note of a refusal (422), and want less: no lists, the last accepted content, or nothing there."""
        if not self.learnt.lists_off and _about_lists(error, self._contents[index]):
            self.learnt.lists_off = True
            self._strip_lists()
        else:
            causes = ", ".join(self._explain(index, cause) for cause in error.causes) or error.message
            fallback = None if index in self._refused or stored is None else self._still_wanted(index, stored)
            self._refused.setdefault(
                index,
                f"slice {name} of pool {self.pool.name} was refused: {causes}; "
                "correct or filter out the device, the slice is tried again when the pool changes",
            )
            if fallback is None:
                del self._contents[index]
            else:
                self._contents[index] = fallback
        self._compare()

    def refusals(self) -> Sequence[str]:
        """Give a sentence for each slice that the server refused."""
        return [text for _, text in sorted(self._refused.items())]

    def warnings(self) -> Sequence[str]:
        """Give a sentence for each field that the server dropped."""
        return [*self._list_warnings, *self._drops()]

    def _drops(self) -> Iterator[str]:
        for index, (wanted, stored) in sorted(self.learnt.adopted.items()):
            if self._forms.get(index) == wanted:
                texts = list(dropped(wanted, stored))
                yield from texts or [
                    f"slice {index} of pool {self.pool.name}: the API server keeps other values than sent"
                ]

    def _compare(self) -> None:
        if not self._contents:
            self._contents = {0: {"devices": []}}
        self._forms = {index: comparable(content) for index, content in self._contents.items()}

    def _strip_lists(self) -> None:
        for content in self._contents.values():
            for device in content.get("devices") or ():
                attributes: JsonObject = device.get("basic", device).get("attributes") or {}
                for name in [name for name, value in attributes.items() if _is_list(value)]:
                    del attributes[name]
                    self._list_warnings.append(
                        f"device {device['name']}: attribute {name} is a list and is left out: "
                        f"feature gate {_LIST_GATE} is off at the API server"
                    )

    def _still_wanted(self, index: int, stored: StoredSlice) -> JsonObject:
        wanted = {device["name"] for device in self._contents[index].get("devices") or ()}
        content = {key: value for key, value in stored.spec.items() if key not in _HEAD}
        if content.get("devices"):
            content["devices"] = [device for device in content["devices"] if device.get("name") in wanted]
        return content

    def _explain(self, index: int, cause: Cause) -> str:
        found = _DEVICE_PATH.match(cause.field)
        devices = self._contents[index].get("devices") or []
        if found is None or int(found[1]) >= len(devices):
            return str(cause)
        return f"device {devices[int(found[1])]['name']}: {cause}"


def _is_list(attribute: JsonObject) -> bool:
    return any(member in attribute for member in LIST_MEMBERS)


def _about_lists(error: ApiError, content: JsonObject) -> bool:
    """A server that drops lists finds attributes without a value and says so."""
    lists = {
        f".attributes[{name}]"
        for device in content.get("devices") or ()
        for name, attribute in (flat(device).get("attributes") or {}).items()
        if _is_list(attribute)
    }
    return any(cause.field.endswith(tuple(lists)) for cause in error.causes)
