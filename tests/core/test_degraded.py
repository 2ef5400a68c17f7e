"""A server whose counters are off: what the loop still does, what it keeps away from, and what it says."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, MEBIBYTE, SAVED, A, held
from tuner.core.gate import GateState
from tuner.core.laws import MARGIN
from tuner.core.memory import Learned, learn
from tuner.core.step import start
from tuner.records import ENABLE_COUNTERS, Capacity, DecisionKind, HoldCode, Missed, Remedy, Sample

OFF = {"degraded": True}


def restarted_without_counters(bench: Bench) -> None:
    """Restart mysqld, whose counters are off afterwards, and let the loop find its way back."""
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.shows = OFF
    bench.turns(3)
    bench.turn(SAVED)
    bench.turns(60)


def follows(bench: Bench, rate: float) -> bool:
    """Tell whether a load that changes to so many bytes a second is followed."""
    begun = len(bench.records)
    bench.server.redo_rate = rate
    bench.turns(60)
    return held(bench.record) == set() and bench.wrote(since=begun) != []


def test_counters_that_go_off_are_said_with_what_that_means(bench: Bench) -> None:
    """Once, with every statement that turns them on, and from the first reading on; so is their end."""
    bench.server.shows = OFF
    bench.turns(20)
    bench.server.shows = {}
    bench.turn()
    begins_so = Bench()
    begins_so.server.shows = OFF
    begins_so.turn()

    (said,) = bench.said("degraded")
    assert all(statement in said for statement in ENABLE_COUNTERS)
    assert len(bench.said("counters_back")) == len(begins_so.said("degraded")) == 1


def test_less_is_believed_without_counters(bench: Bench) -> None:
    """A derived set-point is a tenth lower, a person's is not; write combining is not learned."""
    bench.turns(60)
    usual, known = bench.set_point, bench.state.estimator.load
    bench.server.shows, bench.server.density = OFF, 0.002
    bench.turns(60)
    told = Bench(replace(ACTIVE, set_point=0.7))
    told.server.shows = OFF
    told.turns(20)

    assert bench.set_point == pytest.approx(usual - MARGIN, abs=0.03)
    assert bench.source == "degraded"
    assert bench.state.estimator.load == known
    assert told.set_point == 0.7


def test_the_loop_goes_on_without_counters_that_it_has_seen_match(bench: Bench) -> None:
    """Where somebody turns them off the law is known by then, and after a restart of mysqld still.

    Once it can be checked again it is, before the next write of the policy.
    """
    bench.server.shows = OFF
    bench.turns(20)
    assert follows(bench, 4e6)
    restarted_without_counters(bench)
    assert follows(bench, 1e6)
    bench.server.restart(Capacity(2_000, 4_000))
    bench.server.shows = {}
    bench.turns(2)
    bench.turn(SAVED)
    assert "model_mismatch" in held(bench.record)
    bench.turns(20)
    assert held(bench.record) == set()


@pytest.mark.parametrize("why", ["never verified", "stopped to match", "another version"])
def test_a_law_that_is_not_known_to_match_is_not_written_without_counters(bench: Bench, why: str) -> None:
    """The loop holds, after a restart of mysqld too, and says which statements help."""
    if why == "never verified":
        bench = Bench(originals=DEFAULT)
        bench.server.shows = OFF
        bench.turns(120)
        assert bench.server.applied == []
    elif why == "stopped to match":
        bench.server.skew = 900
        bench.turns(30)
        bench.server.shows = OFF
        bench.turns(20)
        assert held(bench.record) == {"model_mismatch"}
        restarted_without_counters(bench)
    else:
        newer = replace(bench.server.facts(), version="9.8.0", started=0.0)
        bench.server.facts = lambda: newer  # type: ignore[method-assign] # a newer server
        restarted_without_counters(bench)
    (hold,) = bench.record.holds

    assert hold.code is HoldCode.MODEL_MISMATCH
    assert bench.state.facts.version in hold.reason
    assert hold.remedies == (Remedy.ENABLE_COUNTERS,)


def test_what_was_verified_outlives_the_daemon(bench: Bench) -> None:
    """The next daemon knows the version whose law had matched."""
    blob = msgspec.msgpack.encode(learn(bench.state.estimator, proven=bench.state.gate.proven))
    again = start(ACTIVE, FACTS, learned=msgspec.msgpack.decode(blob, type=Learned))

    assert again.gate == GateState(proven=FACTS.version)
    assert start(ACTIVE, FACTS).gate == GateState()


def test_an_emergency_is_seen_without_counters(bench: Bench) -> None:
    """When the redo fills M is raised at once, by the checkpoint's age."""
    bench.server.shows = OFF
    bench.turns(30)
    bench.server.redo_rate = 2.5e7
    bench.until("emergency", limit=20)

    assert bench.m > 500


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
    server = Sawtooth(redo_rate=rate)
    bench = Bench(replace(ACTIVE, set_point=set_point), server)
    bench.state = replace(bench.state, gate=GateState(proven=FACTS.version))
    bench.ready()
    bench.turns(600)
    while server.now > server.made_at:
        bench.turn()
    return bench


def test_a_checkpoints_sawtooth_moves_nothing() -> None:
    """An age that only waits for the next checkpoint is neither steered by nor taken for an emergency."""
    bench = steered_by_checkpoints(3e6, 0.75)
    found = [record.estimate for record in bench.records[-300:] if record.estimate is not None]
    ratios = [one.age_ratio for one in found]

    assert max(one.checkpoint_age for one in found) / A - min(ratios) > 0.2, "no sawtooth to speak of"
    assert max(ratios) - min(ratios) < 0.05
    assert len(bench.wrote(since=-300)) <= 3
    assert DecisionKind.EMERGENCY not in bench.wrote(since=-300)


def test_a_surge_is_not_slept_through_until_the_next_checkpoint() -> None:
    """What fills the redo between two checkpoints is an emergency before the second one shows it."""
    bench = steered_by_checkpoints(1e6, 0.6)
    bench.server.redo_rate = 6e6
    record = bench.until("emergency", limit=3)

    assert record.estimate is not None
    assert record.estimate.age_ratio < 0.7
