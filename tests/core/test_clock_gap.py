"""What is a gap between the clocks, and what the loop makes of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer, replays
from tests.core.referee import Referee
from tests.factory import ACTIVE, EPOCH, SAVED, A, codes, command, held, sample
from tuner.core.estimate.clocks import Clocks, update
from tuner.records import Capacity, Command, DecisionKind, Sample, TickRecord
from tuner.system.clock import SystemClock

STILL = 300.0
WARM = 10
"""Readings after a gap until the pace decides again."""


class Judged(Bench):
    """A loop under a steady load, in control, with a referee that has watched from its first tick."""

    def __init__(self, *, redo_rate: float = 1e6, combines: float = 0.0) -> None:
        server = FakeServer(redo_rate=redo_rate)
        server.combines = combines
        super().__init__(ACTIVE, server)
        self.referee = Referee(saved=False)
        self.turn()
        self.turn(SAVED)
        self.turns(60)

    def turn(self, *commands: Command, seconds: float = 1.0) -> TickRecord:
        """Tick once and let the referee look."""
        numbered = [replace(one, number=n) for n, one in enumerate(commands, 1)]
        before, ours = self.state, self.server.ours
        record = super().turn(*numbered, seconds=seconds)
        self.referee.judge(before, record, self.state, ours=ours)
        return record


def wall_set(bench: Bench) -> None:
    """Set the daemon's wall clock."""
    bench.server.wall_ahead += STILL


GAPS: dict[str, Callable[[Bench], None]] = {
    "still": lambda bench: bench.stand_still(STILL),
    "all still": lambda bench: bench.stand_still(STILL, wall=True),
    "paused": lambda bench: bench.pause_server(STILL),
    "wall set": wall_set,
}


@pytest.mark.parametrize(("rate", "missed"), [(2e5, 0), (2e5, 12), (1e6, 3), (4e6, 0), (4e6, 12)])
@pytest.mark.parametrize("lost", GAPS)
def test_what_passed_in_a_gap_changes_nothing(rate: float, lost: str, missed: int) -> None:
    """With readings or without, at low ages and high ones, M stays until there are rates again."""
    bench = Judged(redo_rate=rate)
    before, first, seen = bench.m, bench.state, len(bench.records)
    GAPS[lost](bench)
    bench.silent(missed)
    bench.turns(WARM - 1)

    assert bench.codes("clock_gap", since=seen) == ["clock_gap"]
    assert bench.wrote(since=seen) == []
    bench.turns(60)
    assert DecisionKind.EMERGENCY not in bench.wrote(since=seen)
    assert bench.m <= 4 * before
    records = bench.records[seen:]
    assert replays(first, records, restart=len(records) // 2) == bench.state


@pytest.mark.parametrize("missed", [8, 30])
def test_a_park_that_is_owed_across_a_gap_goes_in_steps(missed: int) -> None:
    """A park after a gap waits for rates, goes one step at a time, and comes to its end."""
    bench = Judged()
    low = bench.m
    bench.stand_still(STILL)
    bench.silent(missed)
    begun = len(bench.records)
    bench.turns(40)

    parks = [one.decision for one in bench.records[begun:] if one.decision.kind is DecisionKind.PARK]
    assert parks, "the first good contact parks"
    assert parks[0].target is not None
    assert parks[0].target.io_capacity_max <= ACTIVE.step_factor * low
    assert bench.state.park_owed is None


def test_a_stop_soon_after_a_gap_parks_within_a_step() -> None:
    """A daemon that is told to stop before there are rates leaves no more than a step behind."""
    bench = Judged()
    low = bench.m
    bench.stand_still(STILL)
    bench.turns(3)

    assert bench.turn(command("stop", value="park", who="SIGTERM")).decision.kind is DecisionKind.PARK
    assert low < bench.m <= ACTIVE.step_factor * low


@pytest.mark.parametrize(("missed", "kind"), [(0, DecisionKind.EMERGENCY), (8, DecisionKind.PARK)])
def test_an_age_that_really_runs_away_after_a_gap_is_met(missed: int, kind: DecisionKind) -> None:
    """Rates that were measured after the gap call an emergency, or a whole park, within seconds."""
    bench = Judged(combines=0.5)
    bench.stand_still(STILL)
    bench.silent(missed)
    bench.server.redo_rate *= 12.0
    bench.server.oldest = bench.server.lsn - 0.88 * A
    begun = len(bench.records)
    bench.turns(6)

    assert bench.wrote(since=begun)[:1] == [kind]


@pytest.mark.parametrize("pace", [0.0, 0.003, 0.4])
def test_a_clock_that_creeps_lets_nothing_be_written(pace: float) -> None:
    """While our clock counts a fraction of the seconds nothing is decided, and when it goes again, all is."""
    bench = Judged()
    seen = len(bench.records)
    for _ in range(int(STILL)):
        bench.server.ahead -= 1.0 - pace
        bench.turn()

    assert bench.wrote(since=seen) == []
    bench.turns(15)
    assert bench.record.decision.reason not in {"warming_up", "no_estimate"}


@pytest.mark.parametrize("still", [0.0, STILL])
def test_a_restart_in_a_gap_is_a_restart(still: float) -> None:
    """A mysqld that was restarted while our clock stood still has its values taken anew."""
    bench = Judged()
    bench.server.live(2.0)
    bench.server.restart(Capacity(200, 2000))
    bench.stand_still(still)
    bench.server.lsn, bench.server.oldest = bench.server.lsn + 1e6, bench.server.lsn
    bench.server.rows = bench.server.flushed = 10.0
    record = bench.turn()

    assert "restarted" in codes(record)
    assert "foreign_change" not in codes(record)
    assert "restarted" in held(record)


def test_a_young_server_that_was_paused_was_not_restarted() -> None:
    """A server whose machine stood still for longer than it had been up keeps its originals."""
    bench = Judged()
    bench.server.started = bench.server.now - 60.0
    bench.turns(2)
    originals = bench.state.originals
    bench.pause_server(STILL)
    said = codes(bench.turn())

    assert "clock_gap" in said
    assert "restarted" not in said
    assert bench.state.originals == originals


def test_means_that_go_on_for_minutes_do_not_go_on_across_a_gap() -> None:
    """A block of the comparison with the baseline ends, and what the device gave is still known."""
    bench = Judged()
    bench.turns(300)
    known = bench.state.estimator.trends
    bench.stand_still(STILL)
    bench.turn()
    trends = bench.state.estimator.trends

    assert bench.state.baseline_guard.block is None
    assert (trends.rate_mean, trends.sustained) == (known.rate_mean, known.sustained)


# What is a gap, and what is none.

UP = 86_400.25


def reading(
    lived: float, *, ours: float | None = None, wall: float | None = None, slow: float = 0.001
) -> Sample:
    """Return a reading of a server that lived so many seconds, at these times of our clocks."""
    now = lived if ours is None else ours
    return replace(
        sample(now, uptime=float(math.floor(UP + lived))),
        wall=EPOCH + (now if wall is None else wall),
        read_seconds=slow,
    )


def gaps(readings: Iterable[Sample]) -> list[str]:
    """Return what is said of these readings, one after the other."""
    state, said = Clocks(), []
    for one in readings:
        state, why = update(state, one)
        said += [why] if why else []
    return said


QUIET: dict[str, Callable[[int], Sample]] = {
    "whole seconds": lambda n: reading(0.93 * n),
    "readings far apart": lambda n: reading(61.7 * n),
    "readings close together": lambda n: reading(0.05 * n),
    "a clock that drifts by half a percent": lambda n: reading(n, ours=1.005 * n, wall=n),
    "a server's clock that is slewed": lambda n: reading(1.004 * n, ours=n),
    "a reading that took a second, now and then": lambda n: reading(
        n + (0.9 if n % 7 == 3 else 0.0), ours=float(n), slow=0.9 if n % 7 == 3 else 0.001
    ),
    "a server's clock set by half a second": lambda n: reading(n + (0.5 if n > 200 else 0.0), ours=float(n)),
}

LOST: dict[str, Callable[[float, float], Sample]] = {
    "suspended": lambda n, more: reading(n + more, ours=n, wall=n + more),
    "our clocks stand still": lambda n, more: reading(n + more, ours=n),
    "the server is paused": lambda n, more: reading(n, ours=n + more),
    "the wall clock is set": lambda n, more: reading(n, wall=n + more),
}
"""Readings after n seconds, of which one clock has counted more than another."""


@pytest.mark.parametrize("name", QUIET)
def test_what_clocks_always_do_is_no_gap(name: str) -> None:
    """Whole seconds, drift, slow readings and small steps interrupt nothing, however long it goes on."""
    assert gaps(QUIET[name](n) for n in range(2000)) == []


@pytest.mark.parametrize("lost", [3.0, 30.0, 300.0, 86_400.0])
@pytest.mark.parametrize("how", LOST)
def test_seconds_that_one_clock_did_not_count_are_a_gap(how: str, lost: float) -> None:
    """Whichever clock stood still or was set, it is said once and by how much."""
    (said,) = gaps(LOST[how](float(n), lost if n >= 100 else 0.0) for n in range(300))

    assert any(f" {lost + off:.0f} s " in said for off in (-2.0, -1.0, 0.0, 1.0))


@pytest.mark.parametrize("pace", [0.0, 0.003, 0.1, 0.4])
def test_a_clock_that_creeps_is_found_out_within_seconds(pace: float) -> None:
    """A clock that counts a fraction of the time never gathers the readings that an emergency believes."""
    state, longest = Clocks(), 0.0
    for n in range(300):
        state, why = update(state, reading(float(n), ours=pace * n))
        longest = pace + (0.0 if why else longest)

    assert longest < 3.0
    assert state.gap is not None


@pytest.mark.parametrize(
    ("source", "counted", "shown"),
    [(7, [1000.0, 1001.0, 1301.0], [51.0, 351.0]), (None, [50.0, 50.0, 51.5], [51.5])],
    ids=["one that counts suspensions", "the monotonic one alone"],
)
def test_seconds_in_which_the_machine_was_suspended_count(
    monkeypatch: pytest.MonkeyPatch, source: int | None, counted: list[float], shown: list[float]
) -> None:
    """Time goes on from where the monotonic clock began, by one that counts suspensions if there is."""
    times = iter(counted)
    monkeypatch.setattr("tuner.system.clock._WHILE_SUSPENDED", source)
    monkeypatch.setattr("time.monotonic", (lambda: 50.0) if source else (lambda: next(times)))
    monkeypatch.setattr("time.clock_gettime", lambda _: next(times))
    clock = SystemClock()

    assert [clock.monotonic() for _ in shown] == shown
