"""What a server's checkpoints do otherwise, and what the loop makes of it."""

from __future__ import annotations

from typing import Any

from tests.bench import Bench, FakeServer
from tests.core.loops import age_of, drain
from tests.factory import ACTIVE, LIMITS, REDO
from tuner.settings import Settings

RATE = 2e6


def held(*, alarm: float, at: dict[str, int] | None = None, **told: Any) -> float:  # noqa: ANN401 - any fact
    """Return the set-point beside a busy server with these facts, and these fields in its readings."""
    server = FakeServer(redo_rate=RATE)
    server.told = told
    server.shows = at or {}
    bench = Bench(Settings(mode=ACTIVE.mode, max_checkpoint_age_ratio=alarm), server).in_control()
    found = bench.turns(30).decision.set_point
    assert found is not None
    return found


def test_where_writers_wait_at_the_sync_point_the_age_is_held_lower() -> None:
    """Seconds of reaction count twice on a server that stalls its writers there."""
    assert held(alarm=0.84, sync_stalls=True) < held(alarm=0.84) - 0.05


def test_a_point_that_stalls_nobody_is_no_reason_for_that() -> None:
    """On MariaDB whose sync point is the flush limit, where no writer waits, they count once."""
    limit = LIMITS.flush_limit
    waits, once = (held(alarm=0.84, at={"sync_point": limit}, sync_stalls=stalls) for stalls in (True, False))

    assert waits == once < held(alarm=0.84)


def test_checkpoints_every_second_leave_more_to_the_age() -> None:
    """Under the same alarm the age is higher where less lies between it and the checkpoint's."""
    assert held(alarm=0.7, flush_order_lag=0, sawtooth_seconds=2.0) > held(alarm=0.7) + 0.05


def test_a_drain_goes_lower_where_the_checkpoint_follows_at_once() -> None:
    """A target that eight seconds of redo would keep out of reach is met where two are enough."""
    refused, accepted = (full(**shows) for shows in ({}, {"flush_order_lag": 0, "sawtooth_seconds": 2.0}))
    target = 0.29
    asked = drain(f"{target:.0%}")

    assert not refused.turn(asked).acknowledgements[0].accepted
    assert accepted.turn(asked).acknowledgements[0].accepted
    accepted.turns(300)
    assert age_of(accepted.record) <= target * REDO


def full(**shows: Any) -> Bench:  # noqa: ANN401 - any field of the facts
    """Return a loop that holds an age beside a busy server with these facts."""
    server = FakeServer(redo_rate=RATE)
    server.told = shows
    bench = Bench(ACTIVE, server).in_control()
    bench.turns(120)
    return bench
