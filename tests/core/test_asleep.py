"""A page cleaner that sleeps until the flush limit, on servers whose M decides the age while it is awake."""

from __future__ import annotations

import pytest

from policies.registry import LAWS, make_policy
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import ACTIVE, DEFAULT, SAVED, A, codes, command, held
from tuner.core.decide.precedence import CATCHING_UP
from tuner.core.laws import asleep
from tuner.records import Capacity, Sample

WAKES = "mariadb-wakes"
SLEEPS = LAWS[WAKES].sleeps
WAY = 0.3
"""Age ratio at which the daemon comes."""


def sleeping(capacity: Capacity = DEFAULT, *, redo_rate: float = 1e6) -> Bench:
    """Return an active loop beside a server that flushes nothing below its flush limit."""
    server = FakeServer(capacity, redo_rate=redo_rate)
    server.told, server.rests_at = {"flush_law": WAKES}, 1.0
    server.oldest = server.lsn - WAY * A
    bench = Bench(ACTIVE, server)
    bench.turn()
    bench.turn(SAVED)
    return bench


def until_awake(bench: Bench) -> list[float]:
    """Tick until the server is at its flush limit; return the age ratios on the way."""
    ratios: list[float] = []
    while not ratios or ratios[-1] < 1.0:
        reading = bench.turn().tick.reading
        assert isinstance(reading, Sample)
        ratios.append(reading.age_ratio)
    return ratios


def asleep_again() -> Bench:
    """Return a loop beside a server that was awake once, and fell asleep."""
    bench = sleeping(Capacity(300, 600))
    until_awake(bench)
    bench.turns(3)
    bench.server.oldest = bench.server.lsn - WAY * A
    bench.turns(15)
    bench.server.applied.clear()
    return bench


def catching_up(bench: Bench, ratio: float, *, by: float) -> bool:
    """Live through seconds in which all that was dirty is flushed; return whether one is an emergency."""
    seen = len(bench.records)
    for _ in range(12):
        bench.server.lsn += 1e6
        bench.server.oldest = bench.server.lsn - ratio * A
        bench.server.idled += 200.0
        ratio += by
        bench.turn()
    return any(one.decision.kind.value == "emergency" for one in bench.records[seen:])


def test_nothing_is_written_while_it_sleeps() -> None:
    """However far the age is from the set-point no M would move it, and the reason says so."""
    bench = sleeping()
    ratios = until_awake(bench)

    assert ratios[0] < 0.4
    assert not any(one.decision.steps for one in bench.records[:-1])
    assert all(SLEEPS in one.decision.detail for one in bench.records[15:-1])


def test_a_fast_way_to_the_flush_limit_is_no_emergency() -> None:
    """A page cleaner that is about to wake lacks no M, though the limit is seconds away."""
    bench = sleeping(redo_rate=4e6)
    until_awake(bench)

    assert not any(one.decision.kind.value == "emergency" for one in bench.records)


def test_a_sleeping_server_is_no_device_at_its_limit() -> None:
    """What the law asked for before it fell asleep is held against no device."""
    bench = sleeping()
    until_awake(bench)

    estimates = [one.estimate for one in bench.records[:-1] if one.estimate is not None]
    assert all(one.sustained_capacity is None for one in estimates)
    assert all(one.authority == 1.0 for one in estimates[5:])
    assert not any("authority_lost" in codes(record) for record in bench.records)


def test_a_law_that_has_no_sleep_is_not_asleep() -> None:
    """On a server that always heeds the age, seconds without a page are the device's."""
    bench = sleeping()
    bench.server.told = bench.server.shows = {"flush_law": "mariadb"}
    bench.turns(20)

    assert asleep(bench.state) == ""


def test_at_the_flush_limit_the_gate_is_open() -> None:
    """There the server flushes by no percentage that could be compared, and may lack nothing but M."""
    bench = sleeping()
    assert held(bench.turns(10)) == {"model_mismatch"}
    until_awake(bench)

    assert held(bench.turns(2)) == set()


def test_an_m_below_the_demand_is_raised_once_it_is_awake() -> None:
    """A server that flushes all that M allows, at its flush limit, gets the M that keeps up."""
    bench = sleeping(Capacity(100, 200))
    bench.server.rests_at = None
    bench.server.shows = {"flush_percentage": 0, "flush_requested": 200}
    bench.server.oldest = bench.server.lsn - 1.01 * A
    bench.until("emergency", "set", limit=40)

    assert bench.server.capacity.io_capacity_max >= 400


def test_what_it_flushes_after_waking_is_left_alone() -> None:
    """Below the limit the age follows from what was dirty there: no M is set before it is through."""
    bench = asleep_again()
    bench.server.rests_at = None
    bench.server.redo_rate = 0.0
    for _ in range(10):
        bench.server.lsn += 1e6
        bench.turn()

    assert bench.server.applied == []
    assert CATCHING_UP in bench.record.decision.detail


def test_from_the_flush_limit_on_only_the_stall_point_makes_an_emergency() -> None:
    """Where it wakes it is at the sync point, which says nothing; that writers are about to wait does."""
    bench = asleep_again()
    until_awake(bench)
    bench.server.rests_at, bench.server.redo_rate = None, 0.0

    assert not catching_up(bench, 1.0, by=0.001)
    assert catching_up(bench, 1.02, by=0.01)


def test_the_set_point_keeps_away_from_where_all_is_flushed() -> None:
    """An age that only touches the flush limit is soon next to nothing: no set-point is near it."""
    bench = asleep_again()

    assert bench.record.decision.set_point is not None
    assert bench.record.decision.set_point <= LAWS[WAKES].highest < 1.0


@pytest.mark.parametrize("name", ["cascade", "pid"])
def test_the_law_that_looks_ahead_decides(name: str) -> None:
    """A law that looks at no more than the age of now would raise M at each waking, for ever."""
    assert make_policy(name, flush_law=WAKES, fixed_io_capacity_max=700).name == "cascade"


def test_a_drain_waits_for_it() -> None:
    """A drain asked for meanwhile is taken, writes nothing, and says what it waits for."""
    bench = asleep_again()
    record = bench.turn(drain("25%"))

    assert record.acknowledgements[0].accepted
    bench.turns(10)
    assert bench.server.applied == []
    assert SLEEPS in bench.record.decision.detail


def test_a_person_is_heard_while_it_sleeps() -> None:
    """An override is written at once: who asks for it knows why."""
    bench = asleep_again()
    bench.turn(command("override", value=900, ttl=60.0))

    assert bench.server.capacity.io_capacity_max == 900
