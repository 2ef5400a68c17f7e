"""What the page cleaner remembers, and the M that gives a flush rate in spite of it."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policies.flushlaw import LEGACY, FlushLaw
from policies.registry import LAWS
from tests.factory import estimate, sample
from tuner.core.decide import trajectory
from tuner.core.estimate.window import Window, extend, point_of
from tuner.records import Sample

STEERED = sorted(name for name, law in LAWS.items() if law.m_moves_age)


def most_by_age(law: FlushLaw, io_capacity_max: float) -> float:
    """Return the most pages by redo age that a law counts."""
    return io_capacity_max / 3.0 if law.name.startswith("mariadb") else 2.0 * io_capacity_max


def asks(law: FlushLaw, cleaner: trajectory.Cleaner, *, ratio: float, io_capacity_max: float) -> float:
    """Return n, written down a second time, without its rounding."""
    power = ratio**2.5 / 0.7005 if law.name.startswith("high_checkpoint") else ratio**1.5 / 0.75
    by_law = io_capacity_max * power
    if law.name in {"legacy-57", "high_checkpoint-57"} and ratio >= 1.0:
        return min(io_capacity_max, by_law)
    if law.name == "legacy-56":
        return min(io_capacity_max, (by_law + cleaner.mean_rate) / 2.0)
    by_age = min(cleaner.by_age, most_by_age(law, io_capacity_max))
    return min(io_capacity_max, (by_law + cleaner.mean_rate + by_age) / 3.0)


def seen(count: int = 8, **shown: int) -> tuple[Window, Sample]:
    """Return a window of so many seconds in which nothing changed, and its newest reading."""
    window: Window = (point_of(sample(**shown), dirtied=0.0),)
    for second in range(1, count):
        window = extend(window, sample(float(second), **shown), newly_dirtied=0.0)
    return window, sample(count - 1.0, **shown)


@pytest.mark.parametrize("name", STEERED)
@given(
    mean_rate=st.floats(0.0, 5_000.0),
    by_age=st.floats(0.0, 5_000.0),
    ratio=st.floats(0.1, 1.1),
    wanted=st.floats(50.0, 3_000.0),
)
def test_the_rate_wanted_is_the_rate_that_comes(
    name: str, mean_rate: float, by_age: float, ratio: float, wanted: float
) -> None:
    """Whatever the server remembers, with the M found it asks for the rate wanted, or as near as it can."""
    cleaner = trajectory.Cleaner(asked=0.0, mean_rate=mean_rate, by_age=by_age)
    found = cleaner.capacity_for(LAWS[name], flush_rate=wanted, ratio=ratio)
    came = asks(LAWS[name], cleaner, ratio=ratio, io_capacity_max=found)

    assert found >= wanted
    assert came >= wanted * (1.0 - 1e-6) or found == pytest.approx(wanted)
    assume(found > wanted * (1.0 + 1e-9))
    assert came == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", STEERED)
def test_each_law_reads_its_own_averages(name: str) -> None:
    """What a server of any law asked for, by its own formula, gives back the mean rate that was in it."""
    law = LAWS[name]
    said = law.percentage(age=0.5, flush_limit=1.0, io_capacity=400, io_capacity_max=800)
    terms, by_age = (2.0, 0.0) if name == "legacy-56" else (3.0, min(380.0, most_by_age(law, 800)))
    shown = {"io_capacity": 400, "io_capacity_max": 800, "flush_percentage": said, "flush_by_age": 380}
    window, newest = seen(flush_requested=round((400 * said / 100.0 + 350.0 + by_age) / terms), **shown)

    assert trajectory.cleaner(law, window, newest, estimate(), wrote=None).mean_rate == pytest.approx(
        350.0, abs=2.0
    )


def test_after_a_bulk_load_m_is_what_is_flushed() -> None:
    """At the cap, with far more pages to flush by age than M, a raise of M would be a raise of the rate."""
    found = trajectory.cleaner(LEGACY, *seen(flush_requested=450, flush_by_age=1_800), estimate(), wrote=None)

    assert found.asked == 450.0
    assert found.capacity_for(LEGACY, flush_rate=500.0, ratio=0.4) == pytest.approx(500.0)


def test_requests_from_before_a_write_are_not_believed() -> None:
    """What was asked for with the M before the last write says nothing of the M in force."""
    window, _ = seen(7, flush_requested=900)
    newest = sample(7.0, flush_requested=400)
    window = extend(window, newest, newly_dirtied=0.0)

    assert trajectory.cleaner(LEGACY, window, newest, estimate(), wrote=1_005.0).asked == 400.0


def test_without_counters_the_server_is_taken_to_be_at_rest() -> None:
    """Where the server does not say what it asks for, the rates themselves stand for its averages."""
    found = estimate()
    cleaner = trajectory.cleaner(LEGACY, *seen(flush_requested=0, flush_by_age=0), found, wrote=None)

    assert (cleaner.asked, cleaner.mean_rate) == (found.flush_rate, found.flush_rate)
    assert cleaner.by_age == found.demand
