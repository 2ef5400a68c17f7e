"""Recovery and shutdown: what is predicted, what the budgets allow, what is learned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.setpoint import LOWEST, NOISE, Headroom
from tests.factory import LIMITS, MEBIBYTE, REDO, A, estimate, sample
from tuner.core.estimate.recovery import (
    LEAST_FACTOR,
    MOST_FACTOR,
    READ_RATE,
    SCAN_RATE,
    START_SECONDS,
    Recovery,
)
from tuner.core.setpoint.budgets import (
    WARN_SECONDS,
    Budget,
    Durations,
    foreseen,
    look,
    ratios,
    recovery_and_shutdown,
)
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
    exponent=st.floats(0.0, 0.9),
)
def test_at_the_bound_the_budget_is_used_up_and_not_more(
    density: float, factor: float, budget: float, exponent: float
) -> None:
    """Where the bound ends, noise and sawtooth included, recovery and shutdown take what they may take."""
    settings = Settings(max_recovery_seconds=budget, max_shutdown_seconds=budget)
    recovery = taught(at(0.5, density), Recovery(factor=factor))
    headroom = HEADROOM._replace(combining_exponent=exponent)
    found = ratios(recovery, headroom, settings)

    for name, bound in found.items():
        if not 0.1 < bound + NOISE < 10.0:
            continue
        took = dict(
            zip(("recovery", "shutdown"), recovery_and_shutdown(recovery, headroom, bound), strict=True)
        )
        assert took[name] == pytest.approx(budget, rel=0.02)


@given(low=st.floats(0.1, 0.9), other=st.floats(0.1, 0.9), exponent=st.floats(0.0, 0.9))
def test_predictions_bend_with_write_combining(low: float, other: float, exponent: float) -> None:
    """From a reading at one age, those for another are what such a load really has there, up and down."""
    density = 0.002
    recovery = taught(at(low, density))
    there = at(other, density * (other / low) ** -exponent, lag=0)

    assert recovery.shutdown_at(other * A, exponent) == pytest.approx(
        recovery.shutdown_seconds(there), rel=1e-3
    )
    assert recovery.recovery_at(other * A, exponent) == pytest.approx(
        recovery.recovery_seconds(there), rel=1e-3
    )


@given(ratio=st.floats(0.1, 0.5), up=st.floats(1.01, 2.0), exponent=st.floats(0.0, 1.0))
def test_predictions_grow_with_the_age_and_ever_less(ratio: float, up: float, exponent: float) -> None:
    """A higher age never takes less, and never more than in proportion."""
    recovery = taught(at(0.3, 0.002))
    low, high = (recovery.shutdown_at(one * A, exponent) for one in (ratio, ratio * up))

    assert low < high <= low * up * 1.000001


def test_recovery_reads_as_fast_as_the_device_was_seen_to_write() -> None:
    """A device that wrote ten times the prior's rate is taken to read as many pages; a slow one is not."""
    slow, fast = taught(at(0.5, 0.01)), taught(at(0.5, 0.01))
    fast = fast.see(at(0.5, 0.01), flush_rate=10_000.0, limited=300.0, elapsed=1.0)
    redo = START_SECONDS + 0.5 * A / SCAN_RATE

    assert slow.recovery_at(0.5 * A, 0.5) - redo == pytest.approx(0.005 * A / READ_RATE, rel=1e-3)
    assert fast.recovery_at(0.5 * A, 0.5) - redo == pytest.approx(0.005 * A / 10_000.0, rel=1e-3)


def budget(allowed: float, *, baseline: float = 0.0) -> Budget:
    """Return how a recovery budget stands at half the flush limit."""
    settings = Settings(max_recovery_seconds=allowed)
    reading = at(0.5, 0.002)
    return look(taught(reading), HEADROOM, settings, reading, baseline=baseline)["recovery"]


@given(allowed=st.floats(1.0, 1000.0), baseline=st.floats(0.0, 1.2))
def test_a_budget_never_asks_for_less_than_the_baseline_nor_for_what_nothing_keeps(
    allowed: float, baseline: float
) -> None:
    """It bounds at its own age or at the baseline's, whichever is higher; kept is what bounds at its own."""
    found = budget(allowed, baseline=baseline)

    assert found.in_reach == (allowed >= found.least) == (found.ratio >= LOWEST)
    assert found.bound == max(found.ratio, baseline)
    assert found.kept == (found.in_reach and found.bound == found.ratio)
    assert not (found.far and found.in_reach)
    assert not (found.near and not found.in_reach)


def test_no_budget_that_nobody_set_stands() -> None:
    """Without one there is nothing to bound by, however long a recovery would take."""
    reading = at(0.9, 1.0)

    assert look(taught(reading), HEADROOM, Settings(), reading) == {}
    assert ratios(taught(reading), HEADROOM, Settings()) == {}


def test_the_baseline_is_reckoned_no_higher_than_where_the_server_flushes_by_itself() -> None:
    """Past the sync point the age does not grow, whatever M; of one that is not known nothing is said."""
    recovery = taught(at(0.5, 0.002))
    beyond = foreseen(estimate(), recovery, HEADROOM, set_point=0.8, baseline=5.0)
    there = foreseen(
        estimate(), recovery, HEADROOM, set_point=0.8, baseline=HEADROOM.sync_point / HEADROOM.flush_limit
    )
    unknown = foreseen(estimate(), recovery, HEADROOM, set_point=0.8, baseline=0.0)

    assert beyond == there
    assert unknown.recovery_at_baseline is unknown.shutdown_at_baseline is None
    assert unknown.recovery_at_set_point == there.recovery_at_set_point


def test_long_is_said_of_what_nobody_bounds_and_changes_with_the_threshold_alone() -> None:
    """From the warning's threshold on, for each of the three ages; a budget that is set has its own line."""
    over = WARN_SECONDS + 1.0
    for one in (Durations(over), Durations(1.0, over), Durations(1.0, 1.0, over)):
        assert one.long(None)
        assert not one.long(1000.0)
    assert not Durations(WARN_SECONDS, WARN_SECONDS, WARN_SECONDS).long(None)


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
    both = Settings(max_recovery_seconds=60.0, max_shutdown_seconds=60.0)
    assert set(ratios(taught(idle), HEADROOM, both)) == {"recovery"}


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
