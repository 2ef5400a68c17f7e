"""Every guard by itself, their order, and who is exempt from which."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.factory import ACTIVE
from tuner.core.writes import guards
from tuner.core.writes.guards import EMERGENCY_SPACING, TABLE, Context, Wish, guard
from tuner.records import Capacity, DecisionKind


def context(**changes: Any) -> Context:  # noqa: ANN401 - any field
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
    return Context(**(values | changes))


def ask(io_capacity_max: float, kind: DecisionKind = DecisionKind.SET, **changes: Any) -> Wish:  # noqa: ANN401 - any field
    """Pass a wish through its guards."""
    return guard(Wish(kind=kind, io_capacity_max=io_capacity_max), context(**changes))


def test_a_modest_wish_passes_untouched() -> None:
    """What is inside all limits comes out as it went in."""
    wish = ask(1200.0)

    assert (wish.io_capacity_max, wish.refused, wish.touched) == (1200.0, "", ())


@pytest.mark.parametrize(("wanted", "bounded"), [(1e9, 20_000.0), (0.0, 200.0)])
def test_limits_bound_a_wish(wanted: float, bounded: float) -> None:
    """No wish gets past the lowest and highest M allowed."""
    wish = guards.limits(Wish(DecisionKind.SET, wanted), context())

    assert (wish.io_capacity_max, wish.touched) == (bounded, ("limits",))


def test_authority_leaves_the_load_its_share_of_the_device() -> None:
    """M rises to 95 % of what the device was seen to give, and is never pushed down."""
    known = {"sustained_capacity": 2_000.0}

    assert guards.authority(Wish(DecisionKind.SET, 9e3), context(**known)).io_capacity_max == 1_900.0
    assert guards.authority(Wish(DecisionKind.SET, 1_500.0), context(**known)).touched == ()
    there = context(**known | {"current": Capacity(2_000, 4_000)})
    assert guards.authority(Wish(DecisionKind.SET, 9e3), there).io_capacity_max == 4_000.0
    assert guards.authority(Wish(DecisionKind.SET, 9e3), context(authority=0.1)).io_capacity_max == 9e3


def test_a_drain_asks_for_all_that_the_device_gives() -> None:
    """Who wants the age down does not leave the load its share meanwhile, and M does not wind up."""
    wish = guards.authority(Wish(DecisionKind.DRAIN, 9e3), context(sustained_capacity=2_000.0))

    assert wish.io_capacity_max == guards.DEVICE_MARGIN * 2_000.0


@pytest.mark.parametrize(("wanted", "bounded"), [(1e4, 2_000.0), (10.0, 500.0), (1_500.0, 1_500.0)])
def test_one_write_moves_m_by_the_step_factor_at_most(wanted: float, bounded: float) -> None:
    """With a step factor of 2, M is doubled or halved at the most."""
    assert guards.step(Wish(DecisionKind.SET, wanted), context()).io_capacity_max == bounded


def test_ratio_rounds_without_saying_so() -> None:
    """M becomes a whole multiple of C; that is no news."""
    wish = guards.ratio(Wish(DecisionKind.SET, 1_201.0), context(home=200))

    assert (wish.pair, wish.io_capacity_max, wish.touched) == (Capacity(200, 1_200), 1_200.0, ())


def test_a_ratio_that_is_set_is_kept() -> None:
    """Who wants M to be twice C gets that, whatever C was."""
    wish = guards.ratio(Wish(DecisionKind.SET, 1_201.0), context(home=200, settings=replace(ACTIVE, ratio=2)))

    assert wish.pair == Capacity(600, 1_200)


@pytest.mark.parametrize(
    ("wanted", "code"), [(1_008.0, "dead_band"), (1_012.0, ""), (992.0, "dead_band"), (988.0, "")]
)
def test_a_change_too_small_is_not_worth_a_write(wanted: float, code: str) -> None:
    """Less than a percent is left alone, and said so."""
    assert ask(wanted).refused == code


@pytest.mark.parametrize(
    ("kind", "current", "code"),
    [
        (DecisionKind.SET, Capacity(300, 800), ""),
        (DecisionKind.EMERGENCY, Capacity(300, 800), ""),
        (DecisionKind.SET, Capacity(200, 800), "dead_band"),
        (DecisionKind.EMERGENCY, Capacity(200, 800), "no_raise"),
    ],
)
def test_a_pair_that_is_no_whole_multiple_counts_as_what_the_server_makes_of_it(
    kind: DecisionKind, current: Capacity, code: str
) -> None:
    """300/800, which a kill between two SETs leaves, flushes as 600 does, and is not taken for 800."""
    assert ask(800.0, kind, current=current).refused == code


@pytest.mark.parametrize(
    ("wanted", "current", "said"),
    [
        (43.0, Capacity(100, 200), "the lowest that is allowed: min_io_capacity_max = 200"),
        (43.0, Capacity(100, 201), "the lowest that is allowed: min_io_capacity_max = 200"),
        (9e6, Capacity(10_000, 20_000), "the highest that is allowed: max_io_capacity_max = 20000"),
    ],
)
def test_a_wish_beyond_a_limit_that_m_is_at_names_the_limit(
    wanted: float, current: Capacity, said: str
) -> None:
    """It is the limit that keeps M where it is, and not the size of the change."""
    wish = ask(wanted, current=current, settings=replace(ACTIVE, min_io_capacity_max=200))

    assert (wish.refused, wish.touched) == ("limits", ("limits",))
    assert said in wish.detail


def test_the_floor_of_a_restless_load_is_named() -> None:
    """Where the settings allow less, it is the load that keeps M from going lower, and that is said."""
    wish = ask(43.0, current=Capacity(100, 200), floor=200)

    assert wish.refused == "limits"
    assert "less is for a load that has been calm for a while" in wish.detail


def test_a_wish_beyond_what_the_device_gives_names_the_device() -> None:
    """Where M asks for more than the device gives already, that is why it stays."""
    wish = ask(9e3, current=Capacity(900, 1_800), authority=0.5, sustained_capacity=1_500.0)

    assert wish.refused == "authority"
    assert "the device gives 1500 pages/s" in wish.detail


def test_a_write_waits_for_the_dwell() -> None:
    """Between two writes lie at least so many seconds; the refusal says how many are left."""
    soon = ask(1_500.0, last_write=993.5)

    assert soon.refused == "dwell"
    assert "4 s to go" in soon.detail
    assert ask(1_500.0, last_write=990.0).refused == ""


def test_the_hourly_budget_is_kept() -> None:
    """When the hour's changes are used up there is none until one is an hour old."""
    assert ask(1_500.0, changes=60).refused == "budget"
    assert ask(1_500.0, changes=59).refused == ""


def test_the_last_of_the_budget_is_for_raises() -> None:
    """The hour's last changes do not lower M, so that a budget that runs out leaves one that is too high."""
    assert ask(700.0, changes=57).refused == "reserve"
    assert "the rest is for raises" in ask(700.0, changes=57).detail
    assert ask(1_500.0, changes=57).refused == ""
    assert ask(700.0, changes=56).refused == ""
    assert ask(700.0, changes=1, settings=replace(ACTIVE, max_changes_per_hour=2)).refused == ""


def test_an_emergency_waits_for_nothing_but_the_server() -> None:
    """Neither step, dead band, dwell nor budget stop an emergency; only the server's reaction time does."""
    wish = ask(15_000.0, DecisionKind.EMERGENCY, last_write=1000.0 - EMERGENCY_SPACING, changes=10_000)

    assert (wish.io_capacity_max, wish.refused) == (15_000.0, "")
    assert ask(15_000.0, DecisionKind.EMERGENCY, last_write=999.0).refused == "spacing"


def test_an_emergency_never_lowers() -> None:
    """With more in force than the limits allow, an emergency leaves M alone and does not jump down."""
    wish = ask(50_000.0, DecisionKind.EMERGENCY, current=Capacity(20_000, 40_000), highest=5_000)

    assert wish.refused == "no_raise"


def test_an_emergency_takes_no_larger_gain_for_a_smaller_m() -> None:
    """Of an odd pair the server flushes M at most: 1500/1500 in the place of 1287/1609 would be less."""
    odd = {"current": Capacity(1287, 1609), "settings": replace(ACTIVE, ratio=1)}

    assert ask(1500.0, DecisionKind.EMERGENCY, **odd).refused == "no_raise"
    assert ask(1700.0, DecisionKind.EMERGENCY, **odd).refused == ""


def test_a_person_is_bound_by_limits_alone() -> None:
    """An override passes at once, inside the limits and as a whole ratio."""
    wish = ask(30_001.0, DecisionKind.OVERRIDE, last_write=1000.0, changes=10_000)

    assert (wish.io_capacity_max, wish.refused) == (20_000.0, "")


def test_limits_come_first_and_the_clock_last() -> None:
    """The table itself is the promise: limits before everything, cost of a write after what it would be."""
    names = {kind: [check.__name__ for check in row] for kind, row in TABLE.items()}

    assert names[DecisionKind.SET] == [
        "limits",
        "authority",
        "way_back",
        "step",
        "ratio",
        "dead_band",
        "dwell",
        "budget",
    ]
    assert names[DecisionKind.RELIEF] == ["limits", "ratio"]
    assert names[DecisionKind.EMERGENCY] == ["limits", "need", "ratio", "raises", "spacing"]
    assert names[DecisionKind.OVERRIDE] == ["limits", "ratio"]
    assert DecisionKind.RESTORE not in names


def test_the_first_refusal_ends_it() -> None:
    """A wish refused by one guard is shown to no later one."""
    wish = ask(1_001.0, last_write=999.0, changes=10_000)

    assert wish.touched == ("dead_band",)


@given(
    kind=st.sampled_from(list(TABLE)),
    wanted=st.floats(0.0, 1e12),
    current=st.integers(100, 50_000),
    lowest=st.integers(100, 5_000),
    room=st.integers(0, 20_000),
    last=st.none() | st.floats(0.0, 1000.0),
    changes=st.integers(0, 200),
    authority=st.floats(0.0, 1.5),
    device=st.none() | st.floats(0.0, 1e6),
)
def test_whatever_passes_is_inside_the_limits(
    *,
    kind: DecisionKind,
    wanted: float,
    current: int,
    lowest: int,
    room: int,
    last: float | None,
    changes: int,
    authority: float,
    device: float | None,
) -> None:
    """No order of guards lets a wish out of the limits or off the whole ratio."""
    wish = ask(
        wanted,
        kind,
        current=Capacity(current // 2, current),
        lowest=lowest,
        highest=lowest + room,
        last_write=last,
        changes=changes,
        authority=authority,
        sustained_capacity=device,
    )

    if not wish.refused:
        assert lowest <= wish.io_capacity_max <= lowest + room
        assert wish.pair is not None
        assert wish.pair.io_capacity_max == wish.io_capacity_max
        assert wish.pair.io_capacity_max % wish.pair.io_capacity == 0
