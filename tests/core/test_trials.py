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
from policies.types import ANALYTIC, Context, Suggestion, Trial
from tests.core.course import GOOD, STEP, Course
from tests.factory import A, estimate
from tuner.core.trials import engine, evidence
from tuner.core.trials.engine import Trials, accepted, block_of
from tuner.core.trials.evidence import REMEMBERED, Evidence, Win
from tuner.core.trials.switchback import LOOKS, Block, difference, differences, judged
from tuner.records import OptimiserPhase


def test_what_is_better_is_used_and_what_is_no_better_is_not() -> None:
    """A suggestion that gains two percent is in force after its trial, and one that loses is not."""
    won = Course(rows=1.02, wave=0.003).ended()
    lost = Course(rows=0.995, wave=0.003).ended()

    assert won.state.in_force == GOOD
    assert won.codes() == ["trial_ended", "suggestion_used"]
    assert lost.state.in_force is None
    assert lost.codes() == ["trial_ended"]
    gains = [one.state.evidence.log[0].gain for one in (won, lost)]
    assert gains == pytest.approx([math.log(1.02), math.log(0.995)], abs=0.003)


def test_a_load_of_its_own_rate_is_judged_by_pages() -> None:
    """Where the row changes are the same, the fewer pages for each are the better."""
    won = Course(pages=0.97).ended()

    assert won.state.in_force == GOOD
    assert won.state.evidence.log[0].gain == pytest.approx(-math.log(0.97), abs=1e-3)
    assert "row changes for each page" in won.said[0][2]
    assert Course(pages=1.02).ended().state.in_force is None


def test_no_difference_is_no_reason_to_use_anything() -> None:
    """A load that grows evenly is no gain of what is tried meanwhile."""
    growing = Course()
    growing.trial()
    while growing.state.running is not None:
        growing.rate *= 1.0004
        growing.step()

    assert growing.state.evidence.log[0].gain == pytest.approx(0.0, abs=1e-3)
    assert growing.state.in_force is None


def test_a_load_with_a_beat_of_its_own_seldom_wins() -> None:
    """What the load does every five, ten or twenty minutes is not taken for the suggestion's doing."""
    won = 0
    for period in range(300, 1300, 50):
        course = Course(wave=0.01, period=float(period)).ended()
        won += course.state.in_force is not None

    assert won <= 1


def test_blocks_alternate_and_are_two_residence_times_long() -> None:
    """Analytic first and last, in turn, each at least two residence times; the first part is not counted."""
    course = Course(rows=1.02, wave=0.003).ended()
    begun = next(at for at, forced in course.forced if forced is not None)
    blocks, settling = block_of(estimate())
    switches = [
        at
        for (_, before), (at, after) in zip(course.forced, course.forced[1:], strict=False)
        if before != after
    ]

    assert begun in switches
    assert all(later - sooner >= blocks for sooner, later in itertools.pairwise(switches))
    assert blocks >= 2.0 * 0.7 * A / 1e6
    assert 0.3 * blocks < settling < 0.8 * blocks
    assert len(switches) % 2 == 0 or course.state.in_force == GOOD


@pytest.mark.parametrize("suggested", [False, True])
def test_whatever_bars_it_ends_a_trial_at_once(suggested: bool) -> None:  # noqa: FBT001 - pytest
    """A trial that is barred is abandoned, nothing is learned of it, and the analytic set-point is back."""
    course = Course(rows=1.05).trial()
    while (course.state.in_force is not None) != suggested:
        course.step()
    course.step(bars="going on: ddl")

    assert course.state.running is None
    assert course.state.in_force is None
    assert course.codes()[-1] == "trial_abandoned"
    assert "ddl" in course.said[-1][2]
    assert course.state.evidence.log == ()
    assert course.state.moved == suggested


def test_a_guard_counts_against_what_was_in_force() -> None:
    """Under a suggestion it is told as a bad trial; in an analytic block it is not the suggestion's fault."""
    under = Course().trial()
    while under.state.in_force is None:
        under.step()
    under.step(unsafe="the server sync-flushes", bars="the server sync-flushes")
    before = Course().trial().step(3, unsafe="the server sync-flushes", bars="the server sync-flushes")

    (told,) = under.state.evidence.log
    assert told.gain + SURE * told.error < 0.0
    assert under.codes()[-2:] == ["suggestion_unsafe", "trial_abandoned"]
    assert before.state.evidence.log == ()
    assert before.codes() == ["trial_abandoned"]


def test_what_is_in_use_is_dropped_when_a_guard_fires() -> None:
    """A suggestion that won and then leads to a sync flush is forgotten."""
    course = Course(rows=1.03).ended()
    course.step(unsafe="the server sync-flushes", bars="the server sync-flushes")

    assert course.state.in_force is None
    assert course.state.evidence.wins == ()
    assert course.state.moved


def test_another_load_abandons_a_trial() -> None:
    """Neighbouring blocks of different loads are not compared."""
    course = Course(rows=1.05).trial()
    while len(course.state.running.blocks if course.state.running else ()) < 2:
        course.step()
    course.rate *= 1.6
    course.step(80)

    assert course.codes()[0] == "trial_abandoned"
    assert "the load is another one" in course.said[0][2]


def test_a_load_that_drifts_away_abandons_a_trial() -> None:
    """Where each block is like the one before, and the last unlike the first, nothing is won."""
    course = Course(rows=1.05).trial()
    while course.state.running is not None:
        course.rate *= 0.998
        course.step()

    assert course.codes() == ["trial_abandoned"]
    assert "another one than it began with" in course.said[0][2]
    assert course.state.evidence.log == ()


def test_a_block_is_as_long_as_the_load_needs_by_then() -> None:
    """Where pages stay dirty longer than when the trial began, a block still lasts two residence times."""
    course = Course().trial()
    running = course.state.running
    assert running is not None
    planned = replace(running, block_seconds=30.0, settling_seconds=20.0)
    course.state = replace(course.state, running=planned)
    while course.state.running is not None and not course.state.running.blocks:
        course.step()

    lasted = course.look().now - running.block_begun
    assert lasted >= engine.RESIDENCES * engine.residence_of(course.look().found) > 60.0


def test_what_won_is_dropped_with_its_load_and_taken_up_again() -> None:
    """Under another load it says nothing; when the load returns it is in use again without a trial."""
    course = Course(rows=1.03).ended()
    course.state = replace(course.state, rest_until=1e9)
    course.rate = 3e6
    course.step(200)
    assert course.state.in_force is None
    assert course.codes()[-1] == "suggestion_dropped"
    course.rate = 1e6
    course.step(300)

    assert course.state.in_force == GOOD
    assert course.codes()[-1] == "suggestion_used"


def test_what_is_in_use_has_to_win_again() -> None:
    """After some hours it is tried again; where it is no longer better it is dropped."""
    course = Course(rows=1.03).ended()
    course.state = replace(course.state, rest_until=course.now + 1000.0 + engine.RETRY_SECONDS + 60.0)
    course.step(round(engine.RETRY_SECONDS / STEP) + 10)
    assert course.state.running is not None
    assert course.state.running.retest
    course.rows = 0.97
    course.step(600)

    assert course.state.in_force is None
    assert course.state.evidence.wins == ()
    assert "suggestion_dropped" in course.codes()


def test_what_won_goes_with_its_load_even_where_no_trial_may_begin() -> None:
    """In a window in which nothing is learned another load still puts what is in use out of force."""
    course = Course(rows=1.03).ended()
    course.rate = 3e6
    course.step(200, bars="nothing is learned in a window of the schedule")

    assert course.state.in_force is None
    assert course.codes()[-1] == "suggestion_dropped"


def test_what_is_in_use_stays_only_with_the_stated_confidence() -> None:
    """A retest whose bounds include no gain drops the suggestion, though its mean was above zero."""
    course = Course(rows=1.03).ended()
    course.state = replace(course.state, rest_until=course.now + 1000.0 + engine.RETRY_SECONDS + 60.0)
    course.step(round(engine.RETRY_SECONDS / STEP) + 10)
    course.rows, course.wave, course.period = 1.003, 0.05, 1_370.0
    course.step(2000)
    last = course.state.evidence.log[-1]

    assert course.state.in_force is None
    assert "suggestion_dropped" in course.codes()
    assert last.gain > 0.0


def test_a_clock_that_was_wrong_puts_no_retest_off_for_ever() -> None:
    """What won at a time that lies ahead has to show again that it is better as soon as that is seen."""
    course = Course(rows=1.03).ended()
    used = course.state.used
    assert used is not None
    later = replace(used, checked=used.checked + 1e8)
    course.state = replace(course.state, used=later, rest_until=0.0)
    course.step(60)

    assert course.state.running is not None
    assert course.state.running.retest


def test_a_weaker_win_takes_the_place_of_none() -> None:
    """What is in use stays where another suggestion won by less."""
    course = Course(rows=1.03).ended()
    course.rows = 1.01
    course.ended(Suggestion(-0.01, 1.0, 1.0))

    assert course.state.in_force == GOOD
    assert len(course.state.evidence.log) == 2


def test_each_trial_lost_in_a_row_makes_the_rest_longer() -> None:
    """A load with nothing to win is left alone more and more."""
    course, rests = Course(rows=0.99), []
    for number in range(5):
        course.ended(Suggestion(-0.01 - 0.001 * number, 1.0, 1.0))
        rests.append(course.state.rest_until - 1000.0 - course.now)

    assert rests == sorted(rests)
    assert rests[-1] > 3.0 * rests[0]
    assert rests[-1] <= engine.LONGEST_REST


def test_nothing_is_begun_before_the_load_is_quiet() -> None:
    """An age away from the set-point, or a reason against trials, puts off the next question."""
    course = Course()
    course.step(10, bars="held: paused")
    assert course.state.why == "held: paused"
    course.step(100, set_point=0.9)
    assert course.state.asking == 0
    assert "set-point" in course.state.why
    course.step(29)
    assert course.state.asking == 0
    course.step(3)

    assert course.state.asking == 1


def test_a_load_too_slow_to_learn_from_is_left_alone() -> None:
    """Where a block would take more than two hours there are no trials, and it is said why."""
    course = Course()
    course.step(200, found=estimate(redo_rate=2e3, row_rate=6.0))

    assert course.state.asking == 0
    assert "a block would take" in course.state.why


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
    course = Course().until(OptimiserPhase.ASKING)
    before = course.state
    after, said = accepted(before, number, suggestion, course.look())

    assert after == before
    assert why in said
    assert "none is asked for" in accepted(Trials(), 1, GOOD, course.look())[1]


def test_nothing_to_suggest_is_an_answer() -> None:
    """The question is asked again in an hour."""
    course = Course().until(OptimiserPhase.ASKING)
    course.state, why = accepted(course.state, 1, None, course.look())
    asked = course.now
    course.step().until(OptimiserPhase.ASKING)

    assert why == ""
    assert course.now - asked == pytest.approx(engine.NOTHING_REST, abs=3 * STEP)
    assert course.state.asking == 2


def test_what_is_remembered_is_bounded() -> None:
    """Neither the log nor what won grows for ever."""
    load = Context(1e6, 333.0, 0.0, 0.0, float(A))
    log = tuple(Trial(GOOD, load, -0.01, 0.001, float(n)) for n in range(REMEMBERED))
    course = Course(rows=0.98, state=Trials(evidence=Evidence(log=log))).ended()

    assert len(course.state.evidence.log) == REMEMBERED
    assert course.state.evidence.log[0].at == 1.0


def test_progress_says_what_is_in_use_and_by_how_much() -> None:
    """A watcher sees blocks, what is tried, and what won with its bounds."""
    course = Course(rows=1.02, wave=0.003).trial().step(100)
    during = engine.progress(course.state, now=course.now + 1000.0)
    assert during.phase is OptimiserPhase.TRIAL
    assert 0 < during.blocks < during.most_blocks == 2 * max(LOOKS) + 1
    while course.state.running is not None:
        course.step()
    after = engine.progress(course.state, now=course.now + 1000.0)

    assert after.in_use is not None
    assert 0.0 < after.in_use.low < after.in_use.gain < after.in_use.high
    assert after.known == 1


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

    assert not judged(blocks, LOOKS[4]).by_pages
    assert judged(blocks, LOOKS[4]).mean == pytest.approx(-0.02)


def test_the_analytic_point_wins_nothing_over_itself() -> None:
    """Of many trials of nothing against nothing, with even noise, hardly any is won."""
    rng, won = random.Random(1), 0  # noqa: S311 - no secret
    for _ in range(400):
        merits = [rng.gauss(0.0, 0.01) for _ in range(2 * max(LOOKS) + 1)]
        won += any(difference(merits[: 2 * n + 1], quantile).low > 0.0 for n, quantile in LOOKS.items())

    assert won / 400 < 0.04


def test_evidence_that_is_no_number_is_forgotten() -> None:
    """A win made of nonsense is not believed."""
    load = Context(1e6, 333.0, 0.0, 0.0, float(A))
    win = Win(GOOD, load, math.nan, 0.0, 0.0, 0.0)

    assert not evidence.sound(win)
    assert evidence.sound(replace(win, gain=0.01))
    assert Suggestion() == ANALYTIC
