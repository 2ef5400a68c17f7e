"""The time that a correction is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.types import horizon
from tests.factory import A, situation


def test_half_a_residence_time() -> None:
    """A correction may take half the time that a page stays dirty at the set-point."""
    assert horizon(set_point=0.8, flush_limit=1e8, redo_rate=1e6) == pytest.approx(40.0)


def test_idle_load_has_the_longest() -> None:
    """Without redo there is no hurry."""
    assert horizon(set_point=0.8, flush_limit=1e8, redo_rate=0.0) == 600.0


@given(f=st.floats(0.21, 1.0), limit=st.floats(1e6, 1e12), rate=st.floats(-1.0, 1e12))
def test_bounded(f: float, limit: float, rate: float) -> None:
    """No load is given less than ten seconds or more than ten minutes."""
    assert 10.0 <= horizon(set_point=f, flush_limit=limit, redo_rate=rate) <= 600.0


def test_errors_are_shares_of_the_flush_limit() -> None:
    """Error now and error ahead are age ratios above the set-point."""
    shown = situation(age=0.9 * A, age_ahead=0.5 * A, set_point=0.8)

    assert shown.age_ratio == pytest.approx(0.9)
    assert shown.error == pytest.approx(0.1)
    assert shown.error_ahead == pytest.approx(-0.3)
