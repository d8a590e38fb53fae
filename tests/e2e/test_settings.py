"""Settings that change while the agent runs, and what the commands tell of them."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest
import yaml

from dragoman.control.messages import RemoteError
from tests.e2e import objects
from tests.e2e.trial import MakeTrial, Output, Trial, eventually, names

POOLS = [{"name": "all", "filter": {"deviceManagers": ["dummy"]}}]


def one_line(output: Output, *words: str) -> bool:
    """Tell whether a command failed with one clear line that has these words."""
    return output.code == 1 and len(output.lines) == 1 and all(word in output.err for word in words)


def pool_of(device: dict[str, object]) -> object:
    attributes = device["attributes"]
    assert isinstance(attributes, dict)
    return attributes.get("pool", {}).get("string")


async def reloaded(trial: Trial) -> None:
    trial.agent.send(signal.SIGHUP)


async def test_a_reload_changes_pools_and_devices_and_withdraws_nothing_that_is_prepared(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    for name in ("a", "b", "c", "d"):
        trial.start_pod(name, {"podIfName": "net1"})
    await trial.running("a", "b", "c", "d")
    used = {name: trial.device_of(name) for name in ("a", "b", "c", "d")}
    last = next(name for name, device in used.items() if device == "dummy3")
    for name in used.keys() - {last}:
        trial.delete_pod(name)
    await trial.ended(*(used.keys() - {last}))

    trial.configure(deviceManagerConfigs={"dummy": trial.dummies(2)}, pools=POOLS)
    await reloaded(trial)
    await trial.until(lambda: set(trial.published()) == {"dummy0", "dummy1", "dummy3"}, "two devices are withdrawn")
    assert {name: pool_of(device) for name, device in trial.published().items()} == {
        "dummy0": "all",
        "dummy1": "all",
        "dummy3": None,  # pinned to the pool in which it was allocated, which was none
    }
    assert "net1" in trial.pod_links(last)
    await trial.agent.kill()
    await trial.start()
    assert "net1" in trial.pod_links(last)
    trial.delete_pod(last)
    await trial.ended(last)
    await trial.until(lambda: set(trial.published()) == {"dummy0", "dummy1"}, "the last one goes when it is free")
    trial.configure(deviceManagerConfigs={"dummy": trial.dummies(3)}, pools=[])
    await reloaded(trial)
    await trial.until(lambda: set(trial.published()) == {"dummy0", "dummy1", "dummy2"}, "there are more again")
    assert pool_of(trial.published()["dummy0"]) is None
    await trial.clean()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pools": [{"name": "all", "fliter": {}}]}, "pools[0].fliter"),
        ({"deviceManagerConfigs": {"dummy": {"count": -1}}}, "deviceManagerConfigs.dummy.count"),
        ({"deviceManagerConfigs": {"dummy": {"counts": 1}}}, "deviceManagerConfigs.dummy.counts"),
    ],
)
async def test_a_bad_file_changes_nothing_and_is_told(trial: Trial, change: dict[str, object], words: str) -> None:
    good, published = trial.node.settings_file.read_text(), trial.published()
    try:
        trial.configure(**change)
        await reloaded(trial)

        async def is_told() -> bool:
            return words in (await trial.agent.ask("status"))["settings"]["error"]

        await eventually(is_told, "the status tells it")
        assert trial.published() == published
        output = await trial.run("config", "check", str(trial.node.settings_file))
        assert output.code == 1
        assert words in output.out
    finally:
        trial.node.settings_file.write_text(good)
    await reloaded(trial)

    async def is_well() -> bool:
        return not (await trial.agent.ask("status"))["settings"]["error"]

    await eventually(is_well, "good settings end it")


async def test_many_reloads_at_once_end_with_the_last_settings(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    for count in (7, 1, 9, 3, 8):
        trial.configure(deviceManagerConfigs={"dummy": trial.dummies(count)})
        await reloaded(trial)
    trial.start_pod("served")
    await trial.running("served")
    await trial.until(lambda: len(trial.published()) == 8, "the last settings are in force")
    await trial.clean()
    assert len(trial.published()) == 8


async def test_slices_are_withdrawn_when_asked_for_and_not_beside_an_agent(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    slices = trial.slice_versions()
    refused = await trial.run("agent", "withdraw")
    assert one_line(refused, "an agent runs", "stop it"), refused
    assert trial.slice_versions() == slices
    assert await trial.agent.terminate() == 0
    output = await trial.run("agent", "withdraw")
    assert (output.code, output.err) == (0, "")
    assert trial.slices() == []


async def test_what_needs_a_restart_is_told_and_does_not_come_half(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    await trial.start()
    published, versions = trial.published(), trial.slice_versions()
    trial.configure(driverName="other.dragoman.dev", nodeName="elsewhere")
    await reloaded(trial)

    async def is_told() -> bool:
        return set((await trial.agent.ask("status"))["settings"]["needRestart"]) == {"driverName", "nodeName"}

    await eventually(is_told, "the status names them")
    status = await trial.agent.ask("status")
    assert (status["driver"], status["node"]) == ("net.dragoman.dev", "sandbox")
    trial.start_pod("served")
    await trial.running("served")
    assert (trial.published(), trial.slice_versions()) == (published, versions)


async def test_the_level_of_the_log_can_be_changed(make_trial: MakeTrial) -> None:
    trial = await make_trial(logging={"level": "error"})
    await trial.start()
    before = trial.agent.log.stat().st_size
    trial.configure(logging={"level": "debug", "format": "json"})
    await reloaded(trial)
    await eventually(lambda: trial.agent.log.stat().st_size > before, "the log speaks")
    lines = trial.agent.log.read_bytes()[before:].decode().splitlines()
    assert {"time", "level", "message", "claim", "device", "plugin", "request"} <= json.loads(lines[0]).keys()


async def test_the_environment_wins_and_is_named(trial: Trial) -> None:
    rows = {row["path"]: row for row in json.loads((await trial.run("config", "show", "-o", "json")).out)}
    assert rows["nodeName"]["origin"] == str(trial.node.settings_file)
    assert rows["nri.index"]["origin"] == "defaults"
    output = await trial.run("config", "show", "-o", "json", DRAGOMAN_NRI__INDEX="77")
    rows = {row["path"]: row for row in json.loads(output.out)}
    assert rows["nri.index"]["value"] == "77"
    assert "DRAGOMAN_NRI__INDEX" in rows["nri.index"]["origin"]
    bad = await trial.run("config", "show", DRAGOMAN_NRI__INDEX="many")
    assert one_line(bad, "nri.index", "DRAGOMAN_NRI__INDEX"), bad


async def test_shown_settings_are_a_settings_file(trial: Trial) -> None:
    shown = await trial.run("config", "show", "-o", "yaml")
    again = trial.node.folder / "again.yaml"
    again.write_text(shown.out)
    checked = await trial.run("config", "check", str(again), str(trial.node.settings_file))
    assert (checked.code, checked.out) == (0, "")
    assert yaml.safe_load(shown.out)["nodeName"] == "sandbox"
    unknown = await trial.run("config", "check", "/does/not/exist.yaml")
    assert unknown.code == 2
    assert "Traceback" not in unknown.err


async def test_commands_tell_what_the_agent_knows_as_table_and_as_json(trial: Trial) -> None:
    trial.start_pod("red", {"podIfName": "net1"})
    await trial.running("red")
    device, claim = trial.device_of("red"), trial.claim_of("red")["metadata"]
    commands = ("devices", "allocations", "plugins")
    found, (row,), _ = await asyncio.gather(*map(trial.show, commands))
    views = {view["device"]: view for view in found}
    assert names([{"name": name} for name in views]) == set(trial.published())
    assert views[device]["holders"] == [f"default/{claim['name']}"]
    assert views["uplink0-mv"]["capacity"] == {"links": {"total": "4", "free": "4"}}
    assert (row["uid"], row["device"], row["interface"], row["pods"]) == (claim["uid"], device, "net1", ["red"])
    *tables, status = await asyncio.gather(*map(trial.run, commands), trial.run("agent", "status"))
    for table in tables:
        assert (table.code, table.err) == (0, "")
        assert table.out.splitlines()[0].isupper()
    assert device in tables[0].out
    assert claim["name"] in tables[1].out
    assert status.code == 0
    assert json.loads(status.out)["ready"]


async def test_a_claim_can_be_given_up_and_a_running_pod_keeps_its_device_unless_that_is_forced(trial: Trial) -> None:
    trial.start_pod("red", {"podIfName": "net1"})
    await trial.running("red")
    unknown = await trial.run("allocations", "release", "no-such-uid")
    assert one_line(unknown, "no-such-uid", "dragoman allocations"), unknown
    device, claim = trial.device_of("red"), trial.claim_of("red")["metadata"]
    name = f"default/{claim['name']}"
    for named in (claim["uid"], name):
        refused = await trial.run("allocations", "release", named)
        assert one_line(refused, name, device, "pod default/red", "delete the pod", "--force"), refused
    assert "net1" in trial.pod_links("red")
    released = await trial.run("allocations", "release", "--force", name)
    assert (released.code, released.err) == (0, "")
    assert released.out.splitlines() == [
        f"released {device} of claim {name}",
        f"pod default/red runs on without {device}",
    ]
    assert await trial.show("allocations") == []
    assert "net1" not in trial.pod_links("red")
    await trial.until(lambda: not trial.claim_of("red")["status"].get("devices"), "the status is taken back")


async def test_an_older_command_line_is_refused_too_and_told_as_before_what_was_released(trial: Trial) -> None:
    trial.start_pod("red", {"podIfName": "net1"})
    await trial.running("red")
    uid = trial.claim_of("red")["metadata"]["uid"]
    with pytest.raises(RemoteError, match="delete the pod first"):
        await trial.agent.ask("release", {"uid": uid})
    device = trial.device_of("red")
    assert (await trial.agent.ask("release", {"uid": uid, "force": True}))["released"] == [device]
    assert (await trial.agent.ask("release", {"uid": uid}))["released"] == []


async def test_without_an_agent_every_command_says_so_in_one_line(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    commands = (
        ("devices",),
        ("devices", "-o", "json"),
        ("allocations",),
        ("allocations", "-o", "json"),
        ("allocations", "release", "uid"),
        ("agent", "status"),
    )
    for output in await asyncio.gather(*(trial.run(*command) for command in commands)):
        assert one_line(output, "control.sock", "is dragoman agent running?"), output
    plugins = await trial.run("plugins", "-o", "json")
    assert plugins.code == 0
    assert {plugin["name"] for plugin in json.loads(plugins.out)} >= {"dummy", "macvlan", "metadata"}
    missing = await trial.run("--config", "/does/not/exist.yaml", "agent")
    assert one_line(missing, "/does/not/exist.yaml"), missing


async def test_a_signal_writes_all_stacks_to_the_log(trial: Trial) -> None:
    trial.odd.play(setup_device="block")
    trial.start_pod("odd", request=objects.request(device_class_name="odd"))
    await eventually(lambda: trial.odd.calls("setup_device") > 0, "a hook hangs")
    before = trial.agent.log.stat().st_size
    trial.agent.send(signal.SIGUSR1)
    await eventually(lambda: b"scripted.py" in trial.agent.log.read_bytes()[before:], "the hanging hook is shown")
    await trial.agent.ready()


async def test_the_log_tells_the_way_of_a_device_with_claim_plugin_pod_and_request(make_trial: MakeTrial) -> None:
    trial = await make_trial(logging={"level": "info", "format": "json"})
    await trial.start()
    trial.start_pod("red", {"podIfName": "net1"})
    await trial.running("red")
    uid, device = trial.claim_of("red")["metadata"]["uid"], trial.device_of("red")
    trial.delete_pod("red")
    await trial.ended("red")
    assert await trial.agent.terminate() == 0
    records = [json.loads(line) for line in trial.agent.log.read_text().splitlines()]
    about = [record for record in records if uid in record["claim"]]
    of_device = [record for record in about if record["device"] == device]
    assert [(r["plugin"], r["pod"], r["request"].partition("-")[0]) for r in of_device] == [
        ("dragoman-dummy", "default/red", "run"),
        ("dragoman-dummy", "default/red", "stop"),
    ]
    assert {r["request"].partition("-")[0] for r in about} == {"prepare", "run", "stop", "unprepare"}
    calls = [r["message"] for r in records if r["request"] == about[0]["request"]]
    assert len(calls) == 3  # begin, what became of the claim, end with the time that it took
