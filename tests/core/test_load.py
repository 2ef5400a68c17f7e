"""What the load answers with: write combining by age, and the redo that it gives up for flushing."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.core.estimate.load import COMBINING_PRIOR, PRIOR, Curve, Load


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
    assert curve.sound
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(curve), type=Curve) == curve


def test_a_closed_load_gives_up_redo_for_flushing() -> None:
    """What a page flushed costs in redo is read off how R answered F, within bounds; else it is nothing."""
    closed, open_load, wild = (taught(combining=0.5, response=one) for one in (1_500.0, -500.0, 2_500.0))

    assert closed.flush_response(redo_rate=1.8e6, flush_rate=450.0) == pytest.approx(1_500.0, rel=0.1)
    assert open_load.flush_response(redo_rate=1.8e6, flush_rate=450.0) == 0.0
    assert wild.flush_response(redo_rate=1e5, flush_rate=400.0) == 2.0 * 1e5 / 400.0
    assert wild.flush_response(redo_rate=1e5, flush_rate=0.0) == 0.0


def test_before_anything_is_seen_the_priors_hold() -> None:
    """A new daemon reckons with ordinary write combining and with a load that does not answer."""
    assert Load().combining_exponent == COMBINING_PRIOR
    assert Load().flush_response(redo_rate=1e6, flush_rate=400.0) == 0.0
