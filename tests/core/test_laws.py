"""Flush laws: one that changes, those by which no M moves the age, and one that sleeps."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.pace import AIM
from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import ACTIVE, DEFAULT, FACTS, A, command, held, sample
from tuner.core.decide.wishes import CATCHING_UP
from tuner.core.laws import asleep, unproven
from tuner.core.memory import learn
from tuner.core.step import start
from tuner.records import Capacity, DecisionKind, Sample
from tuner.settings import Settings

DEMAND = 400.0
"""Of the fake server's load, pages/s."""

LITTLE_ABOVE = Capacity(270, 540)
REMEDY = "innodb_max_dirty_pages_pct_lwm = 0.001"
UNSTEERED = sorted(name for name, law in LAWS.items() if not law.m_moves_age)


def unsteered(name: str, capacity: Capacity = LITTLE_ABOVE, settings: Settings = ACTIVE) -> Bench:
    """Return an active loop on which M moves no age, past the conditions of its first write."""
    server = FakeServer(capacity)
    server.told, server.rests_at = {"flush_law": name}, 0.98
    server.oldest = server.lsn - server.rests_at * A
    return Bench(settings, server).ready()


def test_a_law_that_changes_is_taken_over(bench: Bench) -> None:
    """It is said, and nothing is written before the gate is passed anew, by the law of before in the end.

    A server that says one law and flushes by another stays held.
    """
    bench.server.shows = {"flush_law": "high_checkpoint"}
    assert held(bench.turn()) == {"model_mismatch"}
    assert (bench.state.facts.flush_law, bench.state.gate.proven) == ("high_checkpoint", "")
    assert held(bench.turns(60)) == {"model_mismatch"}
    assert bench.state.gate.mismatched
    bench.server.shows = {"flush_law": "legacy"}
    bench.turns(30)

    assert held(bench.record) == set()
    assert bench.said("flush_law") == [
        "the flush law is high_checkpoint now and was legacy",
        "the flush law is legacy now and was high_checkpoint",
    ]


def test_readings_that_do_not_say_leave_the_facts_law(bench: Bench) -> None:
    """A reading without a law, or with one that this version does not know, changes nothing."""
    bench.server.shows = {"flush_law": "next-year's"}
    bench.turns(3)

    assert bench.state.facts.flush_law == "legacy"
    assert bench.codes("flush_law") == []


def test_a_law_that_changed_with_a_restart_is_said_as_such(bench: Bench) -> None:
    """The same version with another law is no other version."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.told = {"flush_law": "high_checkpoint"}
    bench.turns(3)

    assert bench.codes("flush_law", "version") == ["flush_law"]
    assert bench.state.facts.flush_law == "high_checkpoint"


def test_a_proof_is_of_one_law_also_for_the_next_daemon() -> None:
    """A law that came while no daemon ran has never matched, whatever the one before it did."""
    learned = learn(Bench().state.estimator, proven=FACTS.version, law="legacy")
    other = start(ACTIVE, replace(FACTS, flush_law="high_checkpoint"), learned=learned)

    assert start(ACTIVE, FACTS, learned=learned).gate.proven == FACTS.version
    assert other.gate.proven == ""
    assert unproven(other)


@pytest.mark.parametrize("name", UNSTEERED)
@pytest.mark.parametrize("wished", [None, 0.6])
def test_the_reason_says_what_would_give_authority(name: str, wished: float | None) -> None:
    """No hold, and no set-point is pretended: the decision names what would let M move the age."""
    bench = unsteered(name, settings=replace(ACTIVE, set_point=wished))
    assert held(bench.records[0]) == set()
    decision = bench.turns(30).decision

    assert decision.reason == "no_authority"
    assert REMEDY in decision.detail
    assert (decision.set_point, decision.set_point_source, decision.policy) == (1.0, "flush_law", "pace")
    assert not held(bench.record)
    assert unproven(bench.state) == "", "without its counters such a law needs no proof"


@pytest.mark.parametrize("name", UNSTEERED)
def test_a_default_far_above_the_demand_is_left_alone(name: str) -> None:
    """A page cleaner that is done soon sleeps again: in half an hour no M is lowered, and none written."""
    bench = unsteered(name, Capacity(200, 2_000))
    bench.turns(1800)

    assert bench.server.applied == []


def test_what_people_ask_where_no_m_moves_the_age() -> None:
    """A drain is refused with what would allow it; after an override M goes back, and no park lowers it."""
    bench = unsteered("soft-limit", Capacity(200, 2_000))
    bench.turns(30)
    accepted, said = bench.answer(drain("20%"))
    assert not accepted
    assert REMEDY in said
    bench.turn(command("override", value=900, ttl=20.0))
    assert bench.m == 900
    bench.turns(60)
    assert bench.m == 2_000
    bench.turn(command("park"))
    bench.turns(3)
    assert bench.m >= 2_000
    bench.turn(command("stop", value="park"))

    assert bench.m >= max(2_000, AIM * ACTIVE.park_slack * DEMAND * 0.98)


def test_a_drain_ends_where_the_authority_goes(full: Bench) -> None:
    """A drain under way is over, with the reason, when the law becomes one by which no M moves the age."""
    full.turn(drain())
    full.turns(5)
    full.server.shows = {"flush_law": "soft-limit"}
    full.turn()

    assert "no innodb_io_capacity_max moves the age" in full.said("drain_ended")[0]
    assert (full.state.drain, full.state.returning) == (None, None)
    assert full.turns(30).decision.policy == "pace"


def test_what_was_asked_for_long_ago_is_held_against_no_device() -> None:
    """A counter that stays at what adaptive flushing once asked for is no sign of a device at its limit."""
    bench = unsteered("soft-limit")
    bench.server.shows = {"flush_requested": 2_000}
    bench.turns(120)
    found = [one.estimate for one in bench.records if one.estimate is not None]

    assert all((one.authority, one.sustained_capacity) == (1.0, None) for one in found)
    assert "authority_lost" not in bench.codes()


def test_a_reading_of_before_has_its_low_water_mark() -> None:
    """Where a reading does not say it, it is what earlier versions took; where it says it, that counts."""
    before = sample(age=0.5 * A)

    assert before.low_water_age == pytest.approx(0.1 * before.stall_point)
    assert replace(before, low_water=30_000_000).low_water_age == 30_000_000.0


# A page cleaner that sleeps until the flush limit, whose M decides the age while it is awake.

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


def test_a_person_is_heard_while_it_sleeps(again: Bench) -> None:
    """A drain is taken, writes nothing and says what it waits for; an override is written at once."""
    assert again.answer(drain("25%"))[0]
    again.turns(10)
    assert again.server.applied == []
    assert SLEEPS in again.record.decision.detail
    again.turn(command("override", value=900, ttl=60.0))

    assert again.m == 900
