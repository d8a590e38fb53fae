"""Random small worlds for the property tests: whole amounts, bare names, allocated claims that are consistent."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from .clusters import Json, cel, claim, consumes, counter_set, device, held, shared, slice_, sub

KINDS = ["x", "y"]
POLICY: Json = {"default": "1", "validRange": {"min": "1", "step": "2"}}


@dataclass(frozen=True)
class World:
    """What a test allocates from, and for."""

    slices: list[Json]
    allocated: list[Json]
    claims: list[Json]


@st.composite
def devices(draw: st.DrawFn, prefix: str, *, counted: bool) -> list[Json]:
    """Devices of one slice."""
    found = []
    for index in range(draw(st.integers(1, 4))):
        one = device(f"{prefix}{index}", attrs={"kind": draw(st.sampled_from(KINDS)), "numa": draw(st.integers(0, 2))})
        if draw(st.booleans()):
            one["capacity"] = {"c": {"value": draw(st.sampled_from(["2", "4", "7"]))}}
            if draw(st.booleans()):
                one["allowMultipleAllocations"] = True
                if draw(st.booleans()):
                    one["capacity"]["c"]["requestPolicy"] = POLICY
        if counted and draw(st.booleans()):
            one["consumesCounters"] = [consumes("set", m=str(draw(st.integers(1, 3))))]
        if draw(st.integers(0, 5)) == 0:
            one["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        found.append(one)
    return found


@st.composite
def pools(draw: st.DrawFn) -> list[Json]:
    """Slices of one or two pools."""
    found = []
    for name in ["p1", "p2"][: draw(st.integers(1, 2))]:
        counted = draw(st.booleans())
        count = 2 if counted else 1
        found.append(slice_(f"s-{name}", *draw(devices(name, counted=counted)), pool=name, count=count))
        if counted:
            sets = [counter_set("set", m=str(draw(st.integers(2, 6))))]
            found.append(slice_(f"c-{name}", pool=name, count=count, sharedCounters=sets))
    return found


@st.composite
def bodies(draw: st.DrawFn, name: str) -> Json:
    """A subrequest; ``kind_`` tells the checker what its selector asks for."""
    body = sub(name, draw(st.integers(1, 2)), cls="any")
    kind = draw(st.sampled_from([None, *KINDS]))
    if kind is not None:
        body |= {"kind_": kind, "selectors": cel(f'device.attributes["driver-a"].kind == "{kind}"')}
    if draw(st.booleans()):
        body["tolerations"] = [{"key": "k", "operator": "Exists"}]
    if draw(st.integers(0, 2)) == 0:
        body["capacity"] = {"requests": {"c": str(draw(st.integers(1, 4)))}}
    return body


@st.composite
def claims(draw: st.DrawFn, name: str) -> Json:
    """A claim of one to three requests."""
    requests: list[Json] = []
    for index in range(draw(st.integers(1, 3))):
        if draw(st.integers(0, 2)) == 0:
            requests.append({"name": f"r{index}", "firstAvailable": [draw(bodies("a")), draw(bodies("b"))]})
        else:
            body = draw(bodies(f"r{index}"))
            requests.append({"name": body.pop("name"), "exactly": body})
    constraints = []
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["matchAttribute", "distinctAttribute"]))
        constraints.append({kind: "driver-a/numa", **({"requests": ["r0"]} if draw(st.booleans()) else {})})
    return claim(*requests, name=name, constraints=constraints)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Slices, perhaps a device in use, one to three claims."""
    slices = draw(pools())
    allocated = []
    first = slices[0]["spec"]["devices"][0]
    if draw(st.booleans()) and "consumesCounters" not in first:
        if first.get("allowMultipleAllocations"):
            allocated.append(shared(f"p1/{first['name']}", {"c": "1"}))
        else:
            allocated.append(held(f"p1/{first['name']}"))
    return World(slices, allocated, [draw(claims(f"c{index}")) for index in range(draw(st.integers(1, 3)))])
