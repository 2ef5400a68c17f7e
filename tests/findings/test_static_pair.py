"""Which pair is proposed as the one setting for a load that was seen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.factory import FACTS, estimate, sample
from tuner.core.state import State
from tuner.core.step import start
from tuner.findings.static_pair import static_pair
from tuner.records import Capacity
from tuner.settings import Settings

STATE: State = start(Settings(), FACTS)
FOUND = sample(io_capacity=200, io_capacity_max=2_000)


@given(
    demands=st.lists(st.floats(1.0, 1e5), min_size=1, max_size=130),
    gives=st.none() | st.floats(150.0, 5e3),
    ratio=st.floats(0.05, 0.95),
)
def test_no_more_is_proposed_than_the_device_was_seen_to_sustain(
    demands: list[float], gives: float | None, ratio: float
) -> None:
    """Whatever the demand, M is at most what the device kept up; by less than a minute it is never raised."""
    flushed = 0.0 if gives is None else 0.9 * gives
    seen = [estimate(demand=one, flush_rate=flushed, sustained_capacity=gives) for one in demands]
    m = static_pair(seen, FOUND, STATE, age_ratio=ratio).pair.io_capacity_max

    assert gives is None or m <= gives
    assert len(demands) >= 55 or m <= FOUND.io_capacity_max


def test_one_noisy_second_in_two_minutes_moves_little() -> None:
    """A second of eight times the demand counts as what it is, a sixtieth of its minute; a minute counts."""
    steady = [estimate(demand=800.0)] * 119
    quiet, noisy, busy = (
        static_pair([*steady, *more], FOUND, STATE, age_ratio=0.7).pair.io_capacity_max
        for more in ([], [estimate(demand=6_400.0)], [estimate(demand=6_400.0)] * 60)
    )

    assert quiet <= noisy <= 1.15 * quiet
    assert busy >= 6.5 * quiet


def test_where_no_m_moves_the_age_none_is_lowered_to_what_the_device_gives() -> None:
    """The M in force stays, as a lower one saves nothing there; it is not raised beyond the device either."""
    state = replace(STATE, facts=replace(STATE.facts, flush_law="soft-limit"))
    seen = [estimate(demand=9_000.0, flush_rate=500.0, sustained_capacity=600.0)] * 120

    assert static_pair(seen, FOUND, state, age_ratio=0.7).pair == Capacity(200, 2_000)
