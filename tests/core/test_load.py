"""What the load answers with, fitted to what was seen."""

from __future__ import annotations

import math

import pytest

from tuner.core.estimate.load import COMBINING_PRIOR, Load


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


@pytest.mark.parametrize("combining", [0.2, 0.7])
def test_write_combining_is_found(combining: float) -> None:
    """The exponent is the one that the pages per byte follow."""
    assert taught(combining=combining, response=0.0).combining_exponent == pytest.approx(combining, abs=0.05)


def test_a_closed_load_gives_up_redo_for_flushing() -> None:
    """What a page flushed costs in redo is read off how R answered F; nothing for a load that did not."""
    closed = taught(combining=0.5, response=1_500.0)
    flushed_more_with_more_redo = taught(combining=0.5, response=-500.0)

    assert closed.flush_response(redo_rate=1.8e6, flush_rate=450.0) == pytest.approx(1_500.0, rel=0.1)
    assert flushed_more_with_more_redo.flush_response(redo_rate=1.8e6, flush_rate=450.0) == 0.0


def test_a_response_is_not_believed_without_bounds() -> None:
    """A fit that says more than twice in proportion is cut there, and nothing flushed says nothing."""
    wild = taught(combining=0.5, response=2_500.0)

    assert wild.flush_response(redo_rate=1e5, flush_rate=400.0) == 2.0 * 1e5 / 400.0
    assert wild.flush_response(redo_rate=1e5, flush_rate=0.0) == 0.0


def test_before_anything_is_seen_the_priors_hold() -> None:
    """A new daemon reckons with ordinary write combining and with a load that does not answer."""
    assert Load().combining_exponent == COMBINING_PRIOR
    assert Load().flush_response(redo_rate=1e6, flush_rate=400.0) == 0.0
