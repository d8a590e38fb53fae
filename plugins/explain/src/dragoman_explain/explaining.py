"""From a subject to its report."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_allocator.errors import AllocatorError
from dragoman_explain.allocated import evicted, held
from dragoman_explain.naming import short
from dragoman_explain.nodes import Trying, at_all
from dragoman_explain.report import NodeReport, Report, State
from dragoman_explain.store import Key, Store, Unusable
from dragoman_explain.subjects import Subject, subject
from dragoman_explain.world import World


def explain(world: World, store: Store, key: Key, *, new: bool = False, nearest: int | None = None) -> Report:
    """Explain one subject; ``nearest`` limits the devices per request and node. Raises ``Unusable``."""
    try:
        return _report(world, subject(world, store, key, new=new), nearest)
    except AllocatorError as error:
        raise Unusable(f"{short(key)} cannot be explained: {error}") from error


def _report(world: World, found: Subject, nearest: int | None) -> Report:
    wanted = [claim for claim in found.claims if claim.status.allocation is None]
    given = held(world, found)
    if found.ended:
        return Report(key=found.key, state=State.ALLOCATED, text="nothing to allocate: it has ended", held=given)
    if not wanted and not found.blocked:
        running = found.pod is None or not (found.claims or found.extended) or found.pod.spec.node_name
        if running:
            text = _allocated_text(found)
            gone = evicted(world, found)
            return Report(
                key=found.key, state=State.ALLOCATED, text=text, notes=found.notes, held=given, evictions=gone
            )
    triable = found.triable and (found.claims or found.extended)
    nodes = at_all(Trying(world, found, nearest=nearest), _devices(world)) if triable else []
    state, text = _verdict(found, nodes)
    return Report(
        key=found.key,
        state=state,
        text=text,
        notes=found.notes,
        held=given,
        evictions=evicted(world, found),
        nodes=nodes,
    )


def _allocated_text(found: Subject) -> str:
    if not (found.claims or found.extended):
        return "nothing to allocate: it has no resource claims"
    node = found.pod.spec.node_name if found.pod is not None else ""
    return f"allocated, and on node {node}" if node else "allocated"


def _verdict(found: Subject, nodes: Sequence[NodeReport]) -> tuple[State, str]:
    fits = [each for each in nodes if each.state is State.FITS]
    # The scheduler ends its attempt at such an error, whatever it found on other nodes.
    fatal = next((each for each in nodes if each.fatal), None)
    if found.blocked:
        then = f"; once that is put right, it would fit on {_on(fits, nodes)}" if fits and fatal is None else ""
        why = [_without_subject(found.key, each) for each in dict.fromkeys(found.blocked)]
        return State.STUCK, f"stuck because {'; '.join(why)}{then}"
    if fatal is not None:
        return State.STUCK, f"stuck on every node because {_without_subject(found.key, fatal.text)}"
    if fits:
        return State.FITS, f"would be allocated on {_on(fits, nodes)}"
    if not nodes:
        return State.STUCK, "stuck because there is no node for it"
    if any(each.state is State.UNDECIDED for each in nodes):
        return State.UNDECIDED, "undecided: the search is too large on some nodes and the claims fit on no other"
    where = f"all {len(nodes)} nodes, on the nearest, {nodes[0].node}," if len(nodes) > 1 else f"node {nodes[0].node}"
    return State.STUCK, f"stuck on {where} because {nodes[0].text}"


def _without_subject(key: Key, why: str) -> str:
    name = short(key)
    return why.removeprefix(f"{name}, ").removeprefix(f"{name}: ")


def _on(fits: Sequence[NodeReport], nodes: Sequence[NodeReport]) -> str:
    if len(nodes) == 1:
        return f"node {nodes[0].node}"
    return f"{len(fits)} of {len(nodes)} nodes, first {fits[0].node}"


def _devices(world: World) -> int:
    """Count devices once for every node that looks at them."""
    return sum(len(part.spec.devices or ()) * (1 if part.spec.node_name else len(world.nodes)) for part in world.slices)
