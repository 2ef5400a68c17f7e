"""Recovery and shutdown: what is predicted, what the budgets allow, what is learned, and what is said."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

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
from tuner.core.setpoint.announced import NEWS, OVER_SECONDS, Announced, drop, update
from tuner.core.setpoint.budgets import (
    WARN_SECONDS,
    Budget,
    Durations,
    foreseen,
    ratios,
    recovery_and_shutdown,
    standing_of,
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
IDLE = sample(age=0.0, pages_dirty=0, lsn_checkpoint=sample().lsn_current)
EXPONENT = st.floats(0.0, 0.9)


def at(ratio: float, density: float, *, lag: int = LAG) -> Sample:
    """Return a reading with so many dirty pages per byte of age."""
    dirty = round(density * ratio * A)
    return sample(age=ratio * A, pages_dirty=dirty, lsn_checkpoint=sample(age=ratio * A).lsn_oldest - lag)


def taught(reading: Sample, recovery: Recovery | None = None, *, flush_rate: float = 300.0) -> Recovery:
    """Return what one reading teaches."""
    return (recovery or Recovery()).see(reading, flush_rate=flush_rate, limited=300.0, elapsed=1.0)


@given(density=st.floats(1e-5, 1e-2), factor=st.floats(0.1, 10.0), budget=st.floats(30.0, 3000.0), b=EXPONENT)
def test_at_the_bound_the_budget_is_used_up_and_not_more(
    density: float, factor: float, budget: float, b: float
) -> None:
    """Where the bound ends, noise and sawtooth included, recovery and shutdown take what they may take."""
    settings = Settings(max_recovery_seconds=budget, max_shutdown_seconds=budget)
    recovery = taught(at(0.5, density), Recovery(factor=factor))
    headroom = HEADROOM._replace(combining_exponent=b)

    for name, bound in ratios(recovery, headroom, settings).items():
        took = recovery_and_shutdown(recovery, headroom, bound)[0 if name == "recovery" else 1]
        assert not 0.1 < bound + NOISE < 10.0 or took == pytest.approx(budget, rel=0.02)


@given(low=st.floats(0.1, 0.9), other=st.floats(0.1, 0.9), b=EXPONENT)
def test_predictions_bend_with_write_combining(low: float, other: float, b: float) -> None:
    """From a reading at one age, those for another are what such a load really has there, up and down."""
    recovery = taught(at(low, 0.002))
    there = at(other, 0.002 * (other / low) ** -b, lag=0)
    shutdown, took = recovery.shutdown_at(other * A, b), recovery.recovery_at(other * A, b)

    assert shutdown == pytest.approx(recovery.shutdown_seconds(there), rel=1e-3)
    assert took == pytest.approx(recovery.recovery_seconds(there), rel=1e-3)
    assert shutdown < recovery.shutdown_at(1.2 * other * A, b) <= 1.2 * shutdown * 1.000001


def test_recovery_is_as_fast_as_the_device() -> None:
    """It reads what was seen to be written where that is much, and no more than D where that is known."""
    reading, redo = at(0.5, 0.01), START_SECONDS + 0.5 * A / SCAN_RATE
    unknown = Recovery().see(reading, flush_rate=300.0, limited=0.0, elapsed=1.0)
    fast = taught(reading, taught(reading), flush_rate=10_000.0)

    for recovery, rate in ((unknown, READ_RATE), (taught(reading), 300.0), (fast, 10_000.0)):
        took = recovery.recovery_at(0.5 * A, 0.5) - redo
        assert took == pytest.approx(0.005 * A / rate, rel=1e-3)


@given(allowed=st.floats(1.0, 1000.0), baseline=st.floats(0.0, 1.2))
def test_a_budget_never_asks_for_less_than_the_baseline_nor_for_what_nothing_keeps(
    allowed: float, baseline: float
) -> None:
    """It bounds at its own age or at the baseline's, whichever is higher; kept is what bounds at its own."""
    reading, settings = at(0.5, 0.002), Settings(max_recovery_seconds=allowed)
    found: Budget = standing_of(taught(reading), HEADROOM, settings, reading, baseline=baseline)["recovery"]

    assert found.in_reach == (allowed >= found.least) == (found.ratio >= LOWEST)
    assert found.bound == max(found.ratio, baseline)
    assert found.kept == (found.in_reach and found.bound == found.ratio)
    assert not (found.far and found.in_reach)
    assert not (found.near and not found.in_reach)


def test_no_budget_that_nobody_set_stands() -> None:
    """Without one there is nothing to bound by, however long a recovery would take."""
    reading = at(0.9, 1.0)

    assert standing_of(taught(reading), HEADROOM, Settings(), reading) == {}
    assert ratios(taught(reading), HEADROOM, Settings()) == {}


def test_the_baseline_is_reckoned_no_higher_than_where_the_server_flushes_by_itself() -> None:
    """Past the sync point the age does not grow, whatever M; of one that is not known nothing is said."""
    recovery, limit = taught(at(0.5, 0.002)), HEADROOM.sync_point / HEADROOM.flush_limit
    beyond, there, unknown = (
        foreseen(estimate(baseline_ratio=one), recovery, HEADROOM, set_point=0.8)
        for one in (5.0, limit, None)
    )

    assert replace(beyond, baseline_ratio=limit) == there
    assert unknown.recovery_at_baseline is unknown.shutdown_at_baseline is None
    assert unknown.recovery_at_set_point == there.recovery_at_set_point


def test_long_is_said_of_what_nobody_bounds() -> None:
    """From the warning's threshold on, for each of the three ages; a budget that is set has its own line."""
    over = WARN_SECONDS + 1.0
    for one in (Durations(over), Durations(1.0, over), Durations(1.0, 1.0, over)):
        assert one.long(None)
        assert not one.long(1000.0)
    assert not Durations(WARN_SECONDS, WARN_SECONDS, WARN_SECONDS).long(None)


def test_pages_flushed_since_the_checkpoint_are_read_too() -> None:
    """The older the checkpoint, the longer the recovery, by more than reading the redo takes."""
    near, far = (Recovery().recovery_seconds(at(0.5, 0.001, lag=lag)) for lag in (0, A // 2))

    assert far - near == pytest.approx(A / 2 / (100 * MEBIBYTE) + 0.001 * A / 2 / 1000.0, rel=0.01)


def test_a_server_with_nothing_to_recover_takes_its_start() -> None:
    """An empty flush list and a fresh checkpoint predict the fixed part alone, and no bound of any use.

    Five pages dirtied in the last hundred bytes are five pages, whatever lag the checkpoint has.
    """
    both = Settings(max_recovery_seconds=60.0, max_shutdown_seconds=60.0)

    assert Recovery().recovery_seconds(IDLE) == pytest.approx(START_SECONDS)
    assert Recovery().shutdown_seconds(IDLE) == 0.0
    assert set(ratios(taught(IDLE), HEADROOM, both)) == {"recovery"}
    assert Recovery().recovery_seconds(sample(age=100.0, pages_dirty=5)) < START_SECONDS + 0.1


@pytest.mark.parametrize(
    ("seen", "seconds"),
    [
        ([], 60.0),
        ([(10.0, 0.0)], 60.0),
        ([(3_000.0, 0.0), (10.0, 0.0)], 10.0),
        ([(3_000.0, 0.0), (1_000.0, 1_000.0), (10.0, 1_000.0)], 30.0),
        ([(1_000.0, 1_000.0), (1_500.0, 1_000.0)], 20.0),
        ([(3.0, 3.0)], 300.0),
    ],
    ids=["the prior", "nothing less", "the fastest", "what it kept up", "and since", "no freak low"],
)
def test_shutdown_goes_by_what_the_device_was_seen_to_do(
    seen: list[tuple[float, float]], seconds: float
) -> None:
    """How long 30,000 pages take after these flush rates and limits, a minute apart."""
    recovery, reading = Recovery(), sample(pages_dirty=30_000)
    for rate, limited in seen:
        recovery = recovery.see(reading, flush_rate=rate, limited=limited, elapsed=60.0)

    assert recovery.shutdown_seconds(reading) == pytest.approx(seconds, rel=0.01)


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


@pytest.mark.parametrize(
    ("before", "took"),
    [
        (Recovery().crashed(IDLE), 0.05),
        (Recovery().crashed(at(0.8, 0.002), unseen=300.0), 0.1),
        (Recovery(), 100.0),
    ],
    ids=["it was all start", "unseen for minutes", "no crash seen"],
)
def test_a_recovery_that_nothing_is_known_of_teaches_nothing(before: Recovery, took: float) -> None:
    """An idle server's crash, and one after minutes out of sight, are compared with no prediction."""
    assert before.measured(took, version="9.7.4").factor == pytest.approx(1.0)


# What is said about the bounds of a set-point: once, while it lasts.


def follow(sources: list[str], bounds: list[float] | None = None, **how: float) -> list[str]:
    """Return the codes said over so many seconds, one deciding source a second."""
    state, said = Announced(), []
    age_ratio = how.pop("age_ratio", 0.6)
    for second, source in enumerate(sources):
        given_ = {"predicted": 14.0, "allowed": 1.0, "least": 1.5, **how}
        state, events = update(
            state,
            {"recovery": Budget(bounds[second] if bounds else 0.9, **given_)},
            age_ratio=age_ratio,
            set_point=0.6,
            source=source,
            wished=None,
            now=float(second),
        )
        said += [event.code for event in events]
    return said


def times(code: str, bounds: list[float], **how: float) -> int:
    """Return how often a code is said while the recovery budget decides and bounds like this."""
    return follow(["recovery"] * len(bounds), bounds, **how).count(code)


@given(st.lists(st.sampled_from(sorted(NEWS | {"alarm", "headroom"})), max_size=200))
def test_every_end_follows_a_beginning(sources: list[str]) -> None:
    """Whatever decides in whatever order, beginnings and ends take turns, and once while it lasts.

    What bounds a set-point every day is no news.
    """
    assert follow(["headroom", "alarm", "highest", "person"] * 20) == []
    assert follow(["role", "alarm"] * 60 + ["alarm"] * 60) == ["bound_role", "unbound_role"]
    said = follow([*sources, *["alarm"] * (int(OVER_SECONDS) + 1)])

    for name in NEWS:
        own = [code for code in said if code.endswith(f"bound_{name}")]
        assert own == [f"bound_{name}", f"unbound_{name}"] * (len(own) // 2)


@pytest.mark.parametrize(
    ("bounds", "how", "said"),
    [
        ([0.2] * 310 + [0.295, 0.305] * 100, {}, 1),
        ([0.1] * 290 + [0.5] * 110, {}, 0),
        ([-0.5] * 15, {"age_ratio": 0.05}, 1),
        ([-0.5] * 15, {"age_ratio": 0.31}, 1),
        ([-0.5] * 400, {"age_ratio": 0.05, "predicted": 0.5}, 0),
    ],
    ids=["at the edge", "not confirmed", "the lowest age breaks it", "nearly the lowest", "kept by it"],
)
def test_a_budget_out_of_reach_is_said_once_when_that_is_sure(
    bounds: list[float], how: dict[str, float], said: int
) -> None:
    """What five minutes do not confirm is not said, unless the lowest age breaks it: then within seconds."""
    assert times("budget_out_of_reach", bounds, **how) == said


@pytest.mark.parametrize(("baseline", "said"), [(0.7, 1), (0.4, 0)])
def test_a_budget_below_the_baseline_is_said_not_to_be_kept_once(baseline: float, said: int) -> None:
    """It bounds the set-point no lower than the settings found hold the age, and says so; not while kept."""
    assert times("budget_not_kept", [0.5] * 400, baseline=baseline) == said


@pytest.mark.parametrize(
    ("budget", "set_point", "right", "wrong"),
    [
        (
            Budget(0.1, predicted=14.0, allowed=10.0, least=14.2, exponent=0.5),
            0.9,
            ["max_recovery_seconds = 15", "1.7 times", "39 % of this size", "2.6 times"],
            "nothing",
        ),
        (Budget(-0.5, predicted=14.0, allowed=10.0, least=15.0), 0.9, [], "of this size"),
        (
            Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=0.7, there=12.5, exponent=0.5),
            0.7,
            ["max_recovery_seconds = 13", "set_point = 0.5", "1.2 times"],
            "nothing",
        ),
        (
            Budget(0.5, predicted=14.0, allowed=10.0, least=9.0, baseline=1.0, there=20.1, m_moves_age=False),
            1.0,
            ["max_recovery_seconds = 21", "51 % of this size"],
            "set_point =",
        ),
    ],
    ids=["out of reach", "less redo does not help", "below the baseline", "no M moves the age"],
)
def test_what_would_keep_a_budget_is_said_with_its_cost(
    budget: Budget, set_point: float, right: list[str], wrong: str
) -> None:
    """A longer budget, less redo or a lower set-point, each only where it helps, and in page writes."""
    said = budget.right("recovery", set_point=set_point)

    assert [one for one in right if one not in said] == []
    assert wrong not in said


def test_a_budget_at_the_edge_of_reach_does_not_take_turns() -> None:
    """One that wavers around what the lowest set-point keeps bounds on; dropped, it stays so until far in."""

    def dropped(leasts: list[float]) -> list[bool]:
        state, seen = Announced(), []
        for second, least in enumerate(leasts):
            one = Budget(0.4 if least <= 10.0 else 0.2, predicted=14.0, allowed=10.0, least=least)
            state = drop(state, {"recovery": one}, now=float(second))
            seen.append(dict(state.dropped)["recovery"].on)
        return seen

    assert not any(dropped([10.5, 9.5] * 500))
    assert dropped([10.5] * 400)[-1]
    assert dropped([25.0])[0], "far out of reach is dropped at once"
    assert all(dropped([25.0, *([9.5] * 1000)]))
    assert not dropped([25.0, *([7.5] * 400)])[-1]
