"""The SETs between two pairs: legal and safe wherever they stop."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.bench import FakeServer
from tests.factory import C_NAME
from tuner.core.writes.plan import LONGEST, MOST_RATIO, gain, near, on_the_way, plan, rounded
from tuner.records import CAPACITY_MINIMUM, Capacity

CAPACITY = st.integers(100, 30_000)
WHOLE = st.builds(lambda c, k: Capacity(c, k * c), CAPACITY, st.integers(1, 20))
ANY = st.builds(lambda c, more: Capacity(c, c + more), CAPACITY, st.integers(0, 60_000))


def walked(old: Capacity, new: Capacity) -> list[Capacity]:
    """Return every pair that the server goes through, the first included; SETs as the server takes them."""
    server = FakeServer(old)
    seen = [old]
    for step in plan(old, new):
        server.apply((step,), new)
        name, value = step
        asked = server.capacity.io_capacity if name == C_NAME else server.capacity.io_capacity_max
        assert asked == value, "the server would have changed the value without an error"
        seen.append(server.capacity)
    return seen


@given(old=ANY, new=WHOLE)
@example(old=Capacity(1000, 1999), new=Capacity(1000, 2000))
@example(old=Capacity(100, 100), new=Capacity(30_000, 30_000))
@example(old=Capacity(225, 450), new=Capacity(300, 600))
def test_every_way_is_safe_at_every_point(old: Capacity, new: Capacity) -> None:
    """To a whole ratio and back: C never above M, the gain always between old and new, the end right."""
    low, high = sorted((gain(old), gain(new)))
    for start, end in ((old, new), (new, old)):
        seen = walked(start, end)

        assert seen[-1] == end
        assert len(seen) <= LONGEST + 1
        assert all(pair.io_capacity <= pair.io_capacity_max for pair in seen)
        assert all(low <= gain(pair) <= high for pair in seen)


@given(old=ANY, new=st.one_of(WHOLE, ANY))
def test_the_way_is_known_without_walking_it(old: Capacity, new: Capacity) -> None:
    """What a write may leave when it is cut off is what the server shows at that point, to the very end."""
    try:
        seen = walked(old, new)
    except ValueError:
        seen = [old, new]

    assert on_the_way(old, new) == (tuple(seen[1:]) or (new,))


@given(old=WHOLE, c=CAPACITY, k=st.integers(1, 20))
def test_whole_ratios_need_no_third_value(old: Capacity, c: int, k: int) -> None:
    """C takes the values of the two ends alone, in three SETs at most, and in two where the ratio stays."""
    kept = old.io_capacity_max // old.io_capacity

    assert len(plan(old, Capacity(c, kept * c))) == (0 if c == old.io_capacity else 2)
    seen = walked(old, Capacity(c, k * c))
    assert len(seen) - 1 <= 3
    assert all(pair.io_capacity in {old.io_capacity, c} for pair in seen)


@pytest.mark.parametrize(("pair", "said"), [((1500, 2000), 1500), ((1000, 1999), 1000), ((225, 450), 450)])
def test_gain_is_what_the_server_works_with(pair: tuple[int, int], said: int) -> None:
    """The gain cuts M down to a whole multiple of C."""
    assert gain(Capacity(*pair)) == said


@pytest.mark.parametrize(
    ("wanted", "home", "pair"),
    [
        (450.0, 10_000, Capacity(450, 450)),
        (450.0, 200, Capacity(225, 450)),
        (2_000.0, 200, Capacity(200, 2_000)),
        (2_090.0, 200, Capacity(209, 2_090)),
        (150.0, 200, Capacity(150, 150)),
        (150.0, 100, Capacity(150, 150)),
        (20_000.0, 200, Capacity(1_000, 20_000)),
        (10.0, 200, Capacity(100, 100)),
    ],
)
def test_c_stays_near_what_it_was(wanted: float, home: int, pair: Capacity) -> None:
    """Of the whole multiples, 1 to 20, the one is taken that leaves C nearest to the operator's."""
    assert near(wanted, home=home, ratio=None, lowest=100, highest=20_000) == pair


@given(
    wanted=st.floats(0.0, 1e12),
    home=st.integers(100, 50_000),
    lowest=st.integers(100, 5_000),
    room=st.integers(0, 100_000),
)
def test_whatever_is_wanted_the_pair_is_one_that_the_law_can_use(
    wanted: float, home: int, lowest: int, room: int
) -> None:
    """Inside the limits, whole, C at the server's minimum or above, M off by less than a fiftieth."""
    pair = near(wanted, home=home, ratio=None, lowest=lowest, highest=lowest + room)

    assert pair.io_capacity_max % pair.io_capacity == 0
    assert 1 <= pair.io_capacity_max // pair.io_capacity <= MOST_RATIO
    assert pair.io_capacity >= CAPACITY_MINIMUM
    assert lowest <= pair.io_capacity_max <= lowest + room
    assert abs(pair.io_capacity_max / min(lowest + room, max(lowest, wanted)) - 1.0) < 0.02


@given(
    wanted=st.floats(0.0, 1e12),
    ratio=st.integers(1, 20),
    lowest=st.integers(2_000, 5_000),
    room=st.integers(20, 100_000),
)
def test_rounding_gives_a_whole_ratio_inside_the_limits(
    wanted: float, ratio: int, lowest: int, room: int
) -> None:
    """Any wanted M becomes the nearest whole multiple inside the limits."""
    pair = rounded(wanted, ratio=ratio, lowest=lowest, highest=lowest + room)

    assert pair.io_capacity_max == ratio * pair.io_capacity
    assert lowest <= pair.io_capacity_max <= lowest + room
    assert abs(pair.io_capacity_max - min(lowest + room, max(lowest, wanted))) < ratio
