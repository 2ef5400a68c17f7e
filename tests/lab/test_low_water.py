"""The other low-water mark on a simulated MariaDB: tried with consent, kept or dropped, and never without."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.scenarios import load_scenario
from lab.simulate import resized
from lab.simulate_loop import PolicyRun, run_policy
from tuner.records import DecisionKind, Sample, TickRecord
from tuner.settings import Mode, PolicyName, Settings

SECONDS = 9_000
"""Two hours and a half: time for one trial, and for what comes of it."""


def played(scenario: str, policy: PolicyName, seconds: int) -> tuple[PolicyRun, list[TickRecord]]:
    """Return a run of a scenario, and its records."""
    records: list[TickRecord] = []
    run = run_policy(
        resized(load_scenario(scenario), seed=1, seconds=seconds),
        Settings(mode=Mode.ACTIVE, policy=policy),
        publish=records.append,
    )
    return run, records


def marks(records: list[TickRecord]) -> set[int | None]:
    """Return the low-water marks that were read."""
    return {one.tick.reading.low_water_mark for one in records if isinstance(one.tick.reading, Sample)}


@pytest.mark.parametrize(
    ("scenario", "tried", "won"), [("mariadb-lwm0", 1_000, False), ("mariadb-lwm", 0, True)]
)
def test_with_consent_the_other_mark_is_tried_and_kept_where_it_wins(
    scenario: str, tried: int, *, won: bool
) -> None:
    """In both scenarios 0 has the more commits: 0.001 is tried and dropped, 0 is tried and kept."""
    run, records = played(scenario, "bayes-low-water", SECONDS)
    ended = [e.message for one in records for e in one.events if e.code == "trial_ended"]
    last = records[-1]
    assert isinstance(last.tick.reading, Sample)
    assert last.optimiser is not None
    assert last.optimiser.low_water is not None

    assert marks(records) == {0, 1_000}
    assert len(ended) >= 1
    assert ended[0].endswith("; won") is won
    assert last.tick.reading.low_water_mark == 0
    assert (last.optimiser.low_water.used == tried) is won
    assert run.outcome.sync_flush_seconds == 0
    assert run.outcome.stall_seconds == 0.0
    for one in records:
        names = {name for name, _ in one.decision.steps}
        assert (one.decision.kind is DecisionKind.LOW_WATER) == ("innodb_max_dirty_pages_pct_lwm" in names)
        assert len(names) <= 1 or one.decision.kind is not DecisionKind.LOW_WATER


def test_where_0_001_wins_it_is_kept() -> None:
    """A light load whose age 0 sends to the limit and back costs fewer pages at a set-point: 0.001 stays."""
    scenario = resized(load_scenario("mariadb-lwm0"), seed=1, seconds=29_000)
    light = replace(scenario.load, timeline=(replace(scenario.load.timeline[0], rate=300.0),))
    records: list[TickRecord] = []
    settings = Settings(mode=Mode.ACTIVE, policy="bayes-low-water")
    run_policy(replace(scenario, load=light), settings, publish=records.append)
    ended = [e.message for one in records for e in one.events if e.code == "trial_ended"]
    last = records[-1].tick.reading
    assert isinstance(last, Sample)

    assert len(ended) == 1
    assert "% row changes for each page (" in ended[0]
    assert ended[0].endswith("; won")
    assert last.low_water_mark == 1_000
    assert last.flush_law == "mariadb"


@pytest.mark.parametrize("scenario", ["mariadb-lwm0", "mariadb-lwm"])
def test_without_consent_the_mark_stays(scenario: str) -> None:
    """With the policy bayes no reading ever shows another mark, and none is written."""
    _, records = played(scenario, "bayes", 3_000)

    assert len(marks(records)) == 1
    assert not any(one.decision.kind is DecisionKind.LOW_WATER for one in records)


def test_elsewhere_consent_changes_nothing() -> None:
    """On a server without such a mark the run is that of bayes to the last digit."""
    plain, consented = (played("steady-1200iops", name, 1_500)[0] for name in ("bayes", "bayes-low-water"))

    assert plain.outcome == consented.outcome
    assert plain.final == consented.final
    assert plain.knob_changes == consented.knob_changes
