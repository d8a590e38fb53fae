"""Plugins of somebody else that do what they must not: the others, and the agent, go on."""

from __future__ import annotations

import shutil
import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.e2e import objects, thirdparty
from tests.e2e.trial import MakeTrial, Trial, eventually
from tests.e2e.workplace import workplace

LIMITS = dict.fromkeys(("setupDevice", "attachDevice", "detachDevice", "freeDevice", "discoverDevices"), 2.0)
QUIET = {"logging": {"level": "info"}}
BROKEN = {
    "broken": "plugin = 1 / 0\n",
    "leaving": "import sys\n\nsys.exit('no licence')\n",
    "misspelt": (
        "from dragoman_hookspecs import DeviceManager, hookimpl\n"
        "class Manager:\n"
        "    def __init__(self, context, settings): ...\n"
        "    @hookimpl\n"
        "    def setup_devise(self, request): ...\n"
        "plugin = DeviceManager(type='misspelt', settings_key='misspelt', create=Manager)\n"
    ),
}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def hasty() -> AsyncIterator[Trial]:
    """A node whose agent waits but shortly for hooks."""
    async with workplace() as make:
        trial = await make(limits=LIMITS)
        trial.script("odd")
        await trial.start()
        yield trial


@pytest_asyncio.fixture(loop_scope="session")
async def limited(hasty: Trial) -> AsyncIterator[Trial]:
    yield hasty
    await hasty.clean()


async def statuses(trial: Trial) -> dict[str, dict[str, str]]:
    """Give what ``dragoman plugins`` tells, by name."""
    return {status["name"]: status for status in await trial.show("plugins")}


async def state_of(trial: Trial, name: str) -> str:
    found = {status["name"]: status["state"] for status in await trial.agent.ask("plugins")}
    return str(found[name])


async def test_plugins_that_cannot_be_loaded_are_named_and_left_out(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    folder = trial.node.folder / "site"
    for name, source in BROKEN.items():
        thirdparty.install(folder, name, source)
    thirdparty.install(folder, "future", "plugin = None\n", requires="dragoman-hookspecs>=7")
    trial.environ.update(thirdparty.path(folder))
    await trial.start()
    trial.start_pod("served")
    await trial.running("served")
    told = await statuses(trial)
    assert {name: told[name]["state"] for name in (*BROKEN, "future", "dummy")} == {
        "broken": "failed",
        "leaving": "failed",
        "misspelt": "failed",
        "future": "incompatible",
        "dummy": "loaded",
    }
    assert "ZeroDivisionError" in told["broken"]["reason"]
    assert "SystemExit" in told["leaving"]["reason"]
    assert "no licence" in told["leaving"]["reason"]
    assert "setup_devise" in told["misspelt"]["reason"]
    assert "setup_device" in told["misspelt"]["reason"]
    assert ">=7" in told["future"]["reason"]
    assert told["broken"]["distribution"] == "dragoman-broken"
    table = await trial.run("plugins")
    assert table.code == 0
    assert table.err == ""


async def test_the_agent_does_not_start_without_a_plugin_that_is_required(make_trial: MakeTrial) -> None:
    trial = await make_trial(**QUIET, requiredPlugins=["dragoman-absent", "dragoman-broken", "dragoman-dummy"])
    folder = trial.node.folder / "site"
    thirdparty.install(folder, "broken", BROKEN["broken"])
    trial.environ.update(thirdparty.path(folder))
    for arguments in (("agent",), ("plugins",)):
        output = await trial.run(*arguments)
        assert output.code == 1
        error = output.lines[-1]
        assert "plugin dragoman-absent is required and not installed" in error
        assert "dragoman-broken is required and not loaded" in error
        assert "ZeroDivisionError" in error
        assert "dragoman-dummy" not in error
        assert "Traceback" not in output.err


@pytest.mark.parametrize("versions", [["v1", "v2"], []])
async def test_the_agent_does_not_start_with_versions_of_metadata_that_do_not_exist(
    make_trial: MakeTrial, versions: object
) -> None:
    trial = await make_trial(**QUIET, pluginConfigs={"metadata": {"versions": versions}})
    output = await trial.run("agent")
    assert output.code == 1
    assert "pluginConfigs.metadata.versions" in output.lines[-1]
    assert "Traceback" not in output.err


PARTS = [
    (hook, part)
    for hook in ("setup_device", "attach_device", "detach_device", "free_device")
    for part in ("block", "raise", "exit", "garbage")
    # free_device has no result to be wrong; who leaves on the way out is caught as on the way in.
    if (hook, part) not in {("free_device", "garbage"), ("free_device", "exit"), ("detach_device", "exit")}
]


@pytest.mark.parametrize(("hook", "part"), PARTS)
async def test_a_hook_that_misbehaves_costs_its_own_pod_only(limited: Trial, hook: str, part: str) -> None:
    trial = limited
    trial.odd.play(**{hook: part})
    trial.start_pod("odd", request=objects.request(device_class_name="odd"))
    trial.start_pod("even", {"podIfName": "net1"})
    await trial.running("even")
    if hook == "setup_device":
        await told(trial, "FailedPrepare", hook)
    elif hook == "attach_device":
        await told(trial, "DeviceNotAttached", hook)
        assert "running" not in trial.container("odd")
    else:
        await trial.running("odd")
        trial.delete_pod("odd")
        await told(trial, "FailedUnprepare", hook)
        assert not trial.guards_of("odd")
    trial.start_pod("other")
    await trial.running("other")
    trial.odd.play()
    if hook in ("setup_device", "attach_device"):
        await trial.running("odd")
    else:
        await trial.ended("odd")


async def told(trial: Trial, reason: str, hook: str) -> None:
    """Wait for the event that names hook, plugin and device, and for the claim where it is about one."""
    # On a slow machine another hook may have missed its limit before.
    await trial.until(lambda: any(hook in message for message in trial.events("odd", reason)), f"event {reason}")
    message = next(message for message in trial.events("odd", reason) if hook in message)
    device = trial.device_of("odd")
    claim = trial.claim_of("odd")["metadata"]["name"]
    assert [word for word in ("dragoman-odd", device, claim) if word not in message] == [], message


async def test_a_scan_that_fails_or_hangs_withdraws_nothing(limited: Trial) -> None:
    trial, published = limited, limited.published()
    for part in ("raise", "garbage", "exit", "block"):
        trial.odd.play(discover_devices=part)
        before = trial.odd.calls("discover_devices")
        trial.start_pod(f"hint-{part}")  # its link is a change of the host, which managers take for a hint
        await trial.running(f"hint-{part}")
        await eventually(lambda before=before: trial.odd.calls("discover_devices") > before, "odd is scanned")  # type: ignore[misc]  # mypy has no types for defaults of lambdas

        async def is_degraded() -> bool:
            notes = {view["device"]: view["note"] for view in await trial.agent.ask("devices")}
            return "discover_devices" in notes["odd0"] and "dragoman-odd" in notes["odd0"]

        await eventually(is_degraded, "the devices are marked")
        assert trial.published() == published
        trial.start_pod(f"odd-{part}", request=objects.request(device_class_name="odd"))
        await trial.running(f"odd-{part}")
        trial.delete_pod(f"odd-{part}")
        trial.delete_pod(f"hint-{part}")
        await trial.ended(f"odd-{part}", f"hint-{part}")
        trial.odd.play()


async def test_an_unprepare_waits_for_a_setup_that_hangs(limited: Trial) -> None:
    trial = limited
    trial.odd.play(setup_device="block")
    freed = trial.odd.calls("free_device")
    trial.start_pod("odd", request=objects.request(device_class_name="odd"))
    await told(trial, "FailedPrepare", "setup_device")
    assert await state_of(trial, "odd") == "degraded"
    assert "setup_device" in (await statuses(trial))["odd"]["reason"]
    trial.delete_pod("odd")
    await trial.until(lambda: bool(trial.events("odd", "FailedUnprepare")), "the unprepare does not succeed")
    assert trial.odd.calls("free_device") == freed
    trial.odd.play()
    await trial.ended("odd")
    assert trial.odd.calls("free_device") > freed
    assert await state_of(trial, "odd") == "loaded"


async def test_a_pod_that_is_deleted_while_its_device_hangs_on_the_way_in_leaves_nothing(limited: Trial) -> None:
    trial = limited
    trial.odd.play(attach_device="block")
    trial.start_pod("odd", request=objects.request(device_class_name="odd"))
    await trial.until(lambda: bool(trial.waits("odd")), "its container waits")
    trial.delete_pod("odd")
    await trial.until(lambda: bool(trial.events("odd", "FailedUnprepare")), "the unprepare does not succeed")
    trial.odd.play()
    await trial.ended("odd")


async def test_a_device_that_cannot_be_brought_back_is_not_made_twice(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.script("odd")
    await trial.start()
    trial.start_pod("odd", {"podIfName": "net1"}, request=objects.request(device_class_name="odd"))
    await trial.running("odd")
    trial.odd.play(detach_device="refuse")
    runtime, old = trial.node.runtime, trial.node.pods.sandbox("odd")
    new = await runtime.run_sandbox(uid=old.uid, namespace=old.namespace, name=old.name)
    assert "net1" in trial.pod_links("odd")  # it should be in the new sandbox, and the old one does not give it away
    await trial.agent.kill()
    await trial.start()
    assert trial.device_of("odd") not in trial.host_links()
    trial.odd.play()
    await eventually(lambda: trial.pod_links("odd") == {}, "the old sandbox gives it away")
    await runtime.stop_sandbox(new)
    await runtime.remove_sandbox(new)
    await trial.clean()


async def test_devices_of_a_plugin_that_was_uninstalled_can_be_given_up(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.script("odd")
    await trial.start()
    trial.start_pod("odd", {"podIfName": "net1"}, request=objects.request(device_class_name="odd"))
    await trial.running("odd")
    published = trial.published()
    await trial.agent.kill()
    shutil.rmtree(trial.node.folder / "site" / "dragoman_odd-1.2.3.dist-info")
    await trial.start()
    assert "net1" in trial.pod_links("odd")
    assert (await statuses(trial))["odd"]["state"] == "not-available"
    assert trial.published().keys() == published.keys() - {"odd0", "odd1"} | {trial.device_of("odd")}
    uid = trial.claim_of("odd")["metadata"]["uid"]
    trial.delete_pod("odd")
    await trial.until(lambda: bool(trial.events("odd", "FailedUnprepare")), "the unprepare names what is missing")
    message = trial.events("odd", "FailedUnprepare")[0]
    assert "dragoman-odd 1.2.3" in message
    assert f"dragoman allocations release {uid}" in message
    (row,) = await trial.show("allocations")
    assert "dragoman-odd" in row["failure"]
    released = await trial.run("allocations", "release", uid)
    assert (released.code, released.err) == (0, "")
    assert released.out == f"released {row['device']} of claim {row['claim']}\n"
    await trial.ended("odd")
    assert await trial.agent.ask("allocations") == []
    remaining = published.keys() - {"odd0", "odd1"}
    await trial.until(lambda: trial.published().keys() == remaining, "what was held is withdrawn when it is free")


async def test_a_plugin_that_is_switched_off_serves_what_it_has_until_that_is_free(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    odd = trial.script("odd")
    await trial.start()
    trial.start_pod("odd", {"podIfName": "net1"}, request=objects.request(device_class_name="odd"))
    await trial.running("odd")
    sections = trial.settings()["deviceManagerConfigs"]
    trial.configure(deviceManagerConfigs={**sections, "odd": {**odd.section(), "enabled": False}})
    trial.agent.send(signal.SIGHUP)
    await trial.until(lambda: "odd1" not in trial.published(), "what is free is withdrawn")
    assert "odd0" in trial.published()
    assert await state_of(trial, "odd") == "disabled"
    trial.delete_pod("odd")
    await trial.ended("odd")
    await trial.until(lambda: "odd0" not in trial.published(), "the other one goes when it is free")
    await trial.clean()


async def test_the_agent_ends_although_a_plugin_hangs(make_trial: MakeTrial) -> None:
    trial = await make_trial(limits={"stop": 0.3})
    script = trial.script("odd")
    await trial.start()
    script.play(stop="block", discover_devices="block")
    assert await trial.agent.terminate(limit=25.0) == 0  # the scan alone may take 30
