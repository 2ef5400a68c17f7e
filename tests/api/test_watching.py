"""Probes and metrics."""

from __future__ import annotations

import re
import time

import pytest
from fastapi import FastAPI
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from api.metrics import FIELD_METRICS, STATE_METRICS
from tests.api.factory import COUNTED, FACTS, about, application, estimate, get, missed, record, sample
from tuner.board import Board
from tuner.clock import Beat
from tuner.config.schema import Config, ScheduleTable
from tuner.records import (
    Capacity,
    DrainProgress,
    Hold,
    HoldCode,
    Lifecycle,
    LowWaterMark,
    OptimiserHealth,
    Receipt,
    Remedy,
    Window,
)
from tuner.settings import Settings

NIGHTLY = Window("nightly", 1_699_999_000.0, 1_700_004_400.0, drain=True)


def after(board: Board, seconds: float) -> FastAPI:
    """Return the application as it is so many seconds from now."""
    then = time.monotonic() + seconds
    return application(board, about=about(monotonic=lambda: then))


def values(app: FastAPI) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return every sample of a scrape; a name and labels that come twice are an error."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(get(app, "/metrics").text):
        for line in family.samples:
            key = (line.name, tuple(sorted(line.labels.items())))
            assert key not in found
            found[key] = line.value
    return found


def test_living_loop_is_live_and_ready(board: Board) -> None:
    """A loop that ticks with good readings is live and ready."""
    board.publish(record(), Settings(), FACTS)
    app = application(board)

    assert get(app, "/livez").status_code == 200
    assert get(app, "/readyz").status_code == 200
    assert get(app, "/readyz").json()["ok"] is True


def at(board: Board, seconds: float) -> FastAPI:
    """Return the application as it is so many seconds after the loop's last sign of life."""
    assert board.pulse.newest is not None
    then = board.pulse.newest.at + seconds
    return application(board, about=about(monotonic=lambda: then))


@pytest.mark.parametrize(
    ("within", "limit"), [(0.0, 2.0), (1.0, 2.0), (10.0, 11.0)], ids=["own step", "default", "slow statement"]
)
def test_dead_loop_is_said_within_two_ticks_and_a_waiting_one_is_not(
    board: Board, within: float, limit: float
) -> None:
    """Two intervals of silence are death, unless the server may keep the loop waiting for longer."""
    board.publish(record(), Settings(), FACTS)
    board.pulse.beat(within)

    assert get(at(board, limit - 0.01), "/livez").status_code == 200
    answer = get(at(board, limit + 0.01), "/livez")

    assert answer.status_code == 503
    assert "dead" in answer.json()["reason"]
    assert answer.json()["limit_seconds"] == limit
    assert get(at(board, limit + 0.01), "/readyz").status_code == 503


def test_long_tick_with_signs_of_life_is_no_death(board: Board) -> None:
    """A tick of many statements, as after a restart of mysqld, lives as long as each gives its sign."""
    board.publish(record(), Settings(), FACTS)
    board.pulse.newest = Beat(time.monotonic() + 20.0, within=1.0)
    answer = get(at(board, 1.0), "/livez")

    assert answer.status_code == 200
    assert answer.json()["tick_age_seconds"] == pytest.approx(1.0)


def test_the_shortest_interval_leaves_the_scheduler_a_second(board: Board) -> None:
    """At five ticks a second, a machine that is busy for half a second has killed nobody."""
    board.publish(record(), Settings(), FACTS)
    assert board.pulse.newest is not None
    for silence, status in ((0.99, 200), (1.01, 503)):
        then = board.pulse.newest.at + silence
        app = application(board, about=about(interval=0.2, monotonic=lambda then=then: then))
        assert get(app, "/livez").status_code == status


def test_start_is_given_time_but_not_for_ever(board: Board) -> None:
    """Before the first tick the daemon is live but not ready, and dead when that lasts."""
    clock = [100.0]
    app = application(board, about=about(monotonic=lambda: clock[0]))

    assert get(app, "/livez").status_code == 200
    assert get(app, "/readyz").status_code == 503

    clock[0] += 60.0

    assert get(app, "/livez").status_code == 503


def test_waiting_for_the_server_is_life(board: Board) -> None:
    """A daemon whose server is not there yet is live, is not ready, and says what it waits for."""
    board.waiting("waiting for the server: connection refused")
    app = after(board, 6.0)

    assert get(app, "/livez").status_code == 200
    answer = get(app, "/readyz")

    assert answer.status_code == 503
    assert "connection refused" in answer.json()["reason"]
    assert get(after(board, 60.0), "/livez").status_code == 503


@pytest.mark.parametrize("case", ["missed", "stale", "stopping"])
def test_blind_loop_is_live_and_not_ready(board: Board, case: str) -> None:
    """A loop that ticks and cannot see its server is live; it is not ready, and says why."""
    made = {
        "missed": record(2, reading=missed(2)),
        "stale": record(
            2, holds=(Hold(HoldCode.STALE, 95.0, "no good sample for 7 s", (Remedy.GOOD_SAMPLE,)),)
        ),
        "stopping": record(2, lifecycle=Lifecycle.STOPPING),
    }[case]
    board.publish(made, Settings(), FACTS)
    app = application(board)

    assert get(app, "/livez").status_code == 200
    answer = get(app, "/readyz")

    assert answer.status_code == 503
    assert answer.json()["reason"]


def test_metrics_parse_without_duplicates(board: Board) -> None:
    """A scrape is valid, has every field once, with help, a base unit, and counters that end in _total."""
    full = estimate(
        sustained_capacity=1200.0,
        seconds_to_sync=30.0,
        seconds_to_stall=90.0,
        recovery_at_set_point=40.0,
        recovery_at_baseline=30.0,
        shutdown_at_set_point=20.0,
        shutdown_at_baseline=10.0,
    )
    reading = sample(replica_lag=1.5, **COUNTED)
    drain = DrainProgress(64, 80, 700.0, "ann")
    mark = LowWaterMark(in_force=1000, operator=0, ours=True)
    made = record(1, reading=reading, estimate=full, override_ends=200.0, drain=drain, low_water=mark)
    board.optimiser(OptimiserHealth(state="ready"))
    board.publish(
        replace(made, schedule=(NIGHTLY,)),
        Settings(max_recovery_seconds=60.0, max_shutdown_seconds=60.0),
        FACTS,
    )
    text = get(application(board), "/metrics").text

    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]

    assert len(names) == len(set(names))
    assert {metric.name for metric in FIELD_METRICS} <= set(names)
    assert set(STATE_METRICS) <= set(names)
    for family in families:
        assert re.fullmatch(r"innobrim_[a-z_]+", family.name)
        assert family.documentation
        if family.type == "counter":
            assert all(line.name.endswith("_total") for line in family.samples)


def test_metrics_have_a_series_for_each_schedule(board: Board) -> None:
    """1 while a window is active and 0 while none is, and when the active one began and ends."""
    tables = (
        ScheduleTable("nightly", "30 1 * * *", 90, drain=True),
        ScheduleTable("day", "0 8 * * *", 9, set_point=0.5),
    )
    board.publish(record(schedule=(NIGHTLY,)), Settings(), FACTS)
    found = values(application(board, about=about(configuration=lambda: Config(schedule=tables))))

    nightly, day = (("schedule", "nightly"),), (("schedule", "day"),)
    assert found["innobrim_schedule_active", nightly] == 1.0
    assert found["innobrim_schedule_active", day] == 0.0
    assert found["innobrim_schedule_began_timestamp_seconds", nightly] == NIGHTLY.began
    assert found["innobrim_schedule_ends_timestamp_seconds", nightly] == NIGHTLY.ends
    assert ("innobrim_schedule_ends_timestamp_seconds", day) not in found


def test_without_a_schedule_there_is_no_metric_of_one(board: Board) -> None:
    """Who has no schedule sees nothing of it."""
    board.publish(record(), Settings(), FACTS)

    assert "innobrim_schedule" not in get(application(board), "/metrics").text


def test_metrics_show_what_goes_on_beside_the_load(board: Board) -> None:
    """Each occurrence has a series, 1 while it is under way."""
    board.publish(record(occurrences=("ddl",)), Settings(), FACTS)
    found = values(application(board))

    assert found["innobrim_occurrence", (("name", "ddl"),)] == 1.0
    assert found["innobrim_occurrence", (("name", "clone"),)] == 0.0


def test_metrics_carry_pmm_legends(board: Board) -> None:
    """What PMM charts is found under PMM's legend in the help."""
    board.publish(record(), Settings(), FACTS)
    text = get(application(board), "/metrics").text

    for legend in ("Uncheckpointed Bytes", "Max Checkpoint Age"):
        assert f'PMM: "{legend}"' in text


def test_metrics_carry_the_values(board: Board) -> None:
    """Values are those of the record, in base units."""
    board.publish(record(), Settings(), FACTS)
    found = values(application(board))

    assert found["innobrim_up", ()] == 1.0
    assert found["innobrim_io_capacity_max_pages_per_second", ()] == 450.0
    assert found["innobrim_checkpoint_age_bytes", ()] == 61_000_000.0
    assert found["innobrim_lsn_flush_ratio", ()] == pytest.approx(1.2)
    assert found["innobrim_mode", (("mode", "advisory"),)] == 1.0
    assert found["innobrim_mode", (("mode", "active"),)] == 0.0
    assert found["innobrim_set_point_ratio", ()] == 0.72


def test_missing_value_is_left_out(board: Board) -> None:
    """What is not known, or not a number, is not exported: no zero that lies."""
    board.publish(record(1, estimate=estimate(authority=float("nan"))), Settings(), FACTS)
    found = {name for name, _ in values(application(board))}

    assert "innobrim_sustained_capacity_pages_per_second" not in found
    assert "innobrim_time_to_stall_seconds" not in found
    assert "innobrim_authority_ratio" not in found
    assert "innobrim_demand_pages_per_second" in found


def test_blind_or_dead_loop_exports_no_old_numbers(board: Board) -> None:
    """With a failed reading or a dead loop, up is 0 and the server's numbers are gone."""
    board.publish(record(1), Settings(), FACTS)
    dead = values(after(board, 60.0))
    board.publish(record(2, reading=missed(2)), Settings(), FACTS)
    blind = values(application(board))

    for found in (dead, blind):
        assert found["innobrim_up", ()] == 0.0
        assert ("innobrim_age_ratio", ()) not in found
        assert found["innobrim_last_success_timestamp_seconds", (("stage", "sample"),)] == record(1).tick.wall
    assert blind["innobrim_missed_readings_total", ()] == 1.0
    assert ("innobrim_mode", (("mode", "advisory"),)) not in dead


def test_changes_are_counted(board: Board) -> None:
    """Writes that the server took, and those that failed, are counted apart."""
    good = Receipt(1.0, Capacity(225, 450), Capacity(225, 450), 2, 0.01)
    for number, receipt in enumerate((None, good, good, replace(good, done=0, error="denied")), start=1):
        made = record(number)
        board.publish(replace(made, tick=replace(made.tick, receipt=receipt)), Settings(), FACTS)
    found = values(application(board))

    assert found["innobrim_changes_total", ()] == 2.0
    assert found["innobrim_failed_changes_total", ()] == 1.0
    assert found["innobrim_ticks_total", ()] == 4.0
