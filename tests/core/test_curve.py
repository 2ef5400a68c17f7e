"""What a higher age saves, as far as the ages of the last hours have shown it."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuner.core.estimate.load import PRIOR, Curve


def travelled(exponent: float, *, seconds: int = 120, rest: int = 0) -> Curve:
    """Return the curve after the age rose from 0.1 to 0.9, and stayed there for ``rest`` seconds."""
    curve = Curve()
    for second in range(seconds):
        ratio = 0.1 + 0.8 * second / seconds
        curve = curve.see(ratio=ratio, density=1e-4 * ratio**-exponent, elapsed=1.0)
    for _ in range(rest):
        curve = curve.see(ratio=0.9, density=1e-4 * 0.9**-exponent, elapsed=1.0)
    return curve


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.7, 1.0])
def test_one_travel_tells_what_a_higher_age_saves(exponent: float) -> None:
    """Two minutes from a low age to a high one are enough to know the exponent within a tenth."""
    assert travelled(exponent).combining_exponent == pytest.approx(exponent, abs=0.1)


def test_an_hour_at_one_age_does_not_make_it_forgotten() -> None:
    """What the way up has shown is still known after an hour's rest, when the quick fit has forgotten it."""
    assert travelled(0.0, rest=3_600).combining_exponent < 0.1


def test_an_age_that_was_long_not_seen_is_forgotten() -> None:
    """After four hours at one age what the others showed weighs a factor e less, after a day nothing."""
    before, later, next_day = (travelled(0.0, rest=hours * 3_600) for hours in (0, 4, 24))

    assert later.seconds[0] == pytest.approx(before.seconds[0] / math.e, rel=0.02)
    assert next_day.combining_exponent == pytest.approx(PRIOR, abs=0.05)


def test_an_age_that_never_moved_tells_nothing() -> None:
    """Held at one age from the start, what another would save is taken to be the usual."""
    curve = Curve()
    for _ in range(3_600):
        curve = curve.see(ratio=0.9, density=1e-4, elapsed=1.0)

    assert curve.combining_exponent == pytest.approx(PRIOR)


def test_another_load_is_learned_at_the_ages_that_it_is_seen_at() -> None:
    """A load that combines, after one that does not, is known once the age has gone over the same ground."""
    curve = travelled(0.0)
    for second in range(600):
        ratio = 0.1 + 0.8 * second / 600
        curve = curve.see(ratio=ratio, density=1e-4 * ratio**-0.8, elapsed=1.0)

    assert curve.combining_exponent > 0.6


def test_the_curve_survives_in_the_journals_bytes() -> None:
    """What was learned is the same after it was written and read."""
    curve = travelled(0.4)

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(curve), type=Curve) == curve


@given(
    st.lists(
        st.tuples(st.floats(1e-6, 50.0), st.floats(1e-12, 1e6), st.floats(0.2, 1e5)), min_size=1, max_size=60
    )
)
@settings(deadline=None)
def test_any_reading_leaves_it_sound(readings: list[tuple[float, float, float]]) -> None:
    """Whatever ages, densities and gaps come, the exponent is a number from 0 to 1."""
    curve = Curve()
    for ratio, density, elapsed in readings:
        curve = curve.see(ratio=ratio, density=density, elapsed=elapsed)
        assert 0.0 <= curve.combining_exponent <= 1.0
        assert math.isfinite(sum(curve.densities))
    assert curve.sound
