"""The daemon's loop on a simulated server: what it starts from, what it writes, how long it takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from lab.scenarios import load_scenario
from lab.scenarios.load import parse_scenario
from lab.simulate import resized
from lab.simulate_loop import most_in_an_hour, run_policy
from tests.factory import sample
from tests.lab.simulating import SHORT
from tuner.records import Capacity, DecisionKind, OptimiserPhase
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from tuner.records import TickRecord

UNDISTURBED_SECONDS = 0.16
"""What ``core_seconds`` gives on the core where a simulated day took 25 to 27 s, with nothing beside it.

A host that shares the core makes both slower: 31 to 38 s were seen for the same day within minutes of 25.
"""


def core_seconds() -> float:
    """Return the processor time of work that no change of the loop makes longer."""
    one, total = sample(), 0.0
    began = time.process_time()
    for number in range(180_000):
        one = msgspec.structs.replace(one, lsn_current=one.lsn_current + number % 7)
        filled = (one.lsn_current - one.lsn_oldest) / max(1, one.flush_limit)
        total += {"filled": max(0.0, min(1.0, filled))}["filled"]
    assert total > 0.0
    return time.process_time() - began


def test_the_policy_writes_from_the_defaults() -> None:
    """The loop begins at 10000/20000, knows its originals durable at once, and writes in active mode."""
    records: list[TickRecord] = []
    scenario = parse_scenario(SHORT, source="test")
    run = run_policy(scenario, Settings(mode=Mode.ACTIVE, policy="fixed"), publish=records.append)
    assert records[0].tick.reading.io_capacity_max == 20_000  # type: ignore[union-attr] # never missed
    assert records[1].tick.commands[0].name == "originals_saved"
    assert all(answer.accepted for record in records for answer in record.acknowledgements)
    assert len(records) == scenario.seconds + 1
    assert run.knob_changes >= 1
    assert run.final == Capacity(2000, 2000)
    assert records[-1].decision.kind is DecisionKind.KEEP


def test_changes_are_counted_in_every_hour() -> None:
    """A run's busiest hour counts, wherever it lies; what comes an hour later is no longer in it."""
    assert most_in_an_hour([]) == 0
    assert most_in_an_hour([0.0, 10.0, 3599.0]) == 3
    assert most_in_an_hour([0.0, 3600.0]) == 1
    assert most_in_an_hour([0.0, 5000.0, 5010.0, 8599.0, 9000.0]) == 3


def test_a_mariadb_that_m_steers_rests_near_the_set_point() -> None:
    """With a low-water mark the age stays close below the set-point, and M is changed a few times only."""
    run = run_policy(load_scenario("mariadb-lwm"), Settings(mode=Mode.ACTIVE))
    assert run.outcome.age_ratio_mean == pytest.approx(run.last.set_point, abs=0.04)
    assert run.outcome.age_ratio_max < 0.95
    assert run.outcome.stall_seconds == 0.0
    assert run.knob_changes <= 25


def test_spurts_of_a_mariadb_are_no_demand() -> None:
    """Pages that are written in a spurt and counted as dirty meanwhile raise no M."""
    run = run_policy(load_scenario("mariadb-lwm0"), Settings(mode=Mode.ACTIVE))
    assert run.final.io_capacity_max <= 2_000
    assert run.knob_changes <= 4


def test_a_server_that_flushes_neighbours_is_held_by_few_writes() -> None:
    """On a simulated MySQL 5.7 as it comes M is found, although most pages go before their turn."""
    scenario = resized(load_scenario("steady-1200iops"), seed=1, seconds=None, flavour="mysql-5.7")
    run = run_policy(scenario, Settings(mode=Mode.ACTIVE))

    assert run.outcome.sync_flush_seconds == 0
    assert 0.80 < run.outcome.age_ratio_mean < 0.92
    assert run.knob_changes <= 20


@pytest.mark.long
def test_a_simulated_day_is_quick() -> None:
    """The loop with the default policy takes at most a minute of one undisturbed core for a simulated day."""
    day = resized(load_scenario("steady-1200iops"), seed=None, seconds=3000)
    taken: list[float] = []
    while not taken or (min(taken) >= 60.0 and len(taken) < 5):
        before = core_seconds()
        began = time.process_time()
        run_policy(day, Settings(mode=Mode.ACTIVE))
        seconds = (time.process_time() - began) / 3000 * 86_400
        slower = max(1.0, (before + core_seconds()) / 2 / UNDISTURBED_SECONDS)
        taken.append(seconds / slower)

    assert min(taken) < 60.0


def test_the_optimiser_runs_on_simulated_time() -> None:
    """With bayes a suggestion is asked for and answered at once; the same seed gives the same run."""
    scenario = resized(load_scenario("steady-1200iops"), seed=3, seconds=1100)
    runs: list[list[TickRecord]] = []
    for _ in range(2):
        records: list[TickRecord] = []
        run_policy(scenario, Settings(mode=Mode.ACTIVE, policy="bayes"), publish=records.append)
        runs.append(records)
    suggested = [one for record in runs[0] for one in record.tick.commands if one.name == "suggest"]

    assert [record.decision for record in runs[0]] == [record.decision for record in runs[1]]
    assert len(suggested) == 1
    assert suggested[0].who == "optimiser"
    assert runs[0][-1].optimiser is not None
    assert runs[0][-1].optimiser.phase is OptimiserPhase.TRIAL
