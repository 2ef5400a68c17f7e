"""The checkpoint age's peaks: what was seen of them, and when that is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factory import sample
from tuner.core.estimate.sawtooth import LEAST, SPAN_SECONDS, SURGE_SECONDS, Sawtooth

RECKONED = 8.0
RATE = 1e6
ALLOWED = 80e6


def seen(seconds: float, *, peak: float = 7.3, age: float = 70e6, before: Sawtooth | None = None) -> Sawtooth:
    """Return what so many seconds with a tooth of seven seconds leave."""
    found = before or Sawtooth()
    begun = 0.0 if found.at is None else found.at
    for second in range(1, int(seconds) + 1):
        lag = peak * RATE * (second % 7 + 1) / 7.0
        found = found.see(now=begun + second, lag=lag, redo_rate=RATE, checkpoint_age=age, allowed=ALLOWED)
    return found


def test_the_highest_peak_of_the_last_minutes_is_believed() -> None:
    """A load that goes on is reckoned with by its own teeth, after five minutes of it."""
    assert seen(SPAN_SECONDS - 10.0).seconds(RECKONED) == RECKONED
    assert seen(SPAN_SECONDS + 10.0).seconds(RECKONED) == 7.3


def test_a_higher_peak_counts_at_once_and_for_minutes() -> None:
    """One higher tooth widens the margin at the next reading, up to what is reckoned with beforehand."""
    calm = seen(2.0 * SPAN_SECONDS)
    higher = seen(7.0, peak=7.8, before=calm)

    assert higher.seconds(RECKONED) == 7.8
    assert seen(SPAN_SECONDS, before=higher).seconds(RECKONED) == 7.8
    assert seen(2.0 * SPAN_SECONDS, before=higher).seconds(RECKONED) == 7.3
    assert seen(7.0, peak=13.0, before=calm).seconds(RECKONED) == RECKONED


def test_a_surge_gives_the_whole_margin_back() -> None:
    """An age that went past what is allowed is a reason for the whole margin, for hours."""
    surged = seen(3.0, age=1.03 * ALLOWED, before=seen(2.0 * SPAN_SECONDS))
    later = seen(0.5 * SURGE_SECONDS, before=surged)

    assert surged.seconds(RECKONED) == RECKONED
    assert later.seconds(RECKONED) == RECKONED
    assert seen(0.6 * SURGE_SECONDS, before=later).seconds(RECKONED) == 7.3


def test_an_age_that_the_set_point_puts_beyond_is_no_surge() -> None:
    """A set-point beyond the operator's share allows as much more, and time to come down once it is lower."""
    reading = sample(redo_capacity=100_000_000, flush_limit=90_000_000)
    held = Sawtooth(at=0.0).held(beyond=0.1)
    allowed = held.allowed(reading, share=0.8)
    same = held.see(now=1.0, lag=0.0, redo_rate=RATE, checkpoint_age=86e6, allowed=allowed)
    lower, later = held.held(beyond=0.05), held.held(beyond=0.0)
    for second in range(1, 1201):
        lower = lower.see(now=second, lag=0.0, redo_rate=RATE, checkpoint_age=80e6, allowed=ALLOWED)
        later = later.see(now=second, lag=0.0, redo_rate=RATE, checkpoint_age=80e6, allowed=ALLOWED)

    assert allowed == pytest.approx(89e6)
    assert not same.surges
    assert same.allowed(reading, share=0.8) > 88e6
    assert lower.allowed(reading, share=0.8) == pytest.approx(84.5e6, rel=0.01)
    assert later.allowed(reading, share=0.8) < 81e6
    assert same.see(now=2.0, lag=0.0, redo_rate=RATE, checkpoint_age=93e6, allowed=allowed).surges


def test_a_gap_in_the_readings_begins_anew() -> None:
    """After a time without readings the peaks of before say nothing."""
    calm = seen(2.0 * SPAN_SECONDS)
    after = calm.see(
        now=(calm.at or 0.0) + 60.0, lag=0.0, redo_rate=RATE, checkpoint_age=1.0, allowed=ALLOWED
    )

    assert after.seconds(RECKONED) == RECKONED


@given(st.lists(st.tuples(st.floats(0.1, 20.0), st.floats(0.0, 1e9), st.floats(0.0, 1e8)), max_size=60))
def test_the_margin_is_never_wider_than_beforehand_nor_much_narrower(
    readings: list[tuple[float, float, float]],
) -> None:
    """Whatever is read, what is reckoned with stays between nine tenths and the whole of it."""
    found, now = Sawtooth(), 0.0
    for elapsed, lag, rate in readings:
        now += 10.0 * elapsed
        found = found.see(now=now, lag=lag, redo_rate=rate, checkpoint_age=lag, allowed=ALLOWED)

    assert LEAST * RECKONED <= found.seconds(RECKONED) <= RECKONED
