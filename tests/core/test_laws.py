"""A flush law that changes while the server runs, and servers on which no M moves the age."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from policies.pace import AIM
from policies.registry import LAWS
from tests.bench import Bench, FakeServer
from tests.core.loops import drain
from tests.factory import ACTIVE, DEFAULT, FACTS, SAVED, A, codes, command, estimate, held, sample
from tuner.core.gate import NEEDED, GateState, update
from tuner.core.laws import unproven
from tuner.core.memory import learn
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.step import start
from tuner.records import Capacity, TickRecord
from tuner.settings import Settings

DEMAND = 400.0
"""Of the fake server's load, pages/s."""

UNSTEERED = sorted(name for name, law in LAWS.items() if not law.authority)


def told(record: TickRecord, code: str) -> str:
    """Return the message of the tick's event of this code."""
    (event,) = [one for one in record.events if one.code == code]
    return event.message


def unsteered(name: str, *, capacity: Capacity = DEFAULT, settings: Settings = ACTIVE) -> Bench:
    """Return an active loop beside a server of a law without authority, past its first write's conditions."""
    server = FakeServer(capacity)
    server.told, server.rests_at = {"flush_law": name}, 0.98
    server.oldest = server.lsn - server.rests_at * A
    bench = Bench(settings, server)
    bench.turn()
    bench.turn(SAVED)
    return bench


def test_a_law_that_changes_is_taken_over(bench: Bench) -> None:
    """The event names both laws, the facts follow, and nothing is written before the gate is passed anew."""
    bench.server.shows = {"flush_law": "high_checkpoint"}
    record = bench.turn()

    assert told(record, "flush_law") == "the flush law is high_checkpoint now and was legacy"
    assert bench.state.facts.flush_law == "high_checkpoint"
    assert held(record) == {"model_mismatch"}
    assert bench.state.gate.proven == ""
    assert "flush_law" not in codes(bench.turn())


def test_a_law_that_is_not_the_servers_is_found_out(bench: Bench) -> None:
    """A server that says one law and flushes by another stays held: its percentages are not that law's."""
    bench.server.shows = {"flush_law": "high_checkpoint"}
    record = bench.turns(60)

    assert held(record) == {"model_mismatch"}
    assert bench.state.gate.mismatched


def test_back_again_the_loop_goes_on(bench: Bench) -> None:
    """The law of before, once its percentages match again, is written by as before."""
    bench.server.shows = {"flush_law": "high_checkpoint"}
    bench.turns(30)
    bench.server.shows = {"flush_law": "legacy"}
    record = bench.turn()

    assert told(record, "flush_law") == "the flush law is legacy now and was high_checkpoint"
    assert held(bench.turns(30)) == set()


def test_readings_that_do_not_say_leave_the_facts_law(bench: Bench) -> None:
    """A reading without a law, or with one that this version does not know, changes nothing."""
    bench.server.shows = {"flush_law": "next-year's"}
    bench.turns(3)

    assert bench.state.facts.flush_law == "legacy"
    assert not any("flush_law" in codes(record) for record in bench.records)


def test_a_law_that_changed_with_a_restart_is_said_as_such(bench: Bench) -> None:
    """The same version with another law is no other version."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.told = {"flush_law": "high_checkpoint"}
    seen = {code for _ in range(3) for code in codes(bench.turn())}

    assert "flush_law" in seen
    assert "version" not in seen
    assert bench.state.facts.flush_law == "high_checkpoint"


def test_a_proof_is_of_one_law_also_for_the_next_daemon() -> None:
    """A law that came while no daemon ran has never matched, whatever the one before it did."""
    learned = learn(Bench().state.estimator, proven=FACTS.version, law="legacy")
    other = replace(FACTS, flush_law="high_checkpoint")

    assert start(ACTIVE, FACTS, learned=learned).gate.proven == FACTS.version
    assert start(ACTIVE, other, learned=learned).gate.proven == ""
    assert unproven(start(ACTIVE, other, learned=learned))


def test_a_snapshot_outlives_a_change_of_law(bench: Bench) -> None:
    """A replay that begins after the change begins with the policy of the law in force."""
    bench.server.shows = {"flush_law": "soft-limit"}
    bench.turns(5)

    assert decode_state(encode_state(bench.state)).policy == bench.state.policy


@pytest.mark.parametrize("name", UNSTEERED)
def test_the_reason_says_what_would_give_authority(name: str) -> None:
    """Whoever reads the decision learns that no M moves the age here, and which setting would let it."""
    record = unsteered(name, capacity=Capacity(270, 540)).turns(30)

    assert record.decision.reason == "no_authority"
    assert "no M moves the age below the flush limit here" in record.decision.detail
    assert "innodb_max_dirty_pages_pct_lwm = 0.001" in record.decision.detail
    assert (record.decision.set_point, record.decision.set_point_source) == (1.0, "flush_law")
    assert record.decision.policy == "pace"
    assert not held(record)


@pytest.mark.parametrize("name", UNSTEERED)
def test_a_default_far_above_the_demand_is_left_alone(name: str) -> None:
    """A page cleaner that is done soon sleeps again: in half an hour no M is lowered, and none written."""
    bench = unsteered(name, capacity=Capacity(200, 2_000))
    bench.turns(1800)

    assert bench.server.applied == []


def test_a_persons_set_point_does_not_pretend() -> None:
    """A set-point that nothing can hold is not shown as if it were held."""
    wished = replace(ACTIVE, set_point=0.6)
    record = unsteered("soft-limit", capacity=Capacity(270, 540), settings=wished).turns(30)

    assert record.decision.set_point == 1.0


def test_a_drain_is_refused_with_what_would_allow_it() -> None:
    """An age that no M brings down is no target."""
    bench = unsteered("soft-limit", capacity=Capacity(270, 540))
    bench.turns(30)
    record = bench.turn(drain("20%"))

    assert not record.acknowledgements[0].accepted
    assert "innodb_max_dirty_pages_pct_lwm = 0.001" in record.acknowledgements[0].message


def test_a_drain_ends_where_the_authority_goes(full: Bench) -> None:
    """A drain under way is over, with the reason, when the law becomes one by which no M moves the age."""
    full.turn(drain())
    full.turns(5)
    full.server.shows = {"flush_law": "soft-limit"}
    record = full.turn()

    assert "no M moves the age" in told(record, "drain_ended")
    assert (full.state.drain, full.state.returning) == (None, None)
    assert full.turns(30).decision.policy == "pace"


def test_an_override_and_a_park_work_as_anywhere() -> None:
    """A person's value is held, and what is left behind suits the load with slack."""
    bench = unsteered("soft-limit", capacity=Capacity(270, 540))
    bench.turns(30)
    bench.turn(command("override", value=900, ttl=20.0))
    assert bench.server.capacity.io_capacity_max == 900
    bench.turns(40)
    bench.turn(command("stop", value="park"))

    assert bench.server.capacity.io_capacity_max >= AIM * ACTIVE.park_slack * DEMAND * 0.98


def test_what_was_asked_for_long_ago_is_held_against_no_device() -> None:
    """A counter that stays at what adaptive flushing once asked for is no sign of a device at its limit."""
    bench = unsteered("soft-limit", capacity=Capacity(270, 540))
    bench.server.shows = {"flush_requested": 2_000}
    bench.turns(120)

    assert all(one.estimate.authority == 1.0 for one in bench.records if one.estimate is not None)
    assert not any("authority_lost" in codes(record) for record in bench.records)
    assert bench.record.estimate is not None
    assert bench.record.estimate.sustained_capacity is None


def test_the_gate_asks_nothing_of_such_a_law() -> None:
    """The percentage of a server that does not flush by it proves and disproves nothing."""
    state, law = GateState(), LAWS["soft-limit"]
    for second in range(2 * NEEDED):
        last = sample(float(second), flush_percentage=288)
        state = update(state, law, last, sample(second + 1.0, flush_percentage=288), estimate())

    assert state.verified
    assert not state.mismatched


def test_without_counters_such_a_law_needs_no_proof() -> None:
    """Nothing was to be verified, so a server whose counters are off is not held for that."""
    assert unproven(unsteered("soft-limit").state) == ""


def test_a_reading_of_before_has_its_low_water_mark() -> None:
    """Where a reading does not say it, it is what earlier versions took; where it says it, that counts."""
    before = sample(age=0.5 * A)

    assert before.low_water_age == pytest.approx(0.1 * before.stall_point)
    assert replace(before, low_water=30_000_000).low_water_age == 30_000_000.0


@pytest.mark.parametrize("name", UNSTEERED)
def test_nothing_is_said_to_be_unverified_where_nothing_has_to_be(name: str) -> None:
    """The first reading of a server that goes by no percentage is no warning that its law is in doubt."""
    server = FakeServer(DEFAULT)
    server.told = {"flush_law": name}

    assert held(Bench(ACTIVE, server).turn()) == set()
