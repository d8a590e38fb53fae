"""The ledger: lost, of a newer release, or of another driver name."""

from __future__ import annotations

import sqlite3

import pytest

from tests.e2e.trial import MakeTrial, Trial


def damage(trial: Trial) -> None:
    """Write over the ledger as a dying disk would."""
    path = trial.node.state_dir / "ledger.db"
    path.with_name("ledger.db-wal").unlink(missing_ok=True)
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)


async def refuses(trial: Trial, *words: str) -> None:
    """Check that the agent does not start, and says why in one line."""
    output = await trial.run("agent")
    assert output.code == 1
    assert [word for word in words if word not in output.lines[-1]] == [], output.err
    assert output.lines[-1].startswith("Error: ")
    assert "Traceback" not in output.err


async def test_a_corrupt_ledger_is_set_aside_and_rebuilt_under_running_pods(make_trial: MakeTrial) -> None:
    trial = await make_trial()
    trial.offer_uplink()
    await trial.start()
    for name in ("kept", "ending"):
        trial.start_pod(name, {"podIfName": "net1", "addresses": ["192.0.2.1/24"]})
    await trial.running("kept", "ending")
    await trial.attached("kept", "ending")
    links, slices = trial.pod_links("kept"), trial.slice_versions()
    rows = await trial.agent.ask("allocations")
    await trial.agent.kill()
    damage(trial)

    await trial.start()
    assert (trial.node.state_dir / "ledger.db.corrupt-1").exists()
    assert trial.pod_links("kept") == links
    assert trial.slice_versions() == slices
    assert {row["uid"]: (row["device"], row["attachment"], row["interface"]) for row in rows} == {
        row["uid"]: (row["device"], row["attachment"], row["interface"]) for row in await trial.agent.ask("allocations")
    }
    trial.delete_pod("ending")
    await trial.ended("ending")
    trial.start_pod("new")
    await trial.running("new")
    await trial.clean()
    assert trial.slice_versions() == slices


async def test_a_ledger_of_a_newer_release_is_refused(make_trial: MakeTrial) -> None:
    trial = await make_trial(logging={"level": "info"})
    await trial.start()
    assert await trial.agent.terminate() == 0
    database = sqlite3.connect(trial.node.state_dir / "ledger.db")
    database.execute(f"PRAGMA user_version={2 << 16}")
    database.close()
    before = (trial.node.state_dir / "ledger.db").read_bytes()
    await refuses(trial, "ledger.db", "schema 2.0", "newer")
    assert (trial.node.state_dir / "ledger.db").read_bytes() == before


async def test_another_driver_name_is_refused_while_claims_are_prepared(make_trial: MakeTrial) -> None:
    trial = await make_trial(logging={"level": "info"})
    await trial.start()
    trial.start_pod("kept")
    await trial.running("kept")
    assert await trial.agent.terminate() == 0
    trial.configure(driverName="other.dragoman.dev")
    await refuses(trial, "other.dragoman.dev", "net.dragoman.dev", "set it back")
    trial.configure(driverName="net.dragoman.dev")
    await trial.start()
    await trial.clean()
    assert await trial.agent.terminate() == 0
    trial.configure(driverName="other.dragoman.dev")
    await trial.start()
    assert {slice_["spec"]["driver"] for slice_ in trial.slices()} >= {"other.dragoman.dev"}


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_state_folder_that_cannot_be_used_is_told_in_one_line(make_trial: MakeTrial, what: str) -> None:
    trial = await make_trial(logging={"level": "info"})
    if what == "file":
        trial.node.state_dir.rmdir()
        trial.node.state_dir.write_text("")
    else:
        (trial.node.state_dir / "ledger.db").mkdir()
    await refuses(trial, str(trial.node.state_dir))
