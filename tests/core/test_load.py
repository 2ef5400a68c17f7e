"""What the load answers with, and the share of reads in it."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.suggestions import NEAR, distance
from tests.core.trial_load import GOOD, TrialLoad
from tests.factory import sample
from tuner.core.estimate.averages import Statements, counted
from tuner.core.estimate.load import PRIOR, STEEPEST, Curve, Load
from tuner.core.trials.engine import CONTEXT_SECONDS
from tuner.records import Sample


def taught(*, combining: float, response: float) -> Load:
    """Return the load after ten minutes of travelling from a low age and much flushing to the opposite."""
    load = Load()
    for second in range(600):
        ratio, flushed = 0.2 + second / 900.0, 900.0 - second
        load = load.see(
            ratio=ratio,
            density=3e-4 * math.pow(ratio, -combining),
            redo_rate=2.5e6 - response * flushed,
            flush_rate=flushed,
            elapsed=1.0,
        )
    return load


def travelled(exponent: float, *, start: float = 0.1, seconds: int = 120, rest: int = 0) -> Curve:
    """Return the curve after the age rose from a low ratio to 0.9, and stayed there for ``rest`` seconds."""
    ratios = [start + (0.9 - start) * second / seconds for second in range(seconds)] + [0.9] * rest
    curve = Curve()
    for ratio in ratios:
        curve = curve.see(ratio=ratio, density=1e-4 * ratio**-exponent, elapsed=1.0)
    return curve


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.7, 1.0])
def test_one_travel_tells_what_a_higher_age_saves(exponent: float) -> None:
    """Two minutes from a low age to a high one are enough to know the exponent within a tenth."""
    fitted = taught(combining=exponent, response=0.0).combining_exponent

    assert travelled(exponent).combining_exponent == pytest.approx(exponent, abs=0.1)
    assert fitted == pytest.approx(exponent, abs=0.05)


def test_what_other_ages_showed_is_forgotten_within_a_day() -> None:
    """Known after an hour at one age; after four it weighs a factor e less, after a day nothing."""
    before, hour, later, next_day = (travelled(0.0, rest=hours * 3_600) for hours in (0, 1, 4, 24))

    assert hour.combining_exponent < 0.1
    assert later.seconds[0] == pytest.approx(before.seconds[0] / math.e, rel=0.02)
    assert next_day.combining_exponent == pytest.approx(PRIOR, abs=0.05)


def test_an_age_that_never_moved_tells_nothing() -> None:
    """Held at one age from the start, what another would save is taken to be the usual."""
    assert travelled(0.5, start=0.9, rest=3_600).combining_exponent == pytest.approx(PRIOR, abs=0.05)


def test_a_load_that_changed_is_learned_anew() -> None:
    """Another travel under another load outweighs what the first one showed."""
    curve = travelled(0.0)
    for second in range(600):
        ratio = 0.1 + 0.8 * second / 600
        curve = curve.see(ratio=ratio, density=1e-4 * ratio**-0.8, elapsed=1.0)

    assert curve.combining_exponent > 0.6


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 50.0), st.floats(1e-12, 1e6), st.floats(0.2, 1e5)), min_size=1, max_size=60
    )
)
def test_any_reading_leaves_the_curve_sound(readings: list[tuple[float, float, float]]) -> None:
    """Whatever ages, densities and gaps come, the exponent is from 0 to 1, and the bytes give it again."""
    curve = Curve()
    for ratio, density, elapsed in readings:
        curve = curve.see(ratio=ratio, density=density, elapsed=elapsed)
        assert 0.0 <= curve.combining_exponent <= 1.0
        assert math.isfinite(sum(curve.densities))
    assert curve.valid
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(curve), type=Curve) == curve


def test_a_closed_load_gives_up_redo_for_flushing() -> None:
    """What a page flushed costs in redo is read off how R answered F, within bounds; else it is nothing."""
    closed, open_load, wild = (taught(combining=0.5, response=one) for one in (1_500.0, -500.0, 2_500.0))

    assert closed.flush_response(redo_rate=1.8e6, flush_rate=450.0) == pytest.approx(1_500.0, rel=0.1)
    assert open_load.flush_response(redo_rate=1.8e6, flush_rate=450.0) == 0.0
    assert wild.flush_response(redo_rate=1e5, flush_rate=400.0) == pytest.approx(2_500.0, rel=0.1)
    assert wild.flush_response(redo_rate=1e4, flush_rate=400.0) == STEEPEST * 1e4 / 400.0
    assert wild.flush_response(redo_rate=1e5, flush_rate=0.0) == 0.0


def test_what_a_page_costs_is_not_forgotten_at_rest() -> None:
    """Hours at one M tell nothing of how the load answers flushing, and take nothing of it away."""
    load = moved = taught(combining=0.5, response=1_500.0)
    for _ in range(4 * 3600):
        load = load.see(ratio=0.9, density=3e-4, redo_rate=1.8e6, flush_rate=450.0, elapsed=1.0)

    before, after = (one.flush_response(redo_rate=1.8e6, flush_rate=450.0) for one in (moved, load))
    assert after == pytest.approx(before, rel=0.15)


# The share of reads: what is counted for it, and what makes it unknown.

COUNTS = st.none() | st.integers(0, 2**64)


def reading(second: float, selects: int | None, changes: int | None) -> Sample:
    """Return a reading with these counts."""
    return sample(second, select_statements=selects, change_statements=changes)


def after(*readings: Sample, state: Statements | None = None) -> Statements:
    """Return what is known after these readings."""
    found = Statements() if state is None else state
    for one in readings:
        found = counted(found, one, weight=0.1)
    return found


KNOWN = after(reading(0.0, 1000, 500), reading(1.0, 1900, 600))
"""Nine reads to a change; the counters at 1900 and 600."""


def test_the_share_is_that_of_the_selects_in_all_that_read_or_change_rows() -> None:
    """Nine SELECT to one change is 0.9; none at all is 0; one reading tells nothing."""
    assert KNOWN.read_share == pytest.approx(0.9)
    assert after(reading(0.0, 1000, 500), reading(1.0, 1000, 900)).read_share == 0.0
    assert after(reading(0.0, 1000, 500)).read_share is None


@pytest.mark.parametrize(
    "odd",
    [
        {"select_statements": 10},
        {"change_statements": 10},
        {"uptime": 1.0},
        {"identity": "another"},
        {"monotonic": 0.0},
        {"monotonic": math.nan},
        {"monotonic": math.inf},
    ],
    ids=str,
)
def test_what_another_start_or_server_counted_is_not_taken_for_the_load(odd: dict[str, object]) -> None:
    """After counters that went back, a restart, or another server's answer, the share is what it was."""
    jumped = replace(reading(2.0, 5_000_000, 601), **odd)
    again = after(jumped, state=KNOWN)
    assert again.read_share == pytest.approx(0.9)

    selects, changes = jumped.select_statements or 0, jumped.change_statements or 0
    later = [
        replace(jumped, monotonic=1100.0 + s, select_statements=selects + n, change_statements=changes + n)
        for s, n in enumerate((0, 1000, 2000))
    ]
    found = after(*later, state=again).read_share
    assert found is not None
    assert 0.5 < found < 0.7


def test_a_server_that_shows_no_counts_any_more_has_no_share() -> None:
    """It is unknown, not what it was at last, and is found anew when the counts are back."""
    gone = after(reading(2.0, None, 700), state=KNOWN)
    back = after(reading(3.0, 3000, 800), state=gone)

    assert gone.read_share is back.read_share is None
    assert after(reading(4.0, 3100, 900), state=back).read_share == pytest.approx(0.5)


@given(
    st.lists(
        st.tuples(COUNTS, COUNTS, st.floats(0.0, 1e4), st.floats(allow_nan=True, allow_infinity=True)),
        min_size=1,
        max_size=30,
    )
)
def test_whatever_is_counted_the_share_is_a_share(
    counts: list[tuple[int | None, int | None, float, float]],
) -> None:
    """No reading makes it anything but unknown, or a number from 0 to 1."""
    state = Statements()
    for selects, changes, uptime, at in counts:
        state = after(replace(reading(0.0, selects, changes), uptime=uptime, monotonic=at), state=state)
        assert state.read_share is None or 0.0 <= state.read_share <= 1.0


@pytest.mark.parametrize("share", [0.0, 0.95, None])
def test_the_context_has_the_share_of_reads(share: float | None) -> None:
    """An optimiser sees it as it sees redo rate and concurrency; where it is unknown, as unknown."""
    context = TrialLoad(share=share).step(100).state.context

    assert context is not None
    assert context.read_share == (None if share is None else pytest.approx(share, abs=1e-3))


def test_it_follows_the_load_but_not_a_backup() -> None:
    """A load that turns to reading is half way there after a time constant; a backup's do not count."""
    load = TrialLoad(share=0.1).step(100)
    load.share = 0.999
    load.step(20, learns=False, bars="going on: backup")
    load.share = 0.1
    load.step(3)
    assert load.state.averages.statements.read_share == pytest.approx(0.1, abs=1e-3)

    load.share = 0.6
    load.step(round(CONTEXT_SECONDS / 10.0))
    half_way = load.state.averages.statements.read_share
    assert half_way is not None
    assert 0.3 < half_way < 0.55
    assert load.step(200).state.averages.statements.read_share == pytest.approx(0.6, abs=0.01)


def test_what_won_under_many_writes_is_not_in_use_under_many_reads() -> None:
    """Another share of reads is another load; with the first one the suggestion is back."""
    load = TrialLoad(rows=1.02, wave=0.003, share=0.2).ended()
    assert load.state.in_force == GOOD
    won = load.state.evidence.wins[0].context
    load.share = 0.9
    load.step(200)

    assert load.state.in_force is None
    assert load.codes()[-1] == "suggestion_dropped"
    assert load.state.context is not None
    assert distance(load.state.context, won) > NEAR
    load.share = 0.2
    assert load.step(200).codes()[-1] == "suggestion_used"
