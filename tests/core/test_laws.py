"""A flush law that changes while the server runs, and servers on which no M moves the age."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.pace import AIM
from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import ACTIVE, FACTS, A, command, held, sample
from tuner.core.laws import unproven
from tuner.core.memory import learn
from tuner.core.step import start
from tuner.records import Capacity
from tuner.settings import Settings

DEMAND = 400.0
"""Of the fake server's load, pages/s."""

LITTLE_ABOVE = Capacity(270, 540)
REMEDY = "innodb_max_dirty_pages_pct_lwm = 0.001"
UNSTEERED = sorted(name for name, law in LAWS.items() if not law.authority)


def unsteered(name: str, capacity: Capacity = LITTLE_ABOVE, settings: Settings = ACTIVE) -> Bench:
    """Return an active loop beside a server of a law without authority, past its first write's conditions."""
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
    """A drain is refused with what would allow it; an override and a park work as anywhere."""
    bench = unsteered("soft-limit")
    bench.turns(30)
    accepted, said = bench.answer(drain("20%"))
    assert not accepted
    assert REMEDY in said
    bench.turn(command("override", value=900, ttl=20.0))
    assert bench.m == 900
    bench.turns(40)
    bench.turn(command("stop", value="park"))

    assert bench.m >= AIM * ACTIVE.park_slack * DEMAND * 0.98


def test_a_drain_ends_where_the_authority_goes(full: Bench) -> None:
    """A drain under way is over, with the reason, when the law becomes one by which no M moves the age."""
    full.turn(drain())
    full.turns(5)
    full.server.shows = {"flush_law": "soft-limit"}
    full.turn()

    assert "no M moves the age" in full.said("drain_ended")[0]
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
