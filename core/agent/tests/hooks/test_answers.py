"""What the facade hands on: answers, the plugin's own errors, and faults of the plugin named as such."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from loguru import logger

from dragoman.hooks import PluginFault, PluginMissing
from dragoman.plugins import Sections
from dragoman_hookspecs import (
    Attached,
    ContainerEdits,
    Device,
    DeviceError,
    DragomanError,
    InPlace,
    InvalidConfig,
    Inventory,
    LinkMissing,
    Metadata,
    MetadataClaim,
    Netns,
    Prepared,
    Recovered,
    Recovery,
    WrittenMetadata,
)

NETNS = Netns(path="/run/netns/x", cookie="1:2")
CLAIM = MetadataClaim(uid="uid-1", namespace="ns", name="claim")


def raiser(error: BaseException) -> Any:
    def hook(_request: Any) -> Any:
        raise error

    return hook


@pytest.mark.parametrize("inline", [False, True], ids=["threads", "inline"])
async def test_answers_and_requests_go_through_unchanged(inline: bool, make: Any, alloc: Any, record: Any) -> None:
    node = make(dummy="full", inline=inline)
    inventory = Inventory(devices=(Device(name="a", identity="b", attributes={"pci": "0000:01:00.0"}),))
    prepared = Prepared(state={"a": [1, {"b": None}]}, target=InPlace(name="eth0"))
    attached = Attached(interface="net1", ips=("10.0.0.1/24",))
    node.script("dummy", "discover_devices", lambda _: inventory)
    node.script("dummy", "setup_device", lambda request: prepared if request.plan == {"p": 1} else None)
    node.script("dummy", "attach_device", lambda request: attached if request.netns is NETNS else None)
    node.script("dummy", "detach_device", lambda request: {"gone": request.netns is None})
    assert await node.hooks.discover_devices("dummy") is inventory
    assert await node.hooks.setup_device("dummy", alloc(), {"p": 1}) is prepared
    assert await node.hooks.attach_device("dummy", record(), NETNS) is attached
    assert await node.hooks.detach_device("dummy", record(), None) == {"gone": True}
    await node.hooks.free_device("dummy", record())
    assert await node.hooks.recover_devices("dummy", [record(), record("b")]) == [
        Recovered(outcome=Recovery.INTACT),
        Recovered(outcome=Recovery.INTACT),
    ]


@pytest.mark.parametrize("complete", [False, True])
async def test_a_manager_hears_whether_the_records_are_all_that_there_are(
    complete: bool, make: Any, record: Any
) -> None:
    node = make(dummy="plain")
    await node.hooks.recover_devices("dummy", [record()], complete=complete)
    assert [request.complete for _, request in node.objects["dummy"].calls] == [complete]


async def test_hooks_that_are_absent_have_an_empty_answer(make: Any, alloc: Any, record: Any) -> None:
    node = make(dummy="plain")
    assert await node.hooks.check_config("dummy", alloc().device, alloc()) is None
    assert await node.hooks.plan_device("dummy", alloc()) == {}
    assert await node.hooks.device_metadata("dummy", record()) == Metadata()
    assert await node.hooks.container_edits("dummy", record()) == ContainerEdits()
    assert not node.hooks.has_health("dummy")


@pytest.mark.parametrize("error", [LinkMissing("no link"), DeviceError("busy"), DragomanError("other")])
async def test_errors_of_the_api_pass_unchanged(error: DragomanError, make: Any, record: Any) -> None:
    node = make(dummy="plain")
    node.script("dummy", "attach_device", raiser(error))
    with pytest.raises(DragomanError) as caught:
        await node.hooks.attach_device("dummy", record(), NETNS)
    assert caught.value is error


class Odd(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [KeyError("x"), SystemExit(1), Odd("odd"), RecursionError(), StopIteration(), GeneratorExit()], ids=repr
)
@pytest.mark.parametrize("inline", [False, True], ids=["threads", "inline"])
async def test_any_other_exception_is_a_fault_of_the_plugin_named_with_hook_and_device(
    error: BaseException, inline: bool, make: Any, alloc: Any
) -> None:
    node = make(dummy="plain", inline=inline)
    node.script("dummy", "setup_device", raiser(error))
    with pytest.raises(PluginFault) as caught:
        await node.hooks.setup_device("dummy", alloc("dev0"), {})
    assert "setup_device of plugin dummy of dragoman-dummy 0 for device dev0" in str(caught.value)
    assert type(error).__name__ in str(caught.value)
    assert caught.value.__cause__ is error


WRONG: dict[str, tuple[str, Any, str]] = {
    "nothing": ("setup_device", None, "must be Prepared, not NoneType"),
    "another type": ("setup_device", {"state": {}}, "must be Prepared, not dict"),
    "state that is no object": ("setup_device", Prepared(state=[]), "state: must be"),  # type: ignore[arg-type] # the fault
    "state that is not JSON": ("setup_device", Prepared(state={"a": {"b": (1,)}}), "state.a.b: is a Python tuple"),
    "state with a key that is no text": ("setup_device", Prepared(state={1: 2}), "a key that is not text: 1"),  # type: ignore[dict-item] # the fault
    "state that is NaN": ("setup_device", Prepared(state={"a": float("nan")}), "state.a: is nan"),
    "a link without identity": ("setup_device", Prepared(target="eth0"), "target"),  # type: ignore[arg-type] # the fault
    "plan": ("plan_device", ["x"], "must be a JSON object (dict), not list"),
    "plan that is not JSON": ("plan_device", {"a": object()}, "a: is a Python object"),
    "interface": ("attach_device", Attached(interface=3), "interface: must be a valid string"),  # type: ignore[arg-type] # the fault
    "addresses": ("attach_device", Attached(interface="a", ips="10.0.0.1"), "ips: must be a valid tuple"),  # type: ignore[arg-type] # the fault
    "too few recovered": ("recover_devices", [], "has 0 answers for 1 records"),
    "restored without state": (
        "recover_devices",
        [Recovered(outcome=Recovery.RESTORED)],
        "[0].prepared: must hold the new state",
    ),
    "outcome": ("recover_devices", [Recovered(outcome="intact")], "[0].outcome"),  # type: ignore[arg-type] # the fault
    "devices": ("discover_devices", Inventory(devices=("eth0",)), "devices[0]: must be an instance of Device"),  # type: ignore[arg-type] # the fault
    "device name": (
        "discover_devices",
        Inventory(devices=(Device(name=None, identity="x"),)),  # type: ignore[arg-type] # the fault
        "devices[0].name: must be a valid string",
    ),
    "check": ("check_config", "bad", "must be InvalidConfig, not str"),
}


@pytest.mark.parametrize("fault", WRONG)
async def test_a_wrong_answer_is_a_fault_of_the_plugin_and_says_what_was_expected(
    fault: str, make: Any, alloc: Any, record: Any
) -> None:
    hook, answer, expected = WRONG[fault]
    node = make(dummy="full")
    node.script("dummy", hook, lambda _: answer)
    arguments: dict[str, tuple[Any, ...]] = {
        "setup_device": (alloc(), {}),
        "plan_device": (alloc(),),
        "attach_device": (record(), NETNS),
        "recover_devices": ([record()],),
        "discover_devices": (),
        "check_config": (alloc().device, alloc()),
    }
    with pytest.raises(PluginFault) as caught:
        await getattr(node.hooks, hook)("dummy", *arguments[hook])
    assert f"{hook} of plugin dummy of dragoman-dummy 0" in str(caught.value)
    assert expected in str(caught.value)


async def test_an_attribute_that_the_api_would_refuse_does_not_cost_the_scan(make: Any) -> None:
    node = make(dummy="plain")
    inventory = Inventory(devices=(Device(name="a", identity="b", attributes={"speed": 2.5}),))  # type: ignore[dict-item] # the fault
    node.script("dummy", "discover_devices", lambda _: inventory)
    assert await node.hooks.discover_devices("dummy") is inventory


async def test_a_target_without_a_hook_that_attaches_it_is_a_fault(make: Any, alloc: Any) -> None:
    node = make(dummy="unattached")
    node.script("dummy", "setup_device", lambda _: Prepared(target=InPlace(name="eth0")))
    with pytest.raises(PluginFault, match="the plugin has no attach_device"):
        await node.hooks.setup_device("dummy", alloc(), {})


@pytest.mark.parametrize("how", ["returned", "raised"])
async def test_refused_parameters_are_an_answer_whether_returned_or_raised(how: str, make: Any, alloc: Any) -> None:
    node = make(dummy="full")
    fault = InvalidConfig.at("mtu", "too large")
    node.script("dummy", "check_config", raiser(fault) if how == "raised" else lambda _: fault)
    assert await node.hooks.check_config("dummy", alloc().device, alloc()) is fault


async def test_a_manager_that_is_not_loaded_is_named_with_what_to_do(make: Any, alloc: Any) -> None:
    node = make(dummy="plain")
    with pytest.raises(PluginMissing, match="device manager sriov is not loaded: install"):
        await node.hooks.setup_device("sriov", alloc(), {})
    with pytest.raises(PluginMissing):
        node.hooks.manager("sriov")


async def test_hooks_of_one_plugin_run_in_its_own_thread_and_scans_in_another(
    make: Any, alloc: Any, record: Any
) -> None:
    node = make(one="plain", two="plain")
    threads: dict[str, set[threading.Thread]] = {"one": set(), "two": set(), "scan": set()}

    def note(name: str, answer: Any) -> Any:
        def hook(_request: Any) -> Any:
            threads[name].add(threading.current_thread())
            return answer

        return hook

    for name in ("one", "two"):
        node.script(name, "setup_device", note(name, Prepared()))
        node.script(name, "free_device", note(name, None))
        await node.hooks.setup_device(name, alloc(), {})
        await node.hooks.free_device(name, record())
    node.script("one", "discover_devices", note("scan", Inventory(devices=())))
    await node.hooks.discover_devices("one")
    assert [len(found) for found in threads.values()] == [1, 1, 1]
    assert len(set.union(*threads.values())) == 3
    assert all(thread.daemon for found in threads.values() for thread in found)


async def test_a_record_in_the_log_carries_plugin_hook_device_claim_and_the_request_of_the_caller(
    make: Any, alloc: Any
) -> None:
    records: list[Any] = []
    sink = logger.add(lambda message: records.append(message.record), level="DEBUG")
    node = make(dummy="plain")

    def hook(_request: Any) -> Prepared:
        logger.info("inside")
        return Prepared()

    node.script("dummy", "setup_device", hook)
    with logger.contextualize(request="r1"):
        await node.hooks.setup_device("dummy", alloc("dev0", share_id="s"), {})
    node.script("dummy", "setup_device", raiser(ValueError("no")))
    with pytest.raises(PluginFault):
        await node.hooks.setup_device("dummy", alloc("dev0"), {})
    logger.remove(sink)
    inside, done, failed = (
        record for record in records if record["level"].name != "DEBUG" or "took" in record["message"]
    )
    assert inside["extra"]["request"] == "r1"
    assert {key: done["extra"][key] for key in ("plugin", "hook", "device", "claim", "request")} == {
        "plugin": "dummy",
        "hook": "setup_device",
        "device": "dev0 share s",
        "claim": "ns/claim (uid-1)",
        "request": "r1",
    }
    assert (done["level"].name, failed["level"].name) == ("DEBUG", "WARNING")
    assert "ValueError: no" in failed["message"]


async def test_every_enabled_writer_is_asked_in_order(make: Any) -> None:
    node = make(one="files", off="files", two="files", sections=Sections(others={"off": {"enabled": False}}))
    for name in ("one", "off", "two"):
        node.script(name, "write_metadata", lambda _, name=name: WrittenMetadata(cdi_devices={"net": (name,)}))
    written = await node.hooks.write_metadata(CLAIM, [])
    assert [answer.cdi_devices["net"] for answer in written] == [("one",), ("two",)]


async def test_removal_asks_every_writer_even_those_turned_off_and_raises_the_first_failure(make: Any) -> None:
    node = make(one="files", off="files", two="files", sections=Sections(others={"off": {"enabled": False}}))
    asked: list[str] = []
    for name in ("one", "off", "two"):

        def hook(_request: Any, name: str = name) -> None:
            asked.append(name)
            raise DeviceError(name)

        node.script(name, "remove_metadata", hook)
    with pytest.raises(DeviceError, match="one"):
        await node.hooks.remove_metadata("uid-1")
    assert asked == ["one", "off", "two"]


async def test_a_disabled_manager_is_listed_as_such_and_still_served(make: Any, record: Any) -> None:
    node = make(dummy="plain", sections=Sections(managers={"dummy": {"enabled": False}}))
    assert not node.hooks.manager("dummy").enabled
    await node.hooks.free_device("dummy", record())
    assert [hook for hook, _ in node.objects["dummy"].calls] == ["free_device"]
