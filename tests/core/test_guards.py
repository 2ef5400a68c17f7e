"""Every guard by itself, their order, and who is exempt from which."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE
from tuner.core.estimate.trends import AUTHORITY_LOST
from tuner.core.writes import guards
from tuner.core.writes.guards import EMERGENCY_SPACING, TABLE, GuardContext, GuardedWish, guard
from tuner.core.writes.token_bucket import HOUR, TokenBucket, depth
from tuner.records import Capacity, DecisionKind

SET, EMERGENCY = DecisionKind.SET, DecisionKind.EMERGENCY
ODD = Capacity(300, 800)
"""No whole multiple: the server flushes by 600."""


def context(**changes: Any) -> GuardContext:  # noqa: ANN401 - any field
    """Return a context in which nothing stands in the way: M = 1000, no write yet."""
    values: dict[str, Any] = {
        "now": 1000.0,
        "settings": ACTIVE,
        "current": Capacity(500, 1000),
        "lowest": 200,
        "highest": 20_000,
        "last_write": None,
        "changes": 0,
    }
    return GuardContext(**(values | changes))


def ask(io_capacity_max: float, kind: DecisionKind = SET, **changes: Any) -> GuardedWish:  # noqa: ANN401 - any field
    """Pass a wish through its guards."""
    return guard(GuardedWish(kind=kind, io_capacity_max=io_capacity_max), context(**changes))


def test_an_m_that_the_configuration_names_is_set_to_the_page() -> None:
    """Nobody who wrote 900 finds 894 in force because an emergency came near it; others need a reason."""
    near = {"current": Capacity(447, 894)}

    assert ask(900.0, settings=replace(ACTIVE, policy="fixed"), **near).refused is None
    assert ask(900.0, **near).refused == "dead_band"


def test_where_the_load_answers_flushing_a_small_change_is_worth_a_write() -> None:
    """There a hundredth of M moves the age by a quarter, so that the dead band is as much narrower."""
    assert ask(1_002.0, coupling=9.0).refused is None
    assert ask(1_000.5, coupling=9.0).refused == "dead_band"


SHORT = {"authority": 0.1, "demand": 5_000.0}
DEVICE = {"sustained_capacity": 2_000.0}
BACK = {"current": Capacity(2_000, 4_000), "raised_from": 1_000}
"""After an emergency, which left four times the M before it."""


def test_what_is_inside_all_limits_comes_out_as_it_went_in() -> None:
    """A modest wish passes untouched."""
    wish = ask(1200.0)

    assert (wish.io_capacity_max, wish.refused, wish.touched) == (1200.0, None, ())


@pytest.mark.parametrize(
    ("check", "wanted", "changes", "comes"),
    [
        (guards.limits, 1e9, {}, 20_000.0),
        (guards.limits, 0.0, {}, 200.0),
        (guards.step, 1e4, {}, 2_000.0),
        (guards.step, 10.0, {}, 500.0),
        (guards.step, 1_500.0, {}, 1_500.0),
        (guards.authority, 9e3, DEVICE, 1_900.0),
        (guards.authority, 1_500.0, DEVICE, 1_500.0),
        (guards.authority, 9e3, {**DEVICE, "current": Capacity(2_000, 4_000)}, 4_000.0),
        (guards.authority, 9e3, {"authority": 0.1}, 9e3),
        (guards.authority, 9e3, {**DEVICE, "kind": DecisionKind.DRAIN}, guards.DEVICE_MARGIN * 2_000.0),
        (guards.way_back, 500.0, BACK, 1_150.0),
        (guards.way_back, 1_150.0, BACK, 1_150.0),
        (guards.way_back, 1_400.0, BACK, 1_400.0),
        (guards.way_back, 500.0, {**BACK, "current": Capacity(500, 1_100)}, 500.0),
        (guards.way_back, 500.0, {**BACK, "raised_from": 0}, 500.0),
        (guards.emergency_ceiling, 15_000.0, {**DEVICE, "sync_stalls": True}, 15_000.0),
        (guards.emergency_ceiling, 15e3, {**DEVICE, "sync_stalls": True, "authority": AUTHORITY_LOST}, 15e3),
        (guards.emergency_ceiling, 15e3, {**DEVICE, "sync_stalls": True, "authority": 0.1}, 2_400.0),
        (guards.emergency_ceiling, 15e3, {**DEVICE, "sync_stalls": True, **SHORT}, 5_000.0),
        (guards.emergency_ceiling, 15e3, {**DEVICE, **SHORT}, 2_400.0),
        (guards.emergency_ceiling, 15e3, {**DEVICE, **SHORT, "authority": AUTHORITY_LOST}, 4_800.0),
        (guards.emergency_ceiling, 1_500.0, {**DEVICE, "authority": 0.5}, 1_500.0),
    ],
)
def test_what_bounds_a_wish(check: Any, wanted: float, changes: dict[str, Any], comes: float) -> None:  # noqa: ANN401 - a guard
    """Limits and step factor; the device: 95 % for the load's sake, all for a drain, never down.

    A way back from an emergency ends 15 % above the M that was too low, where there is so much to come down.
    An emergency asks for no more than the device was seen to give, misjudged by half at most; where writers
    wait at the sync point it asks for what the load needs, whatever the device gave so far.
    """
    given = {"kind": SET, **changes}
    found = check(GuardedWish(given.pop("kind"), wanted), context(**given))

    assert found.io_capacity_max == pytest.approx(comes)
    code = "authority" if check is guards.emergency_ceiling else check.__name__
    assert found.touched == (() if comes == wanted else (code,))


@pytest.mark.parametrize(("ratio", "pair"), [(None, Capacity(200, 1_200)), (2, Capacity(600, 1_200))])
def test_m_becomes_a_whole_multiple_without_a_word(ratio: int | None, pair: Capacity) -> None:
    """Near what C was, or by the ratio that somebody set; that is no news."""
    settings = replace(ACTIVE, ratio=ratio)
    wish = guards.ratio(GuardedWish(SET, 1_201.0), context(home=200, settings=settings))

    assert (wish.pair, wish.io_capacity_max, wish.touched) == (pair, 1_200.0, ())


FEW = replace(ACTIVE, max_changes_per_hour=2)
AT_LEAST_200 = replace(ACTIVE, min_io_capacity_max=200)
ONE_TO_ONE = {"current": Capacity(1287, 1609), "settings": replace(ACTIVE, ratio=1)}


@pytest.mark.parametrize(
    ("wanted", "kind", "changes", "code"),
    [
        (1_008.0, SET, {}, "dead_band"),
        (1_012.0, SET, {}, ""),
        (992.0, SET, {}, "dead_band"),
        (988.0, SET, {}, ""),
        (800.0, SET, {"current": ODD}, ""),
        (800.0, EMERGENCY, {"current": ODD}, ""),
        (800.0, SET, {"current": Capacity(200, 800)}, "dead_band"),
        (800.0, EMERGENCY, {"current": Capacity(200, 800)}, "no_raise"),
        (1_500.0, SET, {"last_write": 993.5}, "dwell"),
        (1_500.0, SET, {"last_write": 990.0}, ""),
        (1_500.0, SET, {"changes": 60}, "budget"),
        (1_500.0, SET, {"changes": 61}, "budget"),
        (1_500.0, SET, {"changes": 59}, ""),
        (700.0, SET, {"changes": 57}, "reserve"),
        (700.0, SET, {"changes": 59}, "reserve"),
        (1_500.0, SET, {"changes": 57}, ""),
        (700.0, SET, {"changes": 56}, ""),
        (700.0, SET, {"changes": 1, "settings": FEW}, ""),
        (1_500.0, SET, {"changes": 50, "reserved": 10}, "reserve"),
        (1_500.0, SET, {"changes": 55, "reserved": 10}, "reserve"),
        (1_500.0, SET, {"changes": 49, "reserved": 10}, ""),
        (1_200.0, SET, {"changes": 60, **BACK}, ""),
        (900.0, SET, {"changes": 60, **BACK}, ""),
        (4_200.0, SET, {"changes": 60, **BACK}, "budget"),
        (43.0, SET, {"current": Capacity(100, 200), "settings": AT_LEAST_200}, "limits"),
        (43.0, SET, {"current": Capacity(100, 201), "settings": AT_LEAST_200}, "limits"),
        (43.0, SET, {"current": Capacity(100, 200), "floor": 200}, "limits"),
        (9e6, SET, {"current": Capacity(10_000, 20_000)}, "limits"),
        (
            9e3,
            SET,
            {"current": Capacity(900, 1_800), "authority": 0.5, "sustained_capacity": 1_500.0},
            "authority",
        ),
        (15_000.0, EMERGENCY, {"last_write": 999.0}, "spacing"),
        (1_500.0, EMERGENCY, ONE_TO_ONE, "no_raise"),
        (1_700.0, EMERGENCY, ONE_TO_ONE, ""),
    ],
)
def test_what_refuses_a_wish(wanted: float, kind: DecisionKind, changes: dict[str, Any], code: str) -> None:
    """Too small a change, too soon, too many; what M is at already; an emergency that would raise nothing.

    A pair that is no whole multiple counts as what the server makes of it; the last changes are for raises.
    """
    assert (ask(wanted, kind, **changes).refused or "") == code


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"settings": AT_LEAST_200}, "min_io_capacity_max = 200"),
        ({"floor": 200}, "the lowest for now: a value below 200 needs a load that was watched for 3 minutes"),
        (
            {"floor": 660, "lowest": 660, "current": Capacity(330, 660)},
            "660, the lowest for now: an emergency in the last 5 minutes showed",
        ),
        ({"lowest": 100, "last_write": 993.5}, "possible in 4 s"),
        ({"lowest": 100, "changes": 57}, "the rest is kept for raises"),
    ],
)
def test_a_refusal_names_what_keeps_m_where_it_is(changes: dict[str, Any], said: str) -> None:
    """The limit and its key, a load not calm for so long, an emergency, the dwell left, the reserve."""
    assert said in ask(43.0, **({"current": Capacity(100, 200)} | changes)).detail


def test_an_emergency_waits_for_nothing_but_the_server() -> None:
    """Neither step, dead band, dwell nor budget stop an emergency; only the server's reaction time does."""
    wish = ask(15_000.0, EMERGENCY, last_write=1000.0 - EMERGENCY_SPACING, changes=10_000)

    assert (wish.io_capacity_max, wish.refused) == (15_000.0, None)


def test_an_emergency_never_lowers() -> None:
    """With more in force than the limits allow, an emergency leaves M alone and does not jump down."""
    wish = ask(50_000.0, EMERGENCY, current=Capacity(20_000, 40_000), highest=5_000)

    assert wish.refused == "no_raise"


@pytest.mark.parametrize(
    ("io_capacity_max", "raised_from", "is_one"),
    [
        (1_000, 1_000, True),
        (3_999, 1_000, True),
        (999, 1_000, False),
        (4_000, 1_000, False),
        (2_000, 0, False),
    ],
)
def test_a_way_back_goes_from_the_emergency_to_where_it_began(
    *, io_capacity_max: int, raised_from: int, is_one: bool
) -> None:
    """Anything beyond these two is a change like any other, with its step and its place in the budget."""
    there = context(current=Capacity(2_000, 4_000), raised_from=raised_from)

    assert there.is_way_back(io_capacity_max) is is_one


def test_a_person_is_bound_by_limits_alone() -> None:
    """An override passes at once, inside the limits and as a whole ratio."""
    wish = ask(30_001.0, DecisionKind.OVERRIDE, last_write=1000.0, changes=10_000)

    assert (wish.io_capacity_max, wish.refused) == (20_000.0, None)


def test_limits_come_first_and_the_clock_last() -> None:
    """The table itself is the promise: limits before everything, cost of a write after what it would be.

    A wish refused by one guard is shown to no later one.
    """
    names = {kind: [check.__name__ for check in row] for kind, row in TABLE.items()}

    assert names[SET] == ["limits", "authority", "way_back", "step", "ratio", "dead_band", "dwell", "budget"]
    assert names[DecisionKind.RELIEF] == ["limits", "ratio"]
    assert names[EMERGENCY] == ["limits", "emergency_ceiling", "ratio", "raises", "spacing"]
    assert names[DecisionKind.OVERRIDE] == ["limits", "ratio"]
    assert DecisionKind.RESTORE not in names
    assert ask(1_001.0, last_write=999.0, changes=10_000).touched == ("dead_band",)


@given(
    kind=st.sampled_from(list(TABLE)),
    wanted=st.floats(0.0, 1e12),
    current=st.integers(100, 50_000),
    lowest=st.integers(100, 5_000),
    room=st.integers(0, 20_000),
    given=st.fixed_dictionaries(
        {
            "last_write": st.none() | st.floats(0.0, 1000.0),
            "changes": st.integers(0, 200),
            "authority": st.floats(0.0, 1.5),
            "sustained_capacity": st.none() | st.floats(0.0, 1e6),
        }
    ),
)
def test_whatever_passes_is_inside_the_limits(
    *, kind: DecisionKind, wanted: float, current: int, lowest: int, room: int, given: dict[str, Any]
) -> None:
    """No order of guards lets a wish out of the limits or off the whole ratio."""
    limits = {"lowest": lowest, "highest": lowest + room}
    wish = ask(wanted, kind, current=Capacity(current // 2, current), **limits, **given)

    if not wish.refused:
        assert lowest <= wish.io_capacity_max <= lowest + room
        assert wish.pair is not None
        assert wish.pair.io_capacity_max == wish.io_capacity_max
        assert wish.pair.io_capacity_max % wish.pair.io_capacity == 0


# What the policy's own changes are paid from.


BUDGET = 60


def spent(times: list[float], budget: int = BUDGET) -> TokenBucket:
    """Return a bucket after changes at these times."""
    tokens = TokenBucket()
    for now in times:
        tokens = tokens.take(now=now, budget=budget)
    return tokens


def test_changes_in_quick_succession_lead_to_saving() -> None:
    """A third of the hour's changes may come at once; who has spent them saves until they are back."""
    tokens = spent([10.0 * one for one in range(25)])
    full = 240.0 + depth(BUDGET) * HOUR / BUDGET

    assert not spent([10.0 * one for one in range(15)]).is_exhausted(now=150.0, budget=BUDGET)
    assert [tokens.is_exhausted(now=at, budget=BUDGET) for at in (241.0, full - 1.0, full + 1.0)] == [1, 1, 0]


@given(st.integers(2, 3600), st.integers(10, 100))
def test_an_even_pace_never_leads_to_saving(budget: int, count: int) -> None:
    """As many changes an hour as are allowed, one after the other, never empty a bucket that holds two."""
    tokens = spent([one * HOUR / budget for one in range(count)], budget)

    assert depth(budget) < 2.0 or not tokens.exhausted


@given(st.integers(1, 3600), st.lists(st.floats(0.0, 7200.0), max_size=100))
def test_it_is_never_overdrawn_nor_overfull(budget: int, times: list[float]) -> None:
    """There are between no changes in it and as many as it holds, whatever was spent."""
    tokens = spent(sorted(times), budget)

    assert 0 <= tokens.tokens(now=max([0.0, *times]), budget=budget) <= depth(budget)


def test_a_reader_is_told_that_changes_are_saved(bench: Bench) -> None:
    """While the policy saves, the reason of a decision says so."""
    tokens = spent([bench.record.tick.now] * 20)
    bench.state = replace(bench.state, writes=replace(bench.state.writes, tokens=tokens))

    assert "saving" in {bench.turn().decision.reason for _ in range(60)}
