"""A page cleaner that sleeps until the flush limit, on servers whose M decides the age while it is awake."""

from __future__ import annotations

import pytest

from policies.registry import LAWS, make_policy
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import ACTIVE, DEFAULT, A, command, held
from tuner.core.decide.precedence import CATCHING_UP
from tuner.core.laws import asleep
from tuner.records import Capacity, DecisionKind, Sample

WAKES = "mariadb-wakes"
SLEEPS = LAWS[WAKES].sleeps
WAY = 0.3
"""Age ratio at which the daemon comes."""


def sleeping(capacity: Capacity = DEFAULT, *, redo_rate: float = 1e6) -> Bench:
    """Return an active loop beside a server that flushes nothing below its flush limit."""
    server = FakeServer(capacity, redo_rate=redo_rate)
    server.told, server.rests_at = {"flush_law": WAKES}, 1.0
    server.oldest = server.lsn - WAY * A
    return Bench(ACTIVE, server).ready()


def until_awake(bench: Bench) -> None:
    """Tick until the server is at its flush limit."""
    reading = bench.turn().tick.reading
    while not isinstance(reading, Sample) or reading.age_ratio < 1.0:
        reading = bench.turn().tick.reading


@pytest.fixture
def again() -> Bench:
    """Return a loop beside a server that was awake once, and fell asleep."""
    bench = sleeping(Capacity(300, 600))
    until_awake(bench)
    bench.turns(3)
    bench.server.oldest = bench.server.lsn - WAY * A
    bench.turns(15)
    bench.server.applied.clear()
    return bench


@pytest.mark.parametrize("rate", [1e6, 4e6])
def test_nothing_is_written_while_it_sleeps(rate: float) -> None:
    """However far or fast the age goes no M would move it: no write, no emergency, no device at its limit.

    Before it is awake the gate may stay shut; at the flush limit it goes by no percentage, and is open.
    """
    bench = sleeping(redo_rate=rate)
    if rate == 1e6:
        assert held(bench.turns(10)) == {"model_mismatch"}
    until_awake(bench)
    found = [one.estimate for one in bench.records[:-1] if one.estimate is not None]

    assert bench.wrote()[:-1] == []
    assert DecisionKind.EMERGENCY not in bench.wrote()
    assert all(SLEEPS in one.decision.detail for one in bench.records[15:-1])
    assert all(one.sustained_capacity is None for one in found)
    assert all(one.authority == 1.0 for one in found[5:])
    assert "authority_lost" not in bench.codes()
    assert held(bench.turns(2)) == set()


def test_a_law_that_has_no_sleep_is_not_asleep() -> None:
    """On a server that always heeds the age, seconds without a page are the device's."""
    bench = sleeping()
    bench.server.told = bench.server.shows = {"flush_law": "mariadb"}
    bench.turns(20)

    assert asleep(bench.state) == ""


def test_an_m_below_the_demand_is_raised_once_it_is_awake() -> None:
    """A server that flushes all that M allows, at its flush limit, gets the M that keeps up."""
    bench = sleeping(Capacity(100, 200))
    bench.server.rests_at = None
    bench.server.shows = {"flush_percentage": 0, "flush_requested": 200}
    bench.server.oldest = bench.server.lsn - 1.01 * A
    bench.until("emergency", "set", limit=40)

    assert bench.m >= 400


def test_what_it_flushes_after_waking_is_left_alone(again: Bench) -> None:
    """Below the limit the age follows from what was dirty there: no M is set before it is through."""
    again.server.rests_at, again.server.redo_rate = None, 0.0
    for _ in range(10):
        again.server.lsn += 1e6
        again.turn()

    assert again.server.applied == []
    assert CATCHING_UP in again.record.decision.detail


@pytest.mark.parametrize(("ratio", "by", "emergency"), [(1.0, 0.001, False), (1.02, 0.01, True)])
def test_from_the_flush_limit_on_only_the_stall_point_makes_an_emergency(
    again: Bench, ratio: float, by: float, *, emergency: bool
) -> None:
    """Where it wakes it is at the sync point, which says nothing; that writers are about to wait does."""
    until_awake(again)
    again.server.rests_at, again.server.redo_rate = None, 0.0
    seen = len(again.records)
    for _ in range(12):
        again.server.lsn += 1e6
        again.server.oldest = again.server.lsn - ratio * A
        again.server.idled += 200.0
        ratio += by
        again.turn()

    assert (DecisionKind.EMERGENCY in [one.decision.kind for one in again.records[seen:]]) is emergency


def test_the_set_point_keeps_away_from_where_all_is_flushed(again: Bench) -> None:
    """An age that only touches the flush limit is soon next to nothing: no set-point is near it."""
    assert again.set_point <= LAWS[WAKES].highest < 1.0


@pytest.mark.parametrize("name", ["cascade", "pid"])
def test_the_law_that_looks_ahead_decides(name: str) -> None:
    """A law that looks at no more than the age of now would raise M at each waking, for ever."""
    assert make_policy(name, flush_law=WAKES, fixed_io_capacity_max=700).name == "cascade"


def test_a_person_is_heard_while_it_sleeps(again: Bench) -> None:
    """A drain is taken, writes nothing and says what it waits for; an override is written at once."""
    assert again.answer(drain("25%"))[0]
    again.turns(10)
    assert again.server.applied == []
    assert SLEEPS in again.record.decision.detail
    again.turn(command("override", value=900, ttl=60.0))

    assert again.m == 900
