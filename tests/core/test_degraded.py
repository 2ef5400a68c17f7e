"""A server whose counters are off: what the loop still does, what it keeps away from, and what it says."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, MEBIBYTE, SAVED, A, codes, held
from tuner.core.gate import GateState
from tuner.core.laws import MARGIN
from tuner.core.memory import Learned, learn
from tuner.core.step import start
from tuner.records import ENABLE_COUNTERS, Capacity, DecisionKind, HoldCode, Missed, Remedy, Sample
from tuner.remedies import told

OFF = {"degraded": True}


def said(bench: Bench, code: str) -> str:
    """Return the message of the last tick's event of this code."""
    (event,) = [one for one in bench.record.events if one.code == code]
    return told(event)


def restarted_without_counters(bench: Bench) -> Bench:
    """Restart mysqld, whose counters are off afterwards, and let the loop find its way back."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.shows = OFF
    bench.turns(3)
    bench.turn(SAVED)
    bench.turns(60)
    return bench


def test_counters_that_go_off_are_said_with_what_that_means(bench: Bench) -> None:
    """The event names what is weaker now, and every statement that turns the counters on; so does the end."""
    bench.server.shows = OFF
    bench.turn()
    off = said(bench, "degraded")
    bench.turns(20)
    assert not any("degraded" in codes(record) for record in bench.records[-20:])
    bench.server.shows = {}
    bench.turn()

    assert "sync flushing are unknown" in off
    assert "checkpoint" in off
    assert all(statement in off for statement in ENABLE_COUNTERS)
    assert "afresh" in said(bench, "counters_back")


def test_a_first_reading_without_counters_is_said() -> None:
    """A daemon that begins beside such a server says so at once."""
    bench = Bench(ACTIVE)
    bench.server.shows = OFF
    bench.turn()

    assert said(bench, "degraded")


def test_write_combining_is_not_learned_from_the_checkpoints_age(bench: Bench) -> None:
    """Ages that jump with every checkpoint would teach nonsense; what was known stays."""
    bench.turns(60)
    known = bench.state.estimator.load
    bench.server.shows = OFF
    bench.server.density = 0.002
    bench.turns(60)

    assert bench.state.estimator.load == known


def test_the_set_point_keeps_more_distance(bench: Bench) -> None:
    """A derived set-point is a tenth lower and says why; a person's stays what they said."""
    bench.turns(60)
    usual = bench.record.decision.set_point
    bench.server.shows = OFF
    bench.turns(60)
    decision = bench.record.decision

    assert usual is not None
    assert decision.set_point == pytest.approx(usual - MARGIN, abs=0.03)
    assert decision.set_point_source == "degraded"
    told = Bench(replace(ACTIVE, set_point=0.7), FakeServer())
    told.server.shows = OFF
    assert told.turns(20).decision.set_point == 0.7


def test_a_law_that_was_never_verified_is_not_written_without_counters() -> None:
    """Beside a server never seen with its counters the loop holds, and says which statements help."""
    bench = Bench(ACTIVE, originals=DEFAULT)
    bench.server.shows = OFF
    bench.server.redo_rate = 4e6
    bench.turns(120)
    (hold,) = bench.record.holds

    assert hold.code is HoldCode.MODEL_MISMATCH
    assert "counters are off" in hold.reason
    assert FACTS.version in hold.reason
    assert hold.remedies == (Remedy.ENABLE_COUNTERS,)
    assert bench.server.applied == []


def test_the_loop_goes_on_without_counters_that_it_has_seen_match(bench: Bench) -> None:
    """Where somebody turns them off the law is known by then: no hold, and the load is still followed."""
    bench.server.shows = OFF
    bench.turns(20)
    begun = len(bench.server.applied)
    bench.server.redo_rate = 4e6
    bench.turns(60)

    assert held(bench.record) == set()
    assert len(bench.server.applied) > begun


def test_a_restart_into_no_counters_is_no_end(bench: Bench) -> None:
    """The version whose law had matched before mysqld's restart is tuned on after it."""
    restarted_without_counters(bench)
    begun = len(bench.server.applied)
    bench.server.redo_rate = 4e6
    bench.turns(60)

    assert held(bench.record) == set()
    assert len(bench.server.applied) > begun


def test_a_law_that_stopped_to_match_is_not_trusted_without_counters(bench: Bench) -> None:
    """What was verified once and matched no more before the counters went needs them back."""
    bench.server.skew = 900
    bench.turns(30)
    bench.server.shows = OFF
    bench.turns(20)
    (hold,) = bench.record.holds
    assert hold.code is HoldCode.MODEL_MISMATCH
    assert Remedy.ENABLE_COUNTERS in hold.remedies
    restarted_without_counters(bench)

    assert held(bench.record) == {"model_mismatch"}


def test_an_upgrade_into_no_counters_holds(bench: Bench) -> None:
    """Another version may have another law, which nobody has seen match."""
    bench.turns(10)
    newer = replace(bench.server.facts(), version="9.8.0", started=0.0)
    bench.server.facts = lambda: newer  # type: ignore[method-assign] # a newer server
    restarted_without_counters(bench)

    (hold,) = bench.record.holds
    assert hold.code is HoldCode.MODEL_MISMATCH
    assert "9.8.0" in hold.reason


def test_counters_that_come_back_after_such_a_restart_prove_the_law_again(bench: Bench) -> None:
    """Once it can be checked it is, before the next write of the policy."""
    restarted_without_counters(bench)
    bench.server.shows = {}
    bench.turns(2)
    assert "model_mismatch" in held(bench.record)
    bench.turns(20)

    assert held(bench.record) == set()


def test_what_was_verified_outlives_the_daemon(bench: Bench) -> None:
    """The next daemon knows the version; one of an older program's journal begins without."""
    bench.turns(10)
    blob = msgspec.msgpack.encode(learn(bench.state.estimator, proven=bench.state.gate.proven))
    again = start(ACTIVE, FACTS, learned=msgspec.msgpack.decode(blob, type=Learned))

    assert again.gate == GateState(proven=FACTS.version)
    assert start(ACTIVE, FACTS).gate == GateState()
    older = msgspec.msgpack.encode({"load": msgspec.to_builtins(bench.state.estimator.load)})
    assert msgspec.msgpack.decode(older, type=Learned).proven == ""


def test_an_emergency_is_seen_without_counters(bench: Bench) -> None:
    """When the redo fills M is raised at once, by the checkpoint's age."""
    bench.server.shows = OFF
    bench.turns(30)
    bench.server.redo_rate = 2.5e7
    record = bench.until("emergency", limit=20)

    assert record.decision.kind is DecisionKind.EMERGENCY
    assert record.decision.target is not None
    assert record.decision.target.io_capacity_max > 500


class Sawtooth(FakeServer):
    """A server that makes a checkpoint every seven seconds, and shows no other age."""

    checkpoint, made_at = 0, -7.0

    def read(self) -> Sample | Missed:
        """Return a reading with the last checkpoint for its tail."""
        if self.now - self.made_at >= 7.0:
            self.checkpoint, self.made_at = round(self.oldest) - 2 * MEBIBYTE, self.now
        self.shows = OFF | {"lsn_oldest": self.checkpoint, "lsn_checkpoint": self.checkpoint}
        return super().read()


def steered_by_checkpoints(rate: float, set_point: float) -> Bench:
    """Return a loop that has settled beside such a server, right after a checkpoint."""
    bench = Bench(replace(ACTIVE, set_point=set_point), Sawtooth(redo_rate=rate))
    bench.state = replace(bench.state, gate=GateState(proven=FACTS.version))
    bench.turn()
    bench.turn(SAVED)
    bench.turns(600)
    while bench.server.now > bench.server.made_at:  # type: ignore[attr-defined] # a Sawtooth
        bench.turn()
    return bench


def test_a_checkpoints_sawtooth_moves_nothing() -> None:
    """An age that only waits for the next checkpoint is neither steered by nor taken for an emergency."""
    bench = steered_by_checkpoints(3e6, 0.75)
    settled = bench.records[-300:]

    ratios = [record.estimate.age_ratio for record in settled if record.estimate is not None]
    highest = max(record.estimate.checkpoint_age for record in settled if record.estimate is not None) / A
    assert highest - min(ratios) > 0.2, "no sawtooth to speak of"
    assert max(ratios) - min(ratios) < 0.05
    assert sum(bool(record.decision.steps) for record in settled) <= 3
    assert not any(record.decision.kind is DecisionKind.EMERGENCY for record in settled)


def test_a_surge_is_not_slept_through_until_the_next_checkpoint() -> None:
    """What fills the redo between two checkpoints is an emergency before the second one shows it."""
    bench = steered_by_checkpoints(1e6, 0.6)
    bench.server.redo_rate = 6e6
    record = bench.until("emergency", limit=3)

    assert record.estimate is not None
    assert record.estimate.age_ratio < 0.7
