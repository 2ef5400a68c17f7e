"""Recovery and shutdown: what is predicted, what the budgets allow, what is learned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.setpoint import NOISE, Headroom
from tests.factory import LIMITS, MEBIBYTE, REDO, A, sample
from tuner.core.budgets import ratios
from tuner.core.recovery import LEAST_FACTOR, MOST_FACTOR, START_SECONDS, Recovery
from tuner.records import Sample
from tuner.settings import Settings

HEADROOM = Headroom(
    flush_limit=float(A),
    sync_point=float(LIMITS.sync_point),
    redo_capacity=float(REDO),
    checkpoint_lag=10.0 * MEBIBYTE,
    redo_rate=1e6,
    burst_bytes=0.0,
    max_checkpoint_age_ratio=0.78,
)
LAG = round(HEADROOM.highest_lag)


def at(ratio: float, density: float, *, lag: int = LAG) -> Sample:
    """Return a reading with so many dirty pages per byte of age."""
    made = sample(age=ratio * A, pages_dirty=round(density * ratio * A))
    return sample(age=ratio * A, pages_dirty=made.pages_dirty, lsn_checkpoint=made.lsn_oldest - lag)


def taught(reading: Sample, recovery: Recovery | None = None) -> Recovery:
    """Return what one reading teaches."""
    return (recovery or Recovery()).see(reading, flush_rate=300.0, limited=300.0, elapsed=1.0)


@given(
    density=st.floats(1e-5, 1e-2),
    factor=st.floats(0.1, 10.0),
    budget=st.floats(30.0, 3000.0),
)
def test_at_the_bound_the_budget_is_used_up_and_not_more(
    density: float, factor: float, budget: float
) -> None:
    """Where the bound ends, noise and sawtooth included, recovery and shutdown take what they may take."""
    settings = Settings(max_recovery_seconds=budget, max_shutdown_seconds=budget)
    recovery = taught(at(0.5, density), Recovery(factor=factor))
    found = ratios(recovery, HEADROOM, settings)

    for name, bound in found.items():
        if not 0.1 < bound + NOISE < 10.0:
            continue
        there = at(bound + NOISE, density)
        took = {
            "recovery": recovery.recovery_seconds(there),
            "shutdown": recovery.shutdown_seconds(there),
        }[name]
        assert took == pytest.approx(budget, rel=0.02)


@given(low=st.floats(0.1, 0.5), up=st.floats(1.0, 2.0), exponent=st.floats(0.0, 1.0))
def test_upwards_the_bound_errs_on_the_safe_side(low: float, up: float, exponent: float) -> None:
    """Write combining makes the pages fewer than was reckoned from a lower age: the budget holds."""
    density = 0.002
    settings = Settings(max_recovery_seconds=60.0, max_shutdown_seconds=60.0)
    from_below = ratios(taught(at(low, density)), HEADROOM, settings)
    there = at(low * up, density * up**-exponent)
    from_there = ratios(taught(there), HEADROOM, settings)

    assert all(from_there[name] >= bound - 1e-3 for name, bound in from_below.items())


def test_pages_flushed_since_the_checkpoint_are_read_too() -> None:
    """The older the checkpoint, the longer the recovery, by more than reading the redo takes."""
    near, far = at(0.5, 0.001, lag=0), at(0.5, 0.001, lag=A // 2)
    extra = Recovery().recovery_seconds(far) - Recovery().recovery_seconds(near)

    assert extra == pytest.approx(A / 2 / (100 * MEBIBYTE) + 0.001 * A / 2 / 1000.0, rel=0.01)


def test_a_server_with_nothing_to_recover_takes_its_start() -> None:
    """An empty flush list and a fresh checkpoint predict the fixed part alone, and no bound of any use."""
    idle = sample(age=0.0, pages_dirty=0, lsn_checkpoint=sample().lsn_current)

    assert Recovery().recovery_seconds(idle) == pytest.approx(START_SECONDS)
    assert Recovery().shutdown_seconds(idle) == 0.0
    assert set(ratios(taught(idle), HEADROOM, Settings())) == {"recovery"}


def test_a_few_pages_of_a_young_age_are_not_blown_up() -> None:
    """Five pages dirtied in the last hundred bytes are five pages, whatever lag the checkpoint has."""
    young = sample(age=100.0, pages_dirty=5)

    assert Recovery().recovery_seconds(young) < START_SECONDS + 0.1


def device(*readings: tuple[float, float]) -> float:
    """Return how long 30 000 pages take at shutdown after these flush rates and limits, a minute apart."""
    recovery, reading = Recovery(), sample(pages_dirty=30_000)
    for rate, limited in readings:
        recovery = recovery.see(reading, flush_rate=rate, limited=limited, elapsed=60.0)
    return recovery.shutdown_seconds(reading)


def test_shutdown_goes_by_what_the_device_was_seen_to_do() -> None:
    """What it keeps up comes first, with what was seen since; else the fastest seen, the prior at least."""
    assert device() == pytest.approx(60.0)
    assert device((10.0, 0.0)) == pytest.approx(60.0)
    assert device((3_000.0, 0.0), (10.0, 0.0)) == pytest.approx(10.0, rel=0.01)
    assert device((3_000.0, 0.0), (1_000.0, 1_000.0), (10.0, 1_000.0)) == pytest.approx(30.0)
    assert device((1_000.0, 1_000.0), (1_500.0, 1_000.0)) == pytest.approx(20.0)


def test_a_freak_low_of_the_device_is_not_believed() -> None:
    """No device is slower than a single disk, whatever a moment's reading makes of it."""
    assert device((3.0, 3.0)) == pytest.approx(300.0)


def test_what_was_measured_corrects_what_is_predicted() -> None:
    """Recoveries three times as quick as the prior are soon predicted to within a tenth."""
    reading, recovery = at(0.8, 0.002), Recovery()
    took = recovery.recovery_seconds(reading) / 3.0
    errors = []
    for _ in range(6):
        errors.append(abs(recovery.recovery_seconds(reading) / took - 1.0))
        recovery = recovery.crashed(reading).measured(took, version="9.7.4")

    assert errors[0] == pytest.approx(2.0)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.1
    assert recovery.measured_on == "9.7.4"


@given(st.lists(st.floats(0.0, 1e9), max_size=30))
def test_no_measurement_carries_the_factor_away(seconds: list[float]) -> None:
    """Whatever durations a server tells, the factor stays within its clamps."""
    recovery = Recovery()
    for one in seconds:
        recovery = recovery.crashed(at(0.8, 0.002)).measured(one, version="9.7.4")

    assert LEAST_FACTOR <= recovery.factor <= MOST_FACTOR


def test_an_idle_servers_crash_teaches_next_to_nothing() -> None:
    """A recovery that was all start says nothing about reading redo and pages."""
    idle = sample(age=0.0, pages_dirty=0, lsn_checkpoint=sample().lsn_current)

    assert Recovery().crashed(idle).measured(0.05, version="9.7.4").factor == pytest.approx(1.0)
    assert Recovery().measured(100.0, version="9.7.4") == Recovery()


def test_a_server_long_out_of_sight_is_compared_with_nothing() -> None:
    """What a server did unseen for minutes before it crashed nobody knows: its recovery teaches nothing."""
    away = Recovery().crashed(at(0.8, 0.002), unseen=300.0)

    assert away.measured(0.1, version="9.7.4").factor == 1.0
