"""A device that gives less than was asked for while the load starves: M gives way, and comes back."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import DEFAULT, A
from tuner.core.relief import FIRST_WAIT_SECONDS, HOUR, MOST_AN_HOUR, Relief
from tuner.records import Capacity, DecisionKind, TickRecord
from tuner.settings import Mode, PolicyName, Settings

RATE, DENSITY = 1e6, 0.004
DEMAND = RATE * DENSITY
STARVING = 0.2
"""Share of the load that is left while the device is slow."""


def at_rest(policy: PolicyName = "cascade", *, redo_rate: float = RATE) -> Bench:
    """Return a loop that holds its set-point on a device that gives all it asks for."""
    server = FakeServer(Capacity(2_800, 5_600), redo_rate=redo_rate)
    server.density = DENSITY
    server.oldest = server.lsn - 0.7 * A
    settings = Settings(mode=Mode.ACTIVE, policy=policy, set_point=0.7, fixed_io_capacity_max=5_600)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(120)
    return bench


def slow(bench: Bench, *, share: float = 0.25) -> None:
    """Have the device give so much of the demand, and the load starve."""
    bench.server.device = share * DEMAND
    bench.server.redo_rate = STARVING * RATE


def quick(bench: Bench) -> None:
    """Have the device and the load back."""
    bench.server.device, bench.server.redo_rate = 1e9, RATE


def reliefs(records: list[TickRecord], reason: str = "relief") -> list[TickRecord]:
    """Return the records in which a relief began, or ended."""
    return [one for one in records if one.decision.steps and one.decision.reason == reason]


def relieved(bench: Bench, seconds: int = 15) -> TickRecord:
    """Return the record in which a relief begins within so many seconds of a slow device."""
    slow(bench)
    begun = reliefs([bench.turn() for _ in range(seconds)])
    assert len(begun) == 1
    return begun[0]


def test_m_goes_out_of_the_way_within_seconds() -> None:
    """A device that halves leaves the load its share before a minute of commits is lost."""
    bench = at_rest()
    before, began = bench.server.capacity.io_capacity_max, bench.record.tick.now
    record = relieved(bench)

    assert record.tick.now - began <= 8.0
    assert record.decision.kind is DecisionKind.RELIEF
    assert bench.server.capacity.io_capacity_max < 0.6 * before
    assert "the load starves" in record.decision.detail


def test_m_comes_back_with_the_device() -> None:
    """When the load is where it was, M is what it was, at once and in one write."""
    bench = at_rest()
    before = bench.server.capacity.io_capacity_max
    relieved(bench)
    bench.turns(60)
    quick(bench)
    ended = reliefs([bench.turn() for _ in range(8)], "relief_over")

    assert len(ended) == 1
    assert bench.server.capacity.io_capacity_max == before


def test_the_m_of_the_slow_device_is_known_the_second_time() -> None:
    """A disk that is slow again gets the M that it came to have the last time, and not a guess."""
    bench = at_rest()
    relieved(bench)
    bench.turns(60)
    found = bench.server.capacity.io_capacity_max
    quick(bench)
    bench.turns(400)
    relieved(bench)

    assert bench.server.capacity.io_capacity_max == pytest.approx(found, rel=0.05)


def test_no_hour_has_more_than_twenty() -> None:
    """A disk that is slow again and again is followed twenty times, and then no more within the hour."""
    bench = at_rest()
    now = bench.record.tick.now
    bench.state = replace(bench.state, relief=Relief(moments=(now,) * MOST_AN_HOUR))
    slow(bench)
    bench.turns(15)
    refused = reliefs(bench.records)
    quick(bench)
    bench.turns(round(HOUR))

    assert refused == []
    relieved(bench)


def test_what_is_over_within_seconds_makes_the_next_one_wait() -> None:
    """Hiccups are no slow disk: after one M is left alone for a minute, then for two, then for four."""
    bench = at_rest()
    for _ in range(20):
        slow(bench)
        bench.turns(8)
        quick(bench)
        bench.turns(22)
    at = [one.tick.now for one in reliefs(bench.records)]
    pauses = [later - earlier for earlier, later in itertools.pairwise(at)]

    assert len(pauses) >= 2
    assert all(pause >= FIRST_WAIT_SECONDS * 2.0**number for number, pause in enumerate(pauses))


def test_the_sync_point_comes_first() -> None:
    """With the sync point less than ten seconds away no M is lowered, whatever the load suffers."""
    bench = at_rest(redo_rate=RATE)
    bench.server.oldest = bench.server.lsn - 1.0 * A
    bench.server.device = 0.0
    bench.server.redo_rate = STARVING * RATE
    close = []
    for _ in range(30):
        record = bench.turn()
        left = record.estimate.seconds_to_sync if record.estimate is not None else None
        if left is not None and left <= 10.0:
            close.append(record)

    assert not reliefs(close)


def test_an_m_that_is_a_persons_stays() -> None:
    """Who names an M has it on a slow disk as well."""
    bench = at_rest("fixed")
    slow(bench)

    assert not reliefs([bench.turn() for _ in range(60)])


def test_a_device_that_is_slow_while_nobody_suffers_is_no_reason() -> None:
    """Where the load goes on as it was, giving less than M is what the policy is there for."""
    bench = at_rest()
    bench.server.device = 0.25 * DEMAND

    assert not reliefs([bench.turn() for _ in range(60)])


def test_a_load_that_goes_away_is_no_slow_device() -> None:
    """Where the device gives all that is asked for, few commits are nobody's fault."""
    bench = at_rest()
    bench.server.redo_rate = STARVING * RATE

    assert not reliefs([bench.turn() for _ in range(60)])


def test_a_slow_disk_has_changes_left_for_it() -> None:
    """Once the disk was slow twice in an hour, the policy leaves the changes that following it takes."""
    bench = at_rest()
    for _ in range(2):
        relieved(bench)
        bench.turns(45)
        quick(bench)
        bench.turns(400)
    state, now = bench.state, bench.record.tick.now
    left = state.settings.max_changes_per_hour - state.relief.reserved(now=now)
    bench.state = replace(state, writes=replace(state.writes, counted=(now,) * left))
    bench.server.redo_rate = 1.6 * RATE
    ours = [one for one in (bench.turn() for _ in range(60)) if one.decision.steps]
    bench.server.redo_rate = RATE
    bench.turns(400)

    assert state.relief.reserved(now=now) == 2 * (MOST_AN_HOUR - 2)
    assert all(one.decision.kind is not DecisionKind.SET for one in ours)
    relieved(bench)
