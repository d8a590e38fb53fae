"""What the command line calls objects: ``claim/NAME``, ``pod/NAMESPACE/NAME``, a file."""

from __future__ import annotations

from typing import Final

from dragoman_explain.store import NAMESPACED, Key, Misused

_WORDS: Final = {
    "ResourceClaim": ("claim", "claims", "resourceclaim", "resourceclaims"),
    "ResourceClaimTemplate": ("template", "templates", "resourceclaimtemplate", "resourceclaimtemplates"),
    "Pod": ("pod", "pods", "po"),
    "ResourceSlice": ("slice", "slices", "resourceslice", "resourceslices"),
    "DeviceClass": ("class", "classes", "deviceclass", "deviceclasses"),
    "DeviceTaintRule": ("rule", "rules", "devicetaintrule", "devicetaintrules"),
    "Node": ("node", "nodes", "no"),
    "Namespace": ("namespace", "namespaces", "ns"),
}
_KINDS: Final = {word: kind for kind, words in _WORDS.items() for word in words}
SUBJECTS: Final = ("ResourceClaim", "ResourceClaimTemplate", "Pod")


def parse(text: str, namespace: str) -> Key:
    """Read ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``. Raises ``Misused``."""
    word, *names = text.split("/")
    kind = _KINDS.get(word.lower().removesuffix(".resource.k8s.io"))
    if kind is None or not 1 <= len(names) <= 2 or not all(names) or (len(names) == 2 and kind not in NAMESPACED):
        raise Misused(
            f"{text!r} names no object: give KIND/NAME, KIND/NAMESPACE/NAME or a file; "
            f"kinds are {', '.join(words[0] for words in _WORDS.values())}"
        )
    return Key(kind, (names[0] if len(names) == 2 else namespace) if kind in NAMESPACED else "", names[-1])


def short(key: Key) -> str:
    """Give an object as the command line calls it, such as ``claim default/nic``."""
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return f"{_WORDS[key.kind][0]} {name}"
