"""The SETs between two pairs, legal and safe wherever they stop, and writes that go wrong."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, C_NAME, DEFAULT, FACTS, command, held
from tuner.core.writes.plan import LONGEST, MOST_RATIO, near, on_the_way, plan, rounded
from tuner.findings.remedies import clears
from tuner.records import CAPACITY_MINIMUM, Capacity
from tuner.settings import Mode

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
    low, high = sorted((old.gain, new.gain))
    for start, end in ((old, new), (new, old)):
        seen = walked(start, end)

        assert seen[-1] == end
        assert len(seen) <= LONGEST + 1
        assert all(pair.io_capacity <= pair.io_capacity_max for pair in seen)
        assert all(low <= pair.gain <= high for pair in seen)


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
    assert Capacity(*pair).gain == said


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


# Writes that go wrong, and what the loop believes afterwards.


def test_three_failures_wait_for_a_person(bench: Bench) -> None:
    """An account whose writes are refused is not tried for ever: after three refusals a person is asked."""
    bench.server.refusal = "the server is read-only (error 1290)"
    bench.turns(200)
    tried = len(bench.server.applied)
    (hold,) = bench.turns(60).holds

    assert bench.said("write_failed") == ["the server is read-only (error 1290)"] * 3
    assert hold.code.value == "not_writer"
    assert "error 1290" in hold.reason
    assert len(bench.server.applied) == tried
    bench.server.refusal = ""
    assert held(bench.turn(command("resume"))) == set()
    bench.server.redo_rate = 3e6
    bench.until("set", "emergency")


def test_a_lost_privilege_is_named_at_once(bench: Bench) -> None:
    """One refusal for want of a privilege is enough: the hold has the GRANT, and no second write is tried."""
    bench.state = replace(bench.state, facts=replace(FACTS, account="innobrim@10.0.0.%"))
    bench.server.refusal, bench.server.denied = "Access denied; you need SYSTEM_VARIABLES_ADMIN", True
    bench.until("set", "emergency")
    tried = len(bench.server.applied)
    (hold,) = bench.turns(120).holds

    assert hold.code.value == "privilege_lost"
    assert clears(hold, bench.state.facts).endswith(
        "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'innobrim'@'10.0.0.%'"
    )
    assert len(bench.server.applied) == tried


def test_what_the_server_keeps_adjusting_is_asked_for_once(bench: Bench) -> None:
    """Where the server makes another one of a person's value, or of the originals, that is all."""
    bench.server.adjusts = 777
    tried = len(bench.server.applied)
    bench.turn(command("override", value=1_000, ttl=600.0))
    bench.turns(20)
    assert len(bench.server.applied) == tried + 1
    assert bench.record.decision.reason == "adjusted"

    tried = len(bench.server.applied)
    bench.turn(command("restore"))
    for _ in range(60):
        bench.server.adjusts = 777
        bench.turn()
    assert bench.state.mode is Mode.ADVISORY
    assert len(bench.server.applied) <= tried + 2
    assert bench.server.applied[-1][1] == DEFAULT


def test_a_pair_left_half_way_is_not_taken_for_its_m() -> None:
    """Where a kill left 300/800, which flushes as 600 does, the next daemon that wants 800 writes it."""
    fixed = replace(ACTIVE, policy="fixed", fixed_io_capacity_max=800)
    bench = Bench(fixed, FakeServer(Capacity(300, 800))).ready()
    bench.until("set")

    assert bench.server.capacity.gain == pytest.approx(800, rel=0.01)
