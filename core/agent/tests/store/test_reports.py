"""Reports of unhealthy devices survive in the ledger's facts."""

from __future__ import annotations

from dragoman.store.reports import KeptReports
from dragoman_hookspecs import Health, HealthReport


def test_what_is_saved_is_loaded_again() -> None:
    facts: dict[str, str] = {}
    kept = KeptReports(facts.get, facts.__setitem__)
    assert kept.load() == []
    reports = [("nic", HealthReport(device="nic0", health=Health.UNHEALTHY, message="no carrier", timeout=12.5))]
    kept.save(reports)
    assert KeptReports(facts.get, facts.__setitem__).load() == reports


def test_what_cannot_be_read_is_nothing() -> None:
    assert KeptReports(lambda _: '{"of": "a newer release"}', lambda *_: None).load() == []
