"""Trials of suggestions: what is counted, what decides, and everything that ends one."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.bayes import SURE
from policies.types import ANALYTIC, LoadContext, Suggestion, Trial
from tests.core.trial_load import GOOD, STEP, TrialLoad
from tests.factory import A, estimate
from tuner.core.trials import engine
from tuner.core.trials.engine import HARM, WORTH, Trials, accepted, block_of, verdict
from tuner.core.trials.evidence import REMEMBERED, Evidence
from tuner.core.trials.switchback import LOOKS, Block, Running, difference, differences, judged
from tuner.records import OptimiserPhase

LOAD = LoadContext(1e6, 333.0, 0.0, 0.0, float(A))
SYNC = {"unsafe": "the server sync-flushes", "bars": "the server sync-flushes"}
MOST = max(LOOKS)


@pytest.mark.parametrize(
    ("load", "gain"),
    [
        (TrialLoad(rows=1.02, wave=0.003), math.log(1.02)),
        (TrialLoad(rows=0.995, wave=0.003), math.log(0.995)),
        (TrialLoad(pages=0.97), -math.log(0.97)),
        (TrialLoad(pages=1.02), -math.log(1.02)),
    ],
    ids=["more rows", "fewer rows", "fewer pages", "more pages"],
)
def test_what_is_better_is_used_and_what_is_no_better_is_not(load: TrialLoad, gain: float) -> None:
    """By row changes; where these are the same, by the pages for each."""
    load.ended()

    assert load.state.in_force == (GOOD if gain > 0.0 else None)
    assert load.codes() == ["trial_ended", "suggestion_used"][: 1 + (gain > 0.0)]
    assert load.state.evidence.log[0].gain == pytest.approx(gain, abs=0.003)


def test_a_load_with_a_beat_of_its_own_seldom_wins() -> None:
    """What the load does every five, ten or twenty minutes is not taken for the suggestion's doing."""
    loads = [TrialLoad(wave=0.01, period=float(period)).ended() for period in range(300, 1300, 50)]

    assert sum(one.state.in_force is not None for one in loads) <= 1


def test_blocks_alternate_and_are_two_residence_times_long() -> None:
    """Analytic first and last, in turn, each at least two residence times; the first part is not counted."""
    load = TrialLoad(rows=1.02, wave=0.003).ended()
    blocks, settling = block_of(estimate())
    pairs = itertools.pairwise(load.forced)
    switches = [at for (_, before), (at, after) in pairs if before != after]

    assert all(later - sooner >= blocks for sooner, later in itertools.pairwise(switches))
    assert blocks >= 2.0 * 0.7 * A / 1e6
    assert 0.3 * blocks < settling < 0.8 * blocks
    assert len(switches) % 2 == 0 or load.state.in_force == GOOD


def test_a_block_is_as_long_as_the_load_needs_by_then() -> None:
    """Where pages stay dirty longer than when the trial began, a block still lasts two residence times."""
    load = TrialLoad().trial()
    running = load.state.running
    assert running is not None
    planned = replace(running, block_seconds=30.0, settling_seconds=20.0)
    load.state = replace(load.state, running=planned)
    load.blocks(1)

    lasted = load.look().now - running.block_begun
    assert lasted >= engine.RESIDENCES * engine.residence_of(load.look().estimate) > 60.0


# What ends a trial, or what is in use.


@pytest.mark.parametrize("suggested", [False, True])
def test_whatever_bars_it_ends_a_trial_at_once(*, suggested: bool) -> None:
    """A trial that is barred is abandoned, nothing is learned of it, and the analytic set-point is back."""
    load = TrialLoad(rows=1.05).trial()
    while (load.state.in_force is not None) != suggested:
        load.step()
    load.step(bars="going on: ddl")

    assert (load.state.running, load.state.in_force) == (None, None)
    assert load.codes()[-1] == "trial_abandoned"
    assert load.state.evidence.log == ()
    assert load.state.moved == suggested


@pytest.mark.parametrize(
    ("blocks", "settled", "blamed"),
    [(0, False, False), (1, False, True), (2, False, True), (2, True, False)],
    ids=["an analytic block", "under it", "right after it", "settled since"],
)
def test_a_guard_counts_against_what_was_in_force(blocks: int, *, settled: bool, blamed: bool) -> None:
    """The age that a suggestion left behind is its own doing until the next block has settled, no longer."""
    load = TrialLoad().trial().blocks(blocks)
    while settled and load.state.running is not None and load.state.running.start is None:
        load.step()
    load.step(**SYNC)

    assert load.state.running is None
    assert [one.gain + SURE * one.error < 0.0 for one in load.state.evidence.log] == [True] * blamed
    assert ("suggestion_unsafe" in load.codes()) is blamed
    assert load.codes()[-1] == "trial_abandoned"


def test_what_is_in_use_is_dropped_when_a_guard_fires() -> None:
    """A suggestion that won and then leads to a sync flush is forgotten."""
    load = TrialLoad(rows=1.03).ended().step(**SYNC)

    assert (load.state.in_force, load.state.evidence.wins) == (None, ())
    assert load.state.moved


@pytest.mark.parametrize(("at_once", "drift"), [(1.6, 1.0), (1.0, 0.998)], ids=["at once", "bit by bit"])
def test_another_load_abandons_a_trial(at_once: float, drift: float) -> None:
    """Blocks of different loads are not compared, neither neighbours nor the last with the first."""
    load = TrialLoad(rows=1.05).trial().blocks(2)
    load.rate *= at_once
    while load.state.running is not None:
        load.rate *= drift
        load.step()

    assert load.codes() == ["trial_abandoned"]
    assert load.state.evidence.log == ()


@pytest.mark.parametrize("bars", ["", "nothing is learned in a window of the schedule"])
def test_what_won_is_dropped_with_its_load_and_taken_up_again(bars: str) -> None:
    """Under another load it says nothing, also where no trial may begin; it comes back with its load."""
    load = TrialLoad(rows=1.03).ended()
    load.state = replace(load.state, rest_until=1e9)
    load.rate = 3e6
    load.step(200, bars=bars)
    assert load.state.in_force is None
    assert load.codes()[-1] == "suggestion_dropped"
    load.rate = 1e6
    load.step(300)

    assert load.state.in_force == GOOD
    assert load.codes()[-1] == "suggestion_used"


@pytest.mark.parametrize(
    ("rows", "wave", "mean"), [(0.97, 0.0, -1.0), (1.003, 0.05, 1.0)], ids=["worse", "not surely better"]
)
def test_what_is_in_use_has_to_win_again(rows: float, wave: float, mean: float) -> None:
    """After some hours it is tried again, and dropped where its bounds include no gain."""
    load = TrialLoad(rows=1.03).ended().retested()
    load.rows, load.wave, load.period = rows, wave, 1_370.0
    load.step(2000 if wave else 600)

    assert load.state.in_force is None
    assert wave or load.state.evidence.wins == ()
    assert "suggestion_dropped" in load.codes()
    assert load.state.evidence.log[-1].gain * mean > 0.0


def test_a_clock_that_was_wrong_puts_no_retest_off_for_ever() -> None:
    """What won at a time that lies ahead has to show again that it is better as soon as that is seen."""
    load = TrialLoad(rows=1.03).ended()
    used = load.state.used
    assert used is not None
    later = replace(used, checked=used.checked + 1e8)
    load.state = replace(load.state, used=later, rest_until=0.0)
    load.step(60)

    assert load.state.running is not None
    assert load.state.running.retest


def test_a_weaker_win_takes_the_place_of_none() -> None:
    """What is in use stays where another suggestion won by less."""
    load = TrialLoad(rows=1.03).ended()
    load.rows = 1.01
    load.ended(Suggestion(-0.01, 1.0, 1.0))

    assert load.state.in_force == GOOD
    assert len(load.state.evidence.log) == 2


# What is asked, and when.


def test_each_trial_lost_in_a_row_makes_the_rest_longer() -> None:
    """A load with nothing to win is left alone more and more."""
    load, rests = TrialLoad(rows=0.99), []
    for number in range(5):
        load.ended(Suggestion(-0.01 - 0.001 * number, 1.0, 1.0))
        rests.append(load.state.rest_until - 1000.0 - load.now)

    assert rests == sorted(rests)
    assert 3.0 * rests[0] < rests[-1] <= engine.LONGEST_REST


def test_nothing_is_begun_before_the_load_is_quiet() -> None:
    """An age away from the set-point, a reason against trials, or a load too slow, puts off the question."""
    load = TrialLoad().step(10, bars="held: paused")
    assert load.state.why == "held: paused"
    load.step(100, set_point=0.9)
    assert (load.state.asking, "set-point" in load.state.why) == (0, True)
    assert load.step(29).state.asking == 0
    assert load.step(3).state.asking == 1

    slow = TrialLoad().step(200, estimate=estimate(redo_rate=2e3, row_rate=6.0)).state
    assert (slow.asking, "a block would take" in slow.why) == (0, True)


@pytest.mark.parametrize(
    ("number", "suggestion", "why"),
    [
        (7, GOOD, "trial 1 is asked for"),
        (1, Suggestion(offset=0.2), "outside the limits"),
        (1, Suggestion(offset=math.nan), "outside the limits"),
    ],
)
def test_a_wrong_answer_changes_nothing(number: int, suggestion: Suggestion, why: str) -> None:
    """What was not asked for, or is no suggestion, is refused with the reason."""
    load = TrialLoad().until(OptimiserPhase.ASKING)
    after, said = accepted(load.state, number, suggestion, load.look())

    assert after == load.state
    assert why in said
    assert "none is asked for" in accepted(Trials(), 1, GOOD, load.look())[1]


def test_nothing_to_suggest_is_an_answer() -> None:
    """The question is asked again in an hour."""
    load = TrialLoad().until(OptimiserPhase.ASKING)
    load.state, why = accepted(load.state, 1, None, load.look())
    asked = load.now
    load.step().until(OptimiserPhase.ASKING)

    assert why == ""
    assert load.now - asked == pytest.approx(engine.NOTHING_REST, abs=3 * STEP)
    assert load.state.asking == 2


def test_what_is_remembered_is_bounded() -> None:
    """Neither the log nor what won grows for ever."""
    log = tuple(Trial(GOOD, LOAD, -0.01, 0.001, float(n)) for n in range(REMEMBERED))
    load = TrialLoad(rows=0.98, state=Trials(evidence=Evidence(log=log))).ended()

    assert len(load.state.evidence.log) == REMEMBERED
    assert load.state.evidence.log[0].at == 1.0


def test_progress_says_what_is_in_use_and_by_how_much() -> None:
    """A watcher sees blocks, what is tried, and what won with its bounds."""
    load = TrialLoad(rows=1.02, wave=0.003).trial().step(100)
    during = engine.progress(load.state, now=load.now + 1000.0)
    assert during.phase is OptimiserPhase.TRIAL
    assert 0 < during.blocks < during.most_blocks == 2 * MOST + 1
    while load.state.running is not None:
        load.step()
    after = engine.progress(load.state, now=load.now + 1000.0)

    assert after.in_use is not None
    assert 0.0 < after.in_use.low < after.in_use.gain < after.in_use.high
    assert after.known == 1


# What the blocks come to.


def after(
    count: int, gain: float, *, noise: float = 1e-4, retest: bool = False, pages: bool = False
) -> Running:
    """Return a trial after so many tried blocks with that gain in rows or pages, and that noise, as ln."""
    merits = [(gain if i % 2 else 0.0) + noise * (-1) ** (i // 2) for i in range(2 * count + 1)]
    blocks = tuple(Block(0.0 if pages else one, one if pages else 0.0, 1e6, 300.0) for one in merits)
    return Running(1, ANALYTIC, LOAD, retest, 0.0, 0.0, 300.0, 100.0, blocks=blocks)


@pytest.mark.parametrize(
    ("running", "won"),
    [
        (after(16, 0.9 * WORTH, pages=True), False),
        (after(16, 1.1 * WORTH, pages=True), True),
        (after(2, 1.1 * HARM), False),
        (after(1, 1.1 * HARM), None),
        (after(2, 0.9 * HARM), None),
        (after(MOST, 0.004, noise=0.02), False),
        (after(MOST, 0.004, noise=0.02, retest=True), False),
    ],
    ids=["too small", "worth it", "harm", "harm once", "little harm", "not sure", "not sure any more"],
)
def test_what_a_trial_comes_to(running: Running, *, won: bool | None) -> None:
    """Neither too small a gain is used, nor an unsure one; sure harm ends it before the first look."""
    assert min(LOOKS) > 2
    assert verdict(running)[1] is won


@given(
    st.lists(st.floats(-0.05, 0.05), min_size=9, max_size=9), st.floats(-0.01, 0.01), st.floats(-0.01, 0.01)
)
def test_an_even_growth_makes_no_difference(noise: list[float], slope: float, gain: float) -> None:
    """Whatever the blocks, a straight line through all of them cancels, and a gain adds to the mean."""
    plain = difference(noise, LOOKS[4])
    leaning = difference([one + slope * i + gain * (i % 2) for i, one in enumerate(noise)], LOOKS[4])

    assert leaning.mean == pytest.approx(plain.mean + gain, abs=1e-9)
    assert leaning.error == pytest.approx(plain.error, abs=1e-9)
    assert len(differences(noise)) == 4
    assert plain.low <= plain.mean <= plain.high


def test_what_differs_in_throughput_is_not_judged_by_pages() -> None:
    """Fewer pages for each row change are no gain where there are fewer row changes."""
    blocks = tuple(Block(-0.02 * (i % 2) + 1e-4 * i, 0.05 * (i % 2), 1e6, 100.0) for i in range(9))
    found = judged(blocks, LOOKS[4])

    assert (found.by_pages, found.mean) == (False, pytest.approx(-0.02))


def test_the_analytic_point_wins_nothing_over_itself() -> None:
    """Of many trials of nothing against nothing, with even noise, hardly any is won."""
    rng, won = random.Random(1), 0  # noqa: S311 - no secret
    for _ in range(400):
        merits = [rng.gauss(0.0, 0.01) for _ in range(2 * MOST + 1)]
        won += any(difference(merits[: 2 * n + 1], quantile).low > 0.0 for n, quantile in LOOKS.items())

    assert won / 400 < 0.04
    assert Suggestion() == ANALYTIC
