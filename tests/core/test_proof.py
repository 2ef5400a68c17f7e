"""Trials against the baseline find the gain that is there and no other."""

from __future__ import annotations

import functools
import random
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios import load_scenario
from lab.simulate_loop import SimInbox
from tests.factory import ACTIVE, DEFAULT, command
from tuner.core.estimate.window import all_flushed
from tuner.core.savings.ledger import Savings
from tuner.core.state import State
from tuner.core.step import start
from tuner.core.trials.paired import Figures, Pair, bounds_text, verdict_text
from tuner.core.trials.proof import Running, result_of
from tuner.loop import drive
from tuner.records import (
    Sample,
    TickRecord,
    TrialEnd,
    TrialResult,
    TrialVerdict,
)
from tuner.settings import Settings


class Seen(NamedTuple):
    """What came of a simulated run."""

    result: TrialResult | None
    commits: dict[int, int]  # by second
    readings: dict[int, Sample]  # the same
    saved: dict[int, Savings]  # the ledger, the same


@functools.cache
def simulated(
    scenario: str, settings: Settings, *, until: float, begin: float | None, ttl: float, m: int | None = None
) -> Seen:
    """Let the loop turn beside a named scenario's server found with this M; a trial from a second on."""
    clock, whole = SimClock(), load_scenario(scenario)
    found = replace(whole.plant.server, io_capacity=m, io_capacity_max=m)
    server = SimulatedServer(replace(whole.plant, server=found), clock, seed=whole.seed)
    inbox, results, commits = SimInbox(clock, command("originals_saved")), [], {}
    readings: dict[int, Sample] = {}
    saved: dict[int, Savings] = {}

    def ticked(state: State, record: TickRecord) -> None:
        second, reading = round(record.tick.now), record.tick.reading
        saved[second] = state.savings.total
        if isinstance(reading, Sample):
            readings[second] = reading
        if begin is not None and round(record.tick.now) == begin:
            inbox.put(command("trial", value=3, ttl=ttl))
        commits[round(record.tick.now)] = getattr(record.tick.reading, "commits", 0)
        if record.trial is not None:
            results.append(record.trial)

    first = start(settings, server.facts())
    drive(server, clock, inbox, first, interval=1.0, publish=ticked, until=until)
    return Seen(results[-1] if results else None, commits, readings, saved)


def test_a_trial_brackets_the_gain_that_is_there() -> None:
    """The bounds hold the ratio of two whole runs, one left alone and one with the loop, and are narrow."""
    tried = simulated("steady-1200iops", ACTIVE, until=4300.0, begin=1200, ttl=1800.0)
    alone = simulated("steady-1200iops", Settings(), until=1210.0, begin=None, ttl=0.0)
    truth = (tried.commits[1200] - tried.commits[600]) / (alone.commits[1200] - alone.commits[600])

    result = tried.result
    assert result is not None
    assert result.commits is not None
    assert (result.verdict, result.end, result.discarded) == (TrialVerdict.BETTER, TrialEnd.TIME, 0)
    assert result.commits.low * 0.98 < truth < result.commits.high * 1.02
    assert result.commits.high / result.commits.low < 1.1


def pages_per_row(seen: Seen, first: int, last: int) -> float:
    """Return the pages that became dirty for each row change between two seconds."""
    old, new = seen.readings[first], seen.readings[last]
    pages = all_flushed(new) + new.pages_dirty - all_flushed(old) - old.pages_dirty
    return pages / (new.row_changes - old.row_changes)


def saved_share(seen: Seen, first: int, last: int) -> tuple[float, float, float]:
    """Return what the ledger added between two seconds for each page written: least, likeliest, most."""
    old, new = seen.saved[first], seen.saved[last]
    written = new.written - old.written
    return tuple((getattr(new, one) - getattr(old, one)) / written for one in ("least", "likely", "most"))  # type: ignore[return-value]  # three


def test_a_trial_corrects_the_ledger() -> None:
    """After it, what is reckoned as saved brackets what two whole runs show, and more narrowly."""
    tried = simulated("steady-1200iops", ACTIVE, until=4300.0, begin=1200, ttl=1800.0)
    alone = simulated("steady-1200iops", Settings(), until=1210.0, begin=None, ttl=0.0)
    truth = pages_per_row(alone, 600, 1200) / pages_per_row(tried, 3600, 4200) - 1.0

    before, after = saved_share(tried, 600, 1200), saved_share(tried, 3600, 4200)
    assert after[0] < truth < after[2], (before, after, truth)
    assert after[2] - after[0] < 0.4 * (before[2] - before[0]), (before, after, truth)


def test_where_there_is_nothing_to_gain_none_is_claimed() -> None:
    """A server that was found with about the M that suits its load is promised nothing."""
    tried = simulated("steady-1200iops", ACTIVE, until=3100.0, begin=1200, ttl=1800.0, m=450).result
    assert tried is not None
    assert tried.commits is not None
    assert tried.verdict is not TrialVerdict.BETTER, tried
    assert 0.95 < tried.commits.ratio < 1.02


def test_noise_alone_is_no_difference_and_more_hours_are_named() -> None:
    """Pairs that differ by chance give no verdict for a side, and the time that would tell one per cent."""
    dice = random.Random(5)  # noqa: S311 - noise, and no secret

    def figures() -> Figures:
        rate = 1000.0 * dice.lognormvariate(0.0, 0.03)
        return Figures(rate, rate, 0.2 * dice.lognormvariate(0.0, 0.03), 0.2 * rate, None)

    pairs = tuple(Pair(figures(), figures()) for _ in range(8))
    running = Running(1, "ann", 0.0, 9.0, DEFAULT, 300.0, 150.0, pairs=pairs)
    result = result_of(running)
    assert result.verdict is TrialVerdict.NO_DIFFERENCE
    assert result.more_hours
    assert result.latency is None


@pytest.mark.parametrize(
    ("commits", "pages", "verdict"),
    [
        ((920.0, 800.0, 920.0), 0.180, TrialVerdict.NO_DIFFERENCE),
        ((1080.0, 1200.0, 1080.0), 0.220, TrialVerdict.NO_DIFFERENCE),
        ((999.0, 1001.0, 1003.0), 0.180, TrialVerdict.BETTER),
        ((999.0, 1250.0, 1210.0), 0.180, TrialVerdict.NO_DIFFERENCE),
        ((999.0, 1001.0, 1003.0), 0.220, TrialVerdict.WORSE),
    ],
)
def test_pages_decide_only_where_no_loss_of_commits_can_hide(
    commits: tuple[float, ...], pages: float, verdict: TrialVerdict
) -> None:
    """Fewer pages make no side better while its commits may be much lower; the verdict has their bounds."""

    def figures(rate: float, density: float) -> Figures:
        return Figures(rate, rate, density, density * rate, None)

    pairs = tuple(
        Pair(figures(1000.0, 0.2), figures(rate, pages * (1.0 + 0.001 * place)))
        for place, rate in enumerate(commits)
    )
    result = result_of(Running(1, "ann", 0.0, 9.0, DEFAULT, 300.0, 150.0, pairs=pairs))
    assert result.verdict is verdict
    assert result.commits is not None
    assert f"commits/s {bounds_text(result.commits)}" in verdict_text(result)
