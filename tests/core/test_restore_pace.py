"""The pace of a restore: bounded by what writing statements take, and never for ever."""

from __future__ import annotations

import itertools

import pytest

from tests.bench import Bench
from tests.factory import DEFAULT, command, sample
from tuner.core.leaving.restore import RESTORE_FACTOR
from tuner.core.writes import restore_pace
from tuner.core.writes.restore_pace import LONGEST_WAIT, STEP_SECONDS, RestorePace
from tuner.records import DecisionKind
from tuner.settings import Mode

MILLISECOND = 0.001
BASELINE = 2 * MILLISECOND


def seen(pace: RestorePace, *latencies: float | None, rate: int = 1000) -> RestorePace:
    """Return a pace after a second each with such a mean latency; None where it cannot be seen."""
    last = pace.readings[-1] if pace.readings else restore_pace.Reading(999.0, 10_000, 50.0)
    at, statements, seconds = last.at, last.statements, last.seconds
    for one in latencies:
        at += 1.0
        if one is None:
            pace = restore_pace.see(pace, sample(at - 1000.0))
            continue
        statements, seconds = statements + rate, seconds + rate * one
        pace = restore_pace.see(pace, sample(at - 1000.0, write_statements=statements, write_time=seconds))
    return pace


def stepped(*after: float) -> RestorePace:
    """Return a pace after its first step, with these mean latencies since, ms."""
    pace = seen(RestorePace(begun=1000.0), *[BASELINE] * 6)
    pace = restore_pace.stepped(pace, now=pace.readings[-1].at)
    return seen(pace, *(one * MILLISECOND for one in after))


def judged(pace: RestorePace) -> restore_pace.Verdict:
    """Return whether the next step may come now."""
    return restore_pace.judge(pace, now=pace.readings[-1].at)


def test_the_baseline_is_measured_before_the_first_step() -> None:
    """No step is taken before five seconds of the latency as it was are known."""
    paces = list(itertools.accumulate([BASELINE] * 6, seen, initial=RestorePace(begun=1000.0)))[1:]

    assert [judged(pace).go for pace in paces] == [False] * 5 + [True]
    assert paces[-1].baseline == pytest.approx(BASELINE)
    assert paces[-1].limit == pytest.approx(2 * BASELINE + MILLISECOND)


@pytest.mark.parametrize(
    ("after", "go"),
    [
        ([4.9] * 6, True),
        ([5.1] * 6, False),
        ([40.0] * 3 + [2.0] * 6, True),
        ([1.0] * 4, False),
        ([50.0] * (int(LONGEST_WAIT) - 1), False),
        ([50.0] * int(LONGEST_WAIT), True),
    ],
    ids=[
        "near the baseline",
        "above it",
        "a burst that is over",
        "too soon",
        "slow for long",
        "for too long",
    ],
)
def test_the_next_step_waits_for_the_latency_five_seconds_to_a_minute(
    after: list[float], *, go: bool
) -> None:
    """Twice the baseline and a millisecond are borne; slower than that is waited for, a minute at most."""
    assert judged(stepped(*after)).go is go


@pytest.mark.parametrize(("hidden", "after"), [(True, 0.0), (False, restore_pace.APPEAR_SECONDS)])
def test_without_the_counters_time_sets_the_pace(*, hidden: bool, after: float) -> None:
    """Where the account cannot see the latency the steps come by time, at once or when that is clear."""
    pace = seen(RestorePace(begun=1000.0), None, None)

    assert restore_pace.judge(pace, now=1000.0 + after, hidden=hidden).go
    assert restore_pace.judge(pace, now=1000.0, hidden=False).go is False


def test_a_server_without_writes_is_not_waited_for() -> None:
    """Where no statement ends there is no latency that a step could hurt."""
    assert judged(seen(RestorePace(begun=1000.0), *[0.0] * 6, rate=0)).go


def test_counters_that_went_back_begin_anew() -> None:
    """After a reset of the server's statistics no latency is worked out across it."""
    pace = restore_pace.see(stepped(2.0), sample(100.0, write_statements=5, write_time=0.1))

    assert len(pace.readings) == 1
    assert pace.latency is None


def test_the_daemon_goes_back_as_fast_as_the_server_bears_it(bench: Bench) -> None:
    """While writes are slow no step comes; when they are quick again they come every five seconds."""
    bench.server.write_seconds = BASELINE
    bench.turn(command("restore"))
    first = bench.until("restore", limit=10)
    assert first.tick.now - bench.records[-8].tick.now >= STEP_SECONDS
    bench.server.write_seconds, begun = 15 * BASELINE, len(bench.records)
    slow = bench.turns(40)
    assert bench.wrote(since=begun) == []
    bench.server.write_seconds = BASELINE
    after = bench.until("restore", limit=10)

    assert slow.restore is not None
    assert slow.restore.latency == pytest.approx(15 * BASELINE, rel=0.01)
    assert slow.restore.latency_limit == pytest.approx(2 * BASELINE + MILLISECOND, rel=0.01)
    assert after.tick.now - slow.tick.now >= STEP_SECONDS - 1.0


def test_a_restore_goes_in_steps_says_how_far_it_is_and_ends_advisory(bench: Bench) -> None:
    """M moves by a quarter every five seconds, what is left only shrinks, and then nothing is written."""
    begun, low = len(bench.server.applied), bench.m
    bench.turn(command("restore"))
    while bench.record.mode is Mode.ACTIVE:
        bench.turn()
    steps = [record for record in bench.records if record.decision.kind is DecisionKind.RESTORE]
    values = [low, *(pair.io_capacity_max for _, pair, _ in bench.server.applied[begun:])]
    ways = [record.restore for record in bench.records if record.restore is not None]

    assert all(new.tick.now - old.tick.now >= STEP_SECONDS for old, new in itertools.pairwise(steps))
    assert all(new <= RESTORE_FACTOR * old for old, new in itertools.pairwise(values))
    assert (ways[0].step, ways[0].steps_left) == (0, len(steps))
    assert (ways[-1].step, ways[-1].steps_left) == (len(steps), 0)
    assert all(new.steps_left <= old.steps_left for old, new in itertools.pairwise(ways))
    assert all(new.seconds_left <= old.seconds_left for old, new in itertools.pairwise(ways))
    assert bench.server.capacity == DEFAULT
    assert bench.codes("restored") == ["restored"]
    written = len(bench.server.applied)
    bench.turns(120)
    assert len(bench.server.applied) == written


def test_the_account_that_is_known_to_see_nothing_is_not_waited_for(bench: Bench) -> None:
    """Where the facts say that the latency is hidden, the first step comes as soon as it may."""
    asked = bench.turn(command("restore")).tick.now

    assert bench.until("restore", limit=10).tick.now - asked <= restore_pace.APPEAR_SECONDS + 2.0
