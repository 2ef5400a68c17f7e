"""The pace of a restore: bounded by what writing statements take, and never for ever."""

from __future__ import annotations

import itertools

import pytest

from tests.bench import Bench
from tests.factory import DEFAULT, codes, command, sample
from tuner.core.estimate import latency
from tuner.core.estimate.latency import LONGEST_WAIT, STEP_SECONDS, Pace
from tuner.records import Capacity, DecisionKind
from tuner.settings import Mode

MILLISECOND = 0.001


def seen(pace: Pace, *latencies: float | None, rate: int = 1000) -> Pace:
    """Return a pace after a second each with such a mean latency; None where it cannot be seen."""
    last = pace.readings[-1] if pace.readings else latency.Reading(999.0, 10_000, 50.0)
    at, statements, seconds = last.at, last.statements, last.seconds
    for one in latencies:
        at += 1.0
        if one is None:
            pace = latency.see(pace, sample(at - 1000.0))
            continue
        statements, seconds = statements + rate, seconds + rate * one
        pace = latency.see(pace, sample(at - 1000.0, write_statements=statements, write_time=seconds))
    return pace


def started(baseline: float) -> Pace:
    """Return a pace right after its first step, with a baseline."""
    pace = seen(Pace(begun=1000.0), *[baseline] * 6)
    return latency.stepped(pace, now=pace.readings[-1].at)


def test_the_baseline_is_measured_before_the_first_step() -> None:
    """No step is taken before five seconds of the latency as it was are known."""
    pace = Pace(begun=1000.0)
    said = []
    for _ in range(6):
        pace = seen(pace, 2 * MILLISECOND)
        said.append(latency.judge(pace, now=pace.readings[-1].at).go)

    assert said == [False] * 5 + [True]
    assert pace.baseline == pytest.approx(2 * MILLISECOND)
    assert pace.limit == pytest.approx(5 * MILLISECOND)


@pytest.mark.parametrize(("now", "go"), [(4.9, True), (5.1, False)])
def test_the_next_step_needs_a_latency_near_the_baseline(now: float, *, go: bool) -> None:
    """Twice the baseline and a millisecond are borne; above that the next step waits and says so."""
    pace = seen(started(2 * MILLISECOND), *[now * MILLISECOND] * 6)

    verdict = latency.judge(pace, now=pace.readings[-1].at)

    assert verdict.go is go
    assert f"writes take {now:.1f} ms, 5.0 ms allowed" in verdict.why


def test_only_what_came_after_the_step_counts() -> None:
    """A burst that is over does not hold the next step up, and one from before the step neither."""
    pace = seen(started(2 * MILLISECOND), *[40 * MILLISECOND] * 3, *[2 * MILLISECOND] * 6)

    assert latency.judge(pace, now=pace.readings[-1].at).go


def test_two_steps_are_five_seconds_apart_however_fast_the_server_is() -> None:
    """A low latency does not make the way back any quicker."""
    pace = seen(started(2 * MILLISECOND), *[1 * MILLISECOND] * 4)

    assert not latency.judge(pace, now=pace.readings[-1].at).go


def test_nobody_waits_for_ever() -> None:
    """A server that stays slow is gone on with after a minute, and the detail says that."""
    pace = seen(started(2 * MILLISECOND), *[50 * MILLISECOND] * int(LONGEST_WAIT))
    stepped = pace.stepped
    assert stepped is not None

    assert not latency.judge(pace, now=stepped + LONGEST_WAIT - 1.0).go
    late = latency.judge(pace, now=stepped + LONGEST_WAIT)
    assert late.go
    assert "gone on after waiting 60 s" in late.why


@pytest.mark.parametrize(("hidden", "after"), [(True, 0.0), (False, latency.APPEAR_SECONDS)])
def test_without_the_counters_time_sets_the_pace(*, hidden: bool, after: float) -> None:
    """Where the account cannot see the latency the steps come by time, at once or when that is clear."""
    pace = seen(Pace(begun=1000.0), None, None)

    assert latency.judge(pace, now=1000.0 + after, hidden=hidden).go
    assert "not visible" in latency.judge(pace, now=1000.0 + after, hidden=hidden).why
    assert latency.judge(pace, now=1000.0, hidden=False).go is False


def test_a_server_without_writes_is_not_waited_for() -> None:
    """Where no statement ends there is no latency that a step could hurt."""
    pace = seen(Pace(begun=1000.0), *[0.0] * 6, rate=0)
    verdict = latency.judge(pace, now=1006.0)

    assert verdict.go
    assert "nothing is written" in verdict.why


def test_counters_that_went_back_begin_anew() -> None:
    """After a reset of the server's statistics no latency is worked out across it."""
    pace = seen(started(2 * MILLISECOND), 2 * MILLISECOND)
    pace = latency.see(pace, sample(100.0, write_statements=5, write_time=0.1))

    assert len(pace.readings) == 1
    assert pace.latency is None


def test_the_daemon_goes_back_as_fast_as_the_server_bears_it(bench: Bench) -> None:
    """While writes are slow no step comes; when they are quick again they come every five seconds."""
    bench.server.write_seconds = 2 * MILLISECOND
    bench.turn(command("restore"))
    first = bench.until("restore", limit=10)
    assert first.tick.now - bench.records[-8].tick.now >= STEP_SECONDS
    bench.server.write_seconds = 30 * MILLISECOND
    slow = [bench.turn() for _ in range(40)]
    bench.server.write_seconds = 2 * MILLISECOND
    after = bench.until("restore", limit=10)

    assert all(not record.decision.steps for record in slow)
    assert "waiting: writes take" in slow[-1].decision.detail
    assert slow[-1].restore is not None
    assert slow[-1].restore.latency == pytest.approx(30 * MILLISECOND, rel=0.01)
    assert slow[-1].restore.latency_limit == pytest.approx(5 * MILLISECOND, rel=0.01)
    assert after.tick.now - slow[-1].tick.now >= STEP_SECONDS - 1.0


def test_a_restore_says_how_far_it_is(bench: Bench) -> None:
    """Steps and seconds left only shrink and end at none, with the originals in force."""
    bench.turn(command("restore"))
    while bench.record.mode is Mode.ACTIVE:
        bench.turn()

    ways = [record.restore for record in bench.records if record.restore is not None]
    steps = sum(1 for record in bench.records if record.decision.kind is DecisionKind.RESTORE)
    assert ways[0].step == 0
    assert ways[0].steps_left == ways[-1].step == steps
    assert all(later.steps_left <= earlier.steps_left for earlier, later in itertools.pairwise(ways))
    assert all(later.seconds_left <= earlier.seconds_left for earlier, later in itertools.pairwise(ways))
    assert ways[-1].steps_left == 0
    assert bench.server.capacity == DEFAULT
    assert "restored" in codes(bench.record)
    assert bench.record.restore is None


def test_the_account_that_is_known_to_see_nothing_is_not_waited_for() -> None:
    """Where the facts say that the latency is hidden, the first step comes as soon as it may."""
    bench = Bench().in_control()
    bench.turns(20)
    bench.turn(command("restore"))
    unseen = bench.until("restore", limit=10).tick.now - bench.records[-5].tick.now

    assert unseen <= latency.APPEAR_SECONDS + 2.0
    assert bench.server.capacity != Capacity(225, 450)
