"""A clock that stands still for 300 s while the server works on: what passed meanwhile is nobody's rate."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer, replays
from tests.core.referee import Referee
from tests.factory import ACTIVE, EPOCH, SAVED, A, codes, command, held
from tuner.records import Capacity, Command, DecisionKind, Sample, TickRecord, Window

STILL = 300.0
WARM = 10
"""Readings after a gap until the pace decides again."""

WINDOW = Window(name="night", began=EPOCH, ends=EPOCH + 86_400.0, set_point=0.4, drain=True)


class Judged:
    """A loop under a steady load, in control, with a referee that has watched from its first tick."""

    def __init__(self, *, redo_rate: float = 1e6, combines: float = 0.0) -> None:
        server = FakeServer(redo_rate=redo_rate)
        server.combines = combines
        self.bench = Bench(ACTIVE, server)
        self.referee = Referee(saved=False)
        self.turn()
        self.turn(SAVED)
        self.turns(60)

    @property
    def server(self) -> FakeServer:
        """Return the server beside it."""
        return self.bench.server

    def turn(self, *commands: Command) -> TickRecord:
        """Tick once and let the referee look."""
        numbered = [replace(one, number=n) for n, one in enumerate(commands, 1)]
        before, ours = self.bench.state, self.server.ours
        record = self.bench.turn(*numbered)
        self.referee.judge(before, record, self.bench.state, ours=ours)
        return record

    def turns(self, count: int) -> list[TickRecord]:
        """Tick so many times."""
        return [self.turn() for _ in range(count)]

    def silent(self, count: int) -> None:
        """Tick so many times while the server does not answer."""
        self.server.down = "did not answer within 1 s"
        self.turns(count)
        self.server.down = ""


def still(judged: Judged) -> None:
    """Let our clock stand still."""
    judged.bench.stand_still(STILL)


def all_still(judged: Judged) -> None:
    """Let the wall clock stand still with it."""
    judged.bench.stand_still(STILL, wall=True)


def paused(judged: Judged) -> None:
    """Let the server's machine stand still."""
    judged.bench.pause_server(STILL)


def wall_set(judged: Judged) -> None:
    """Set the daemon's wall clock."""
    judged.server.wall_ahead += STILL


GAPS = {one.__name__: one for one in (still, all_still, paused, wall_set)}
BESIDE: dict[str, tuple[Command, ...]] = {
    "nothing": (),
    "override": (command("override", value=700, ttl=3600.0),),
    "drain": (command("drain", value="30%", ttl=3600.0),),
    "pause": (command("pause"),),
    "park": (command("park"),),
    "restore": (command("restore"),),
    "advisory": (command("mode", value="advisory"),),
    "schedule": (command("schedule", windows=(WINDOW,)),),
}


def written(records: Iterable[TickRecord]) -> list[DecisionKind]:
    """Return what these ticks wrote."""
    return [one.decision.kind for one in records if one.decision.steps]


@pytest.mark.parametrize("missed", [0, 3, 12])
@pytest.mark.parametrize("lost", GAPS)
@pytest.mark.parametrize("rate", [2e5, 1e6, 4e6])
def test_what_passed_in_a_gap_changes_nothing(rate: float, lost: str, missed: int) -> None:
    """With readings or without, at low ages and high ones, M stays until there are rates again."""
    judged = Judged(redo_rate=rate)
    before = judged.server.capacity
    GAPS[lost](judged)
    judged.silent(missed)
    first, *others = judged.turns(WARM - 1)

    assert codes(first).count("clock_gap") == 1
    assert written([first, *others]) == []
    assert judged.server.capacity == before
    later = judged.turns(60)
    assert DecisionKind.EMERGENCY not in written(later)
    assert judged.server.capacity.io_capacity_max <= 4 * before.io_capacity_max


@pytest.mark.parametrize("missed", [0, 12])
@pytest.mark.parametrize("lost", ["still", "paused"])
@pytest.mark.parametrize("asked", BESIDE)
@pytest.mark.parametrize("when", ["before", "after", "at once"])
def test_nothing_that_is_asked_for_is_answered_by_rates_across_a_gap(
    when: str, asked: str, lost: str, missed: int
) -> None:
    """An override, drain, window, park or restore, begun before or after a gap, keeps all promises."""
    judged = Judged()
    if when == "before":
        judged.turn(*BESIDE[asked])
        judged.turns(5)
    GAPS[lost](judged)
    judged.silent(missed)
    if when == "at once":
        judged.turn(*BESIDE[asked])
    judged.turn()
    if when == "after":
        judged.turn(*BESIDE[asked])
    records = judged.turns(80)

    assert DecisionKind.EMERGENCY not in written(records)


@pytest.mark.parametrize("missed", [8, 30])
def test_a_park_that_is_owed_across_a_gap_goes_in_steps(missed: int) -> None:
    """A park after a gap waits for rates, goes one step at a time, and comes to its end."""
    judged = Judged()
    low = judged.server.capacity.io_capacity_max
    judged.bench.stand_still(STILL)
    judged.silent(missed)
    records = judged.turns(40)

    parks = [one.decision for one in records if one.decision.kind is DecisionKind.PARK]
    assert parks, "the first good contact parks"
    first = parks[0].target
    assert first is not None
    assert first.io_capacity_max <= ACTIVE.step_factor * low
    assert judged.bench.state.park_owed is None


def test_a_stop_soon_after_a_gap_parks_within_a_step() -> None:
    """A daemon that is told to stop before there are rates leaves no more than a step behind."""
    judged = Judged()
    low = judged.server.capacity.io_capacity_max
    judged.bench.stand_still(STILL)
    judged.turns(3)
    record = judged.turn(command("stop", value="park", who="SIGTERM"))

    assert record.decision.kind is DecisionKind.PARK
    assert low < judged.server.capacity.io_capacity_max <= ACTIVE.step_factor * low


@pytest.mark.parametrize("beside", ["nothing", "park owed"])
def test_an_age_that_really_runs_away_after_a_gap_is_met(beside: str) -> None:
    """Rates that were measured after the gap call an emergency, or a whole park, within seconds."""
    judged = Judged(combines=0.5)
    judged.bench.stand_still(STILL)
    if beside == "park owed":
        judged.silent(8)
    judged.server.redo_rate *= 12.0
    judged.server.oldest = judged.server.lsn - 0.88 * A
    records = judged.turns(6)

    raised = [one for one in records if one.decision.steps]
    assert raised, "somebody has to help"
    assert raised[0].decision.kind is (DecisionKind.PARK if beside == "park owed" else DecisionKind.EMERGENCY)


@pytest.mark.parametrize("pace", [0.0, 0.003, 0.4])
def test_a_clock_that_creeps_lets_nothing_be_written(pace: float) -> None:
    """While our clock counts a fraction of the seconds nothing is decided, and when it goes again, all is."""
    judged = Judged()
    before = judged.server.capacity
    records = []
    for _ in range(int(STILL)):
        judged.server.ahead -= 1.0 - pace
        records.append(judged.turn())

    assert written(records) == []
    assert judged.server.capacity == before
    judged.turns(15)
    assert judged.bench.record.decision.reason not in {"warming_up", "no_estimate"}


@pytest.mark.parametrize("still", [0.0, STILL])
def test_a_restart_in_a_gap_is_a_restart(still: float) -> None:
    """A mysqld that was restarted while our clock stood still has its values taken anew."""
    judged = Judged()
    judged.server.live(2.0)
    judged.server.restart(Capacity(200, 2000))
    judged.bench.stand_still(still)
    judged.server.lsn, judged.server.oldest = judged.server.lsn + 1e6, judged.server.lsn
    judged.server.rows = judged.server.flushed = 10.0
    record = judged.turn()

    assert "restarted" in codes(record)
    assert "foreign_change" not in codes(record)
    assert "restarted" in held(record)


def test_a_young_server_that_was_paused_was_not_restarted() -> None:
    """A server whose machine stood still for longer than it had been up keeps its originals."""
    judged = Judged()
    judged.server.started = judged.server.now - 60.0
    judged.turns(2)
    originals = judged.bench.state.originals
    judged.bench.pause_server(STILL)
    record = judged.turn()

    assert "clock_gap" in codes(record)
    assert "restarted" not in codes(record)
    assert judged.bench.state.originals == originals


@pytest.mark.parametrize("lost", GAPS)
def test_a_trace_with_a_gap_replays(lost: str) -> None:
    """The journal's bytes of a gap give the same decisions and the same state again."""
    judged = Judged()
    first = judged.bench.state
    seen = len(judged.bench.records)
    GAPS[lost](judged)
    judged.silent(7)
    judged.turns(30)
    records = judged.bench.records[seen:]

    assert replays(first, records, restart=len(records) // 2) == judged.bench.state


def test_means_that_go_on_for_minutes_do_not_go_on_across_a_gap() -> None:
    """A block of the comparison with the baseline ends, and what the device gave is still known."""
    judged = Judged()
    judged.turns(300)
    known = judged.bench.state.estimator.trends
    judged.bench.stand_still(STILL)
    judged.turn()
    state = judged.bench.state

    assert state.noharm.block is None
    assert (state.estimator.trends.rate_mean, state.estimator.trends.sustained) == (
        known.rate_mean,
        known.sustained,
    )
    assert isinstance(state.estimator.last, Sample)
