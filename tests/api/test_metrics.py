"""What a scrape says: of the server, whether the daemon works, how long things take, and its limits."""

from __future__ import annotations

import re
import time
from typing import Any

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from api.metrics import METRICS, exposed_names
from tests.api.factory import COUNTED, FACTS, about, application, estimate, get, missed, record, sample
from tests.core.learned_document import full as learned
from tuner.config.schema import Config, DaemonSection, ScheduleTable
from tuner.daemon.board import Board
from tuner.records import (
    Capacity,
    Decision,
    DecisionKind,
    DrainProgress,
    Hold,
    HoldCode,
    LowWaterMark,
    OptimiserHealth,
    Receipt,
    Remedy,
    TickRecord,
    Window,
)
from tuner.records.hook import HookHealth
from tuner.settings import Mode, Settings

PAUSED = Hold(HoldCode.PAUSED, 101.0, "a person asked", (Remedy.RESUME,))
NIGHTLY = Window("nightly", 1_699_999_000.0, 1_700_004_400.0, max_recovery_seconds=60.0)
PRICED = Config(daemon=DaemonSection(write_price="600 TBW"))
Scrape = dict[tuple[str, str], float]


def scrape(board: Board, **changes: Any) -> Scrape:  # noqa: ANN401 - any field
    """Return every sample by its name and the value of its first label, empty where it has none."""
    text = get(application(board, about=about(**changes)), "/metrics").text
    return {
        (line.name, next(iter(line.labels.values()), "")): line.value
        for family in text_string_to_metric_families(text)
        for line in family.samples
    }


def published(*records: TickRecord, settings: Settings | None = None, optimiser: str = "off") -> Board:
    """Return a board with these ticks on it."""
    board = Board()
    board.optimiser(OptimiserHealth(state=optimiser))
    for one in records:
        board.publish(one, settings or Settings(), FACTS)
    return board


def full() -> TickRecord:
    """Return a record of which every field has a value."""
    return replace(
        record(1, reading=sample(replica_lag=1.5, **COUNTED)),
        estimate=estimate(
            sustained_capacity=1200.0,
            seconds_to_sync=30.0,
            seconds_to_stall=90.0,
            baseline_ratio=0.4,
            recovery_at_set_point=40.0,
            recovery_at_baseline=30.0,
            shutdown_at_set_point=20.0,
            shutdown_at_baseline=10.0,
        ),
        holds=(PAUSED,),
        override_ends=200.0,
        drain=DrainProgress(64, 80, 700.0, "ann"),
        schedule=(NIGHTLY,),
        low_water=LowWaterMark(in_force=1000, operator=0, ours=True),
    )


def test_a_scrape_is_whole_and_valid() -> None:
    """It has every field once, with help and a base unit; counters end in _total; PMM's legends are in it."""
    board = published(
        full(), settings=Settings(max_recovery_seconds=60.0, max_shutdown_seconds=60.0), optimiser="ready"
    )
    board.learned = learned
    board.hooks = lambda: (HookHealth("pager", "https://alerts.example.com"),)
    text = get(application(board, about=about(configuration=lambda: PRICED)), "/metrics").text

    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]

    assert len(names) == len(set(names))
    assert {metric.name for metric in METRICS} <= set(names)
    for family in families:
        assert re.fullmatch(r"innobrim_[a-z_]+", family.name)
        assert family.documentation
        if family.type == "counter":
            assert all(line.name.endswith("_total") for line in family.samples)
    for legend in ("Uncheckpointed Bytes", "Max Checkpoint Age"):
        assert f'PMM: "{legend}"' in text


def test_the_ledger_is_scraped_with_its_bounds() -> None:
    """What was saved has its likeliest value and both bounds, as pages, bytes and wear."""
    board = published(full())
    board.learned = learned
    found = scrape(board, configuration=lambda: PRICED)

    savings = learned().savings
    for bound in ("least", "likely", "most"):
        pages = getattr(savings, bound)
        assert found["innobrim_ledger_saved_pages", bound] == pages
        assert found["innobrim_ledger_saved_bytes", bound] == pages * FACTS.page_size
        worth = 100.0 * pages * FACTS.page_size / 600e12
        assert abs(found["innobrim_ledger_saved_worth", bound] / worth - 1.0) < 1e-9
    assert ("innobrim_ledger_saved_worth", "likely") not in scrape(board)


def test_values_are_those_of_the_record_in_base_units() -> None:
    """What is known is there; what is not, or is no number, is left out: no zero that lies."""
    found = scrape(published(record(1, estimate=estimate(authority=float("nan")), occurrences=("ddl",))))

    assert found["innobrim_up", ""] == 1.0
    assert found["innobrim_io_capacity_max_pages_per_second", ""] == 450.0
    assert found["innobrim_checkpoint_age_bytes", ""] == 61_000_000.0
    assert found["innobrim_lsn_flush_ratio", ""] == 1.2
    assert (found["innobrim_mode", "advisory"], found["innobrim_mode", "active"]) == (1.0, 0.0)
    assert found["innobrim_set_point_ratio", ""] == 0.72
    assert (found["innobrim_occurrence", "ddl"], found["innobrim_occurrence", "clone"]) == (1.0, 0.0)
    names = {name for name, _ in found}
    assert "innobrim_demand_pages_per_second" in names
    for name in ("sustained_capacity_pages_per_second", "time_to_stall_seconds", "authority_ratio"):
        assert f"innobrim_{name}" not in names


def test_each_schedule_has_a_series() -> None:
    """1 while a window is active and 0 while none is, and when the active one began and ends."""
    tables = (
        ScheduleTable("nightly", "30 1 * * *", 90, drain=True),
        ScheduleTable("day", "0 8 * * *", 9, set_point=0.5),
    )
    found = scrape(published(record(schedule=(NIGHTLY,))), configuration=lambda: Config(schedule=tables))
    none = scrape(published(record()))

    assert found["innobrim_schedule_active", "nightly"] == 1.0
    assert found["innobrim_schedule_active", "day"] == 0.0
    assert found["innobrim_schedule_began_timestamp_seconds", "nightly"] == NIGHTLY.began
    assert found["innobrim_schedule_ends_timestamp_seconds", "nightly"] == NIGHTLY.ends
    assert ("innobrim_schedule_ends_timestamp_seconds", "day") not in found
    assert not [name for name, _ in none if name.startswith("innobrim_schedule")]


def test_changes_are_counted() -> None:
    """Writes that the server took, and those that failed, are counted apart."""
    good = Receipt(1.0, Capacity(225, 450), Capacity(225, 450), 2, 0.01)
    receipts = (None, good, good, replace(good, done=0, error="denied"))
    ticks = [
        replace(made, tick=replace(made.tick, receipt=receipt))
        for made, receipt in zip(map(record, range(1, 5)), receipts, strict=True)
    ]
    found = scrape(published(*ticks))

    assert found["innobrim_changes_total", ""] == 2.0
    assert found["innobrim_failed_changes_total", ""] == 1.0
    assert found["innobrim_ticks_total", ""] == 4.0


def test_the_parts_that_work_are_told_apart() -> None:
    """Loop and server are up or not, each by itself; a dead loop says nothing of its server."""
    good = scrape(published(record()))
    blind = scrape(published(record(1), record(2, reading=missed(2))))
    dead = scrape(published(record()), monotonic=lambda: time.monotonic() + 60.0)

    assert (good["innobrim_loop_up", ""], good["innobrim_server_up", ""]) == (1.0, 1.0)
    assert (blind["innobrim_loop_up", ""], blind["innobrim_server_up", ""]) == (1.0, 0.0)
    assert dead["innobrim_loop_up", ""] == 0.0
    assert ("innobrim_server_up", "") not in dead
    for found in (blind, dead):
        assert found["innobrim_up", ""] == 0.0
        assert ("innobrim_age_ratio", "") not in found
        assert found["innobrim_last_success_timestamp_seconds", "sample"] == record(1).tick.wall
    assert blind["innobrim_missed_readings_total", ""] == 1.0
    assert ("innobrim_mode", "advisory") not in dead


def test_a_server_that_is_waited_for_at_the_start_is_down() -> None:
    """Before the first tick the loop is up and the server is not, so that an alert can tell which it is."""
    board = Board()
    board.waiting("waiting for the server: connection refused")
    found = scrape(board)

    assert (found["innobrim_loop_up", ""], found["innobrim_server_up", ""]) == (1.0, 0.0)


def test_durations_of_ticks_readings_and_writes_are_histograms() -> None:
    """Every tick counts, so that none is missed between two scrapes."""
    good = Receipt(1.0, Capacity(225, 450), Capacity(225, 450), 2, 0.02)
    first, second = record(1), record(2)
    board = published(
        first, replace(second, tick=replace(second.tick, receipt=good)), record(3, reading=missed(3))
    )
    for seconds in (0.004, 0.03, 20.0):
        board.ticked(seconds)
    found = scrape(board)

    assert found["innobrim_tick_duration_seconds_bucket", "0.005"] == 1.0
    assert found["innobrim_tick_duration_seconds_bucket", "10.0"] == 2.0
    assert found["innobrim_tick_duration_seconds_bucket", "+Inf"] == 3.0
    assert found["innobrim_tick_duration_seconds_sum", ""] == 20.034
    assert found["innobrim_read_duration_seconds_count", ""] == 2.0
    assert found["innobrim_set_duration_seconds_count", ""] == 1.0
    assert found["innobrim_set_duration_seconds_bucket", "0.01"] == 0.0
    assert found["innobrim_set_duration_seconds_bucket", "0.025"] == 1.0


def test_each_stage_has_the_time_of_its_last_success() -> None:
    """Reading, deciding, writing and the journal, as Unix time; none for what has not happened."""
    good = Receipt(1.0, Capacity(225, 450), Capacity(225, 450), 2, 0.01)
    board = published(record(1), record(2, reading=missed(2)))
    before = scrape(board)
    board.journal("", 0, written=1_700_000_003.5)
    wrote = record(3, reading=missed(3))
    board.publish(replace(wrote, tick=replace(wrote.tick, receipt=good)), Settings(), FACTS)
    board.journal("database or disk is full", 0)
    after = scrape(board)

    name = "innobrim_last_success_timestamp_seconds"
    assert (name, "write") not in before
    assert (name, "journal") not in before
    assert after[name, "sample"] == record(1).tick.wall
    assert after[name, "decide"] == after[name, "write"] == wrote.tick.wall
    assert after[name, "journal"] == 1_700_000_003.5


def test_what_is_over_between_two_scrapes_is_still_counted() -> None:
    """Decisions are counted by kind, and how often each hold was entered."""
    raised = Decision(kind=DecisionKind.EMERGENCY, reason="emergency", detail="3 s to the stall point")
    held = record(2, holds=(PAUSED,))
    found = scrape(published(record(1, decision=raised), held, held, record(3), held))

    assert found["innobrim_decisions_total", "emergency"] == 1.0
    assert found["innobrim_decisions_total", "keep"] == 4.0
    assert found["innobrim_decisions_total", "park"] == 0.0
    assert found["innobrim_holds_total", "paused"] == 2.0
    assert found["innobrim_holds_total", "stale"] == 0.0


def test_whether_it_may_write_is_one_number() -> None:
    """1 in active mode without a hold; what the configuration asks for stands beside what is in force."""
    active = Config(loop=Settings(mode=Mode.ACTIVE))
    free = scrape(published(record(1, mode=Mode.ACTIVE)), configuration=lambda: active)
    held = scrape(published(record(1, mode=Mode.ACTIVE, holds=(PAUSED,))))
    advisory = scrape(published(record(1)), configuration=lambda: active)

    assert free["innobrim_may_write", ""] == 1.0
    assert held["innobrim_may_write", ""] == advisory["innobrim_may_write", ""] == 0.0
    assert advisory["innobrim_mode", "advisory"] == advisory["innobrim_configured_mode", "active"] == 1.0


def test_limits_stand_beside_what_they_limit() -> None:
    """The budgets with the schedule's word in them, M's bounds and the changes of an hour, for alerts."""
    settings = Settings(
        min_io_capacity_max=300,
        max_io_capacity_max=5_000,
        max_changes_per_hour=12,
        max_shutdown_seconds=90.0,
    )
    found = scrape(published(record(1, schedule=(NIGHTLY,)), settings=settings))

    assert found["innobrim_lowest_io_capacity_max_pages_per_second", ""] == 300.0
    assert found["innobrim_highest_io_capacity_max_pages_per_second", ""] == 5_000.0
    assert found["innobrim_changes_last_hour_limit", ""] == 12.0
    assert found["innobrim_recovery_budget_seconds", ""] == 60.0
    assert found["innobrim_shutdown_budget_seconds", ""] == 90.0


def test_a_budget_that_nobody_set_has_no_metric_and_the_predictions_have() -> None:
    """What both would take is there for each age that is known; a budget only where there is one."""
    known = estimate(recovery_seconds=30.0, recovery_at_set_point=45.0, shutdown_at_baseline=12.0)
    found = scrape(published(record(1, estimate=known)))

    assert not [name for name, _ in found if name.endswith("_budget_seconds")]
    assert found["innobrim_predicted_recovery_seconds", ""] == 30.0
    assert found["innobrim_predicted_recovery_at_set_point_seconds", ""] == 45.0
    assert found["innobrim_predicted_shutdown_at_baseline_seconds", ""] == 12.0
    assert ("innobrim_predicted_recovery_at_baseline_seconds", "") not in found


def test_an_end_is_a_time_and_not_a_countdown() -> None:
    """When an override ends, as Unix time, so that the last scrape stays true."""
    found = scrape(published(record(1, override_ends=161.0)))

    assert found["innobrim_override_ends_timestamp_seconds", ""] == record(1).tick.wall + 60.0


def test_an_optimiser_that_is_off_is_not_down() -> None:
    """Its metrics are there only where the policy has an optimiser."""
    board = published(record())
    off = scrape(board)
    board.optimiser(OptimiserHealth(state="dead", why="killed", deaths=2))
    dead = scrape(board)

    assert ("innobrim_optimiser_up", "") not in off
    assert (dead["innobrim_optimiser_up", ""], dead["innobrim_optimiser_deaths_total", ""]) == (0.0, 2.0)


def test_every_series_is_documented_and_they_are_few() -> None:
    """A scrape has no name that the reference has not, no label of free text but facts, and stays small."""
    found = scrape(published(full()))
    named = {name for name, _ in found}

    assert named <= exposed_names()
    assert len(found) < 250
    for metric in METRICS:
        if metric.values:
            assert {value for name, value in found if name in metric.exposed} <= set(metric.values)
