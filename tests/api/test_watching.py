"""Probes: whether the loop lives, and whether it sees its server."""

from __future__ import annotations

import time

import pytest
from fastapi import FastAPI

from tests.api.factory import FACTS, about, application, get, missed, record
from tuner.daemon.board import Board
from tuner.records import Hold, HoldCode, Lifecycle, Remedy
from tuner.settings import Settings
from tuner.system.clock import Beat


def after(board: Board, seconds: float) -> FastAPI:
    """Return the application as it is so many seconds from now."""
    then = time.monotonic() + seconds
    return application(board, about=about(monotonic=lambda: then))


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
