"""What is asked on the command line, and the answer to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from dragoman_allocator.errors import AllocatorError
from dragoman_allocator.features import Features
from dragoman_explain import naming
from dragoman_explain.explaining import explain
from dragoman_explain.live import Live
from dragoman_explain.release import features
from dragoman_explain.report import Report, State
from dragoman_explain.store import KINDS, Key, Misused, Store, Unusable, key_of
from dragoman_explain.subjects import FINISHED
from dragoman_explain.world import World
from dragoman_hookspecs import Cluster, Connect
from dragoman_kit import manifests
from dragoman_kit.manifests import Manifest

_STDIN: Final = "-"
_ACCOUNTING: Final = "DRANodeAllocatableResources"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The options of the command."""

    subjects: Sequence[str] = ()
    files: Sequence[Path] = ()
    what_if: Sequence[Path] = ()
    without: Sequence[str] = ()
    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None
    request_timeout: float | None = None
    release: str | None = None
    gates: str | None = None
    devices: int | None = None

    @property
    def home(self) -> str:
        """The namespace of what names none."""
        return self.namespace or "default"


@dataclass(frozen=True, slots=True)
class Answer:
    """Reports in the order of the subjects, by the rules of a release."""

    release: str
    reports: Sequence[Report]


@dataclass(slots=True)
class _Asked:
    """Subjects by key, those that are in files as they stand there."""

    keys: list[Key]
    new: dict[Key, Manifest]
    beside: list[Manifest]


def answer(question: Question, connect: Connect, now: datetime) -> Answer:
    """Answer. Raises ``DragomanError``."""
    try:
        return _answer(question, connect, now)
    except AllocatorError as error:
        raise Unusable(f"this cannot be explained: {error}") from error


def _answer(question: Question, connect: Connect, now: datetime) -> Answer:
    asked = _asked(question)
    gates, store = _read(question, asked, connect)
    before = store.copy()
    for manifest in [*asked.beside, *asked.new.values()]:
        store.add(manifest, question.home)
    added = _change(question, store)
    changed = bool(question.what_if or question.without)
    world = World.of(store, gates, now)
    keys = asked.keys or _pending(world, question.namespace)
    reports = [
        explain(world, store, key, new=key in asked.new or key in added, nearest=question.devices) for key in keys
    ]
    if changed:
        reports = _compared(reports, before, asked, World.of(before, gates, now))
    return Answer(gates.rules, reports)


def _asked(question: Question) -> _Asked:
    asked = _Asked([], {}, [])
    for text in question.subjects:
        if text == _STDIN or Path(text).exists():
            _from_file(asked, text, question.home)
            continue
        key = naming.parse(text, question.home)
        if key.kind not in naming.SUBJECTS:
            raise Misused(f"{text!r} cannot be explained: give a claim, a template, a pod or a file with such")
        asked.keys.append(key)
    return asked


def _from_file(asked: _Asked, text: str, namespace: str) -> None:
    found = manifests.parse(sys.stdin.buffer.read(), _STDIN) if text == _STDIN else manifests.read([Path(text)])
    subjects = []
    for manifest in found:
        key = key_of(manifest, namespace)
        if key is not None and key.kind in naming.SUBJECTS:
            subjects.append(key)
            asked.new[key] = manifest
        else:
            asked.beside.append(manifest)
    # Templates are asked about only where nothing is that uses them.
    wanted = [key for key in subjects if key.kind != "ResourceClaimTemplate"] or subjects
    if not wanted:
        raise Unusable(f"{text} has no claim, template or pod to explain: give a cluster's manifests with -f")
    asked.keys += wanted


def _read(question: Question, asked: _Asked, connect: Connect) -> tuple[Features, Store]:
    if question.files:
        gates = features(question.release, question.gates)
        store = Store()
        _fill(store, question.files, question.home)
        return gates, store
    with _cluster(question, connect) as cluster:
        live = Live.of(cluster)
        gates = features(question.release or live.release(), question.gates)
        everything = not asked.keys or gates.on(_ACCOUNTING)
        named = [*asked.keys, *(naming.parse(text, question.home) for text in question.without)]
        return gates, live.store(None if everything else sorted({key.namespace for key in named if key.namespace}))


def _fill(store: Store, files: Sequence[Path], namespace: str) -> set[Key]:
    """Add what files hold; give what was added. Raises ``DragomanError`` where that is nothing."""
    added, seen = set(), set()
    for manifest in manifests.read(files):
        key = store.add(manifest, namespace)
        seen.add(str(manifest.body["kind"]))
        if key is not None:
            added.add(key)
    if files and not added:
        raise manifests.none_of(files, sorted(KINDS), seen)
    return added


def _cluster(question: Question, connect: Connect) -> AbstractContextManager[Cluster]:
    given = question.kubeconfig, question.context, question.request_timeout
    return manifests.or_files(lambda: connect(*given))


def _change(question: Question, store: Store) -> set[Key]:
    """Make the changes of ``--without`` and ``--what-if``; give what was added."""
    for text in question.without:
        store.remove(naming.parse(text, question.home))
    return _fill(store, question.what_if, question.home)


def _pending(world: World, namespace: str | None) -> list[Key]:
    """Give the pods that wait for a node with claims, and other claims that are not allocated."""
    waiting = [
        (key, pod) for key, pod in world.pods.items() if not (pod.spec.node_name or pod.status.phase in FINISHED)
    ]
    pods = [key for key, pod in waiting if pod.spec.resource_claims or world.extended.wanted_by(pod)]
    of_pods = {Key("ResourceClaim", pod.namespace, name) for pod in pods for name in _claim_names(world, pod)}
    claims = [key for key, claim in world.claims.items() if claim.status.allocation is None and key not in of_pods]
    return sorted(key for key in [*pods, *claims] if namespace in (None, key.namespace))


def _claim_names(world: World, pod: Key) -> Iterator[str]:
    for claim in world.pods[pod].spec.resource_claims or ():
        if claim.resource_claim_name:
            yield claim.resource_claim_name
    for status in world.pods[pod].status.resource_claim_statuses or ():
        if status.resource_claim_name:
            yield status.resource_claim_name


def _compared(reports: Sequence[Report], before: Store, asked: _Asked, world: World) -> list[Report]:
    """Add what becomes of each subject without the changes, where it is there without them."""
    states: dict[Key, State] = {}
    for report in reports:
        if report.key in before.objects:
            states[report.key] = explain(world, before, report.key, new=report.key in asked.new, nearest=0).state
    return [replace(report, before=states.get(report.key)) for report in reports]
