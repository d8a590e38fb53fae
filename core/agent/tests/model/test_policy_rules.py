"""Request policies are judged as the allocator's validation does, which is held to that of Kubernetes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.model.capacities import fit_capacity
from dragoman_allocator.features import Features
from dragoman_allocator.quantity import parse
from dragoman_allocator.validation import validate
from dragoman_hookspecs import Capacity, JsonObject, RequestPolicy

AMOUNTS = ["-1", "0", "1n", "1m", "500m", "1", "1000m", "1500m", "2", "2500m", "3", "4", "8Ei", "9E"]
OFF = Features.of({"DRAConsumableCapacity": True, "DRAFractionalCapacityRange": False})
ON = Features.of({"DRAConsumableCapacity": True, "DRAFractionalCapacityRange": True})

one_of = st.sampled_from(AMOUNTS)
# What ascends is often taken, what is drawn at random hardly ever.
ascending = st.lists(one_of, min_size=1, max_size=4).map(lambda amounts: sorted(amounts, key=AMOUNTS.index))
ranges = st.builds(
    lambda bounds, step: RequestPolicy(
        minimum=bounds[0], default=bounds[len(bounds) // 2], maximum=bounds[-1], step=step
    ),
    ascending,
    one_of | st.none(),
)
open_ranges = st.builds(RequestPolicy, minimum=one_of, default=one_of, step=one_of | st.none())
choices = st.builds(
    lambda values, default: RequestPolicy(valid_values=tuple(values), default=default or values[0]),
    ascending | st.lists(one_of, min_size=1, max_size=3),
    one_of | st.none(),
)
anything = st.builds(
    RequestPolicy,
    default=one_of | st.none(),
    valid_values=st.just(()) | st.lists(one_of, max_size=2).map(tuple),
    minimum=one_of | st.none(),
    maximum=one_of | st.none(),
    step=one_of | st.none(),
)


def sent(policy: RequestPolicy) -> JsonObject:
    bounds = {"min": policy.minimum, "max": policy.maximum, "step": policy.step}
    given = {name: text for name, text in bounds.items() if text is not None}
    members = {"default": policy.default, "validValues": list(policy.valid_values), "validRange": given}
    return {name: member for name, member in members.items() if member}


def is_taken(value: str, policy: RequestPolicy, features: Features) -> bool:
    capacity = {"bw": {"value": value, "requestPolicy": sent(policy)}}
    spec = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a", "allowMultipleAllocations": True, "capacity": capacity}],
    }
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    return not validate({**kind, "spec": spec}, features=features)


@settings(derandomize=True, max_examples=400)
@given(one_of, ranges | open_ranges | choices | anything)
def test_what_the_api_refuses_is_dropped_and_what_it_takes_is_kept_with_fractions_off_and_on(
    value: str, policy: RequestPolicy
) -> None:
    kept = fit_capacity({"bw": Capacity(value=value, policy=policy)}, shareable=True, room=1, warn=lambda *_: None)
    taken = is_taken(value, policy, OFF) and is_taken(value, policy, ON)
    if taken and policy.minimum and policy.default and parse(policy.default) > parse(value):
        taken = False  # the API takes it, but nobody who asks for no amount would ever get one
    assert (kept["bw"].policy is not None) == taken
