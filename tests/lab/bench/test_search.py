"""The search for the best static setting finds it, in few rows, and by the rules that ours keeps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.bench import search
from tuner.records import CAPACITY_MINIMUM
from tuner.settings import Settings

Row = dict[str, Any]
STILL: Row = {"write_iops": 2400, "alternate_iops": None}
ALTERNATING: Row = STILL | {"alternate_iops": 800}


def row(value: int, *, edge: float, rate: int = 0, disk: Row = STILL, lifted: float | None = None) -> Row:
    """Return what a server would do whose law needs at least ``edge`` pages/s of M."""
    fits = value >= edge
    return {
        "plan": {"timing": {} if lifted is None else {"lifted": lifted}},
        "io_capacity_max": value,
        "conditions": {"load": {"rate": rate}, "disk": disk},
        "figures": {
            "sync_pages": 0 if fits else 500,
            "commits_median": 2000.0,
            "commits_p1": 1800.0 if fits else 400.0,
            "commits_mean": 3000.0 * (edge / value) ** 0.3,
            "pages_per_commit": 0.1 * (value / edge) ** 0.3,
            "pages_per_second": 0.7 * edge,
            "checkpoint_ratio_max": 0.7 if fits else 0.9,
            "age_ratio_mean": min(1.0, 0.85 * (edge / value) ** 0.66),
        },
    }


def searched(edge: float, start: int, **conditions: Any) -> list[Row]:  # noqa: ANN401 - as row takes them
    """Return the rows of a whole search."""
    rows: list[Row] = []
    while (value := search.next_value(rows, start)) is not None:
        assert value not in [one["io_capacity_max"] for one in rows], "a value is tried twice"
        rows.append(row(value, edge=edge, **conditions))
    return rows


@pytest.mark.parametrize(
    ("conditions", "fine"),
    [
        ({}, 1 / 1.05),
        ({"disk": ALTERNATING}, search.FINE_COARSE),
        ({"lifted": 300.0}, search.FINE_COARSE),
    ],
    ids=["still", "alternating", "lifted"],
)
@given(edge=st.floats(150.0, 3000.0), factor=st.floats(0.6, 8.0))
def test_the_search_comes_near_the_edge(conditions: Row, fine: float, edge: float, factor: float) -> None:
    """Wherever it begins, the winner is hardly above the lowest M that keeps the rules."""
    rows = searched(edge, max(CAPACITY_MINIMUM * 2, 2 * round(edge * factor / 2)), **conditions)
    winner = search.best(rows)
    assert winner is not None
    assert edge <= winner["io_capacity_max"] <= edge / fine + 4
    assert len(rows) <= search.MOST_ROWS


@pytest.mark.parametrize(
    ("value", "figures", "still", "alternating"),
    [
        (300, {"commits_mean": 9999.0}, False, False),
        (420, {"commits_p1": 100.0}, False, True),
        (420, {"checkpoint_ratio_max": 0.83}, False, True),
    ],
    ids=["sync flushing", "uneven", "beyond the alarm cap"],
)
def test_what_breaks_a_rule_never_wins(
    value: int, figures: dict[str, float], *, still: bool, alternating: bool
) -> None:
    """A higher mean excuses nothing; on a disk that alternates uneven seconds and a high age are no fault."""
    for disk, wins in ((STILL, still), (ALTERNATING, alternating)):
        good, other = row(900, edge=400.0, disk=disk), row(value, edge=400.0, disk=disk)
        other["figures"] |= figures
        assert (search.best([good, other]) is other) is wins


def test_a_rate_that_was_not_served_is_no_saving() -> None:
    """Fewer pages because fewer transactions came through do not win, and no commits at all never do."""
    whole, part = row(900, edge=400.0, rate=3000), row(420, edge=400.0, rate=3000)
    whole["figures"]["commits_mean"], part["figures"]["commits_mean"] = 2990.0, 2000.0
    assert search.best([whole, part]) is whole
    dead = row(500, edge=400.0)
    dead["figures"] |= {
        "commits_mean": 0.0,
        "commits_p1": 0.0,
        "commits_median": 0.0,
        "pages_per_commit": None,
    }
    assert search.best([dead]) is None
    assert search.best([dead], search.anything) is None


def test_a_setting_outside_our_budgets_is_no_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ours may not do for the sake of a recovery or shutdown, the best static setting may not either."""
    fast, slow = row(420, edge=400.0), row(900, edge=400.0)
    fast["figures"] |= {"recovery_seconds_predicted": 9e9, "shutdown_seconds_predicted": 9e9}
    assert search.best([fast, slow]) is fast, "by default ours may, too"
    fast["figures"] |= {"recovery_seconds_predicted": 1.0, "shutdown_seconds_predicted": 1.0}
    monkeypatch.setattr(search, "OURS", Settings(max_recovery_seconds=300.0, max_shutdown_seconds=300.0))
    for name in ("recovery_seconds_predicted", "shutdown_seconds_predicted"):
        fast["figures"] |= {name: 301.0}
        slow["figures"] |= {name: 299.0}
        assert search.best([fast, slow]) is slow
        assert search.best([fast, slow], search.steady) is fast
        del fast["figures"][name]
        assert search.best([fast, slow]) is fast, "what is not known judges nobody"


@pytest.mark.parametrize(
    ("figures", "tried"),
    [
        ({"pages_per_second": 1e12}, search.MOST_ROWS),
        ({"pages_per_second": 350.0}, 3),
        ({"pages_per_second": 350.0, "age_ratio_mean": 0.45}, search.MOST_ROWS),
        ({"pages_per_second": 0.0}, search.MOST_ROWS),
    ],
    ids=["M may be too low", "no M moves the age", "M moves the age", "nothing is flushed"],
)
def test_where_nothing_keeps_the_rules_there_is_no_winner(figures: dict[str, float], tried: int) -> None:
    """A server that flushes in sync at every setting has no best static one, and the search ends.

    It ends soon where the age is high at an M far above what is flushed: no higher one is any better there.
    """
    rows: list[Row] = []
    while (value := search.next_value(rows, 400)) is not None:
        rows.append(row(value, edge=1e12))
        rows[-1]["figures"] |= figures
    assert search.best(rows) is None
    assert len(rows) == tried


def test_a_rate_that_is_not_served_at_a_low_age_asks_for_a_lower_m() -> None:
    """Its M is too high: pages are written again and again, and take the disk from the commits."""
    unserved = row(2000, edge=1500.0, rate=441)
    unserved["figures"] |= {"commits_mean": 404.0, "age_ratio_mean": 0.17}

    assert search.next_value([unserved], 2000) < 2000

    unserved["figures"] |= {"age_ratio_mean": 0.95}
    assert search.next_value([unserved], 2000) > 2000


@given(peak=st.floats(100.0, 4000.0), factor=st.floats(0.6, 8.0), edge=st.sampled_from([10.0, 150.0]))
def test_a_winner_beats_what_lies_beside_it_or_the_search_is_open(
    peak: float, factor: float, edge: float
) -> None:
    """Also where every setting down to the lowest keeps the rules, and the best of them lies above it."""
    rows: list[Row] = []
    start = max(CAPACITY_MINIMUM * 2, 2 * round(peak * factor / 2))
    while (value := search.next_value(rows, start)) is not None:
        rows.append(row(value, edge=edge))
        rows[-1]["figures"]["commits_mean"] = 3000.0 * min(value / peak, peak / value)
    winner = search.best(rows)
    assert winner is not None
    if search.untried(rows) is None:
        best = max(peak, CAPACITY_MINIMUM, edge)
        assert best * 0.95 - 2 <= winner["io_capacity_max"] <= best * 1.05 + 2
    else:
        assert len(rows) == search.MOST_ROWS


def test_an_age_is_expected_of_the_next_value() -> None:
    """The age is brought near what the rows tried promise: between them, or by the law below all of them."""
    rows = [row(400, edge=300.0), row(800, edge=300.0)]
    low, high = (one["figures"]["age_ratio_mean"] for one in reversed(rows))
    expected = search.expected_ratio(rows, 600)
    assert expected == pytest.approx((low + high) / 2)
    assert search.expected_ratio(rows, 1000) is search.expected_ratio([], 200) is None
    assert search.expected_ratio(rows, 360) == pytest.approx(
        min(search.HIGHEST_GUESS, high * (400 / 360) ** (2 / 3))
    )
    assert search.expected_ratio(rows, 100) == search.HIGHEST_GUESS


def test_a_row_that_is_uneven_at_a_low_age_does_not_send_the_search_upwards() -> None:
    """Where something else held the load up for a second, a lower M is still tried."""
    first = row(2000, edge=400.0)
    first["figures"]["commits_p1"] = 400.0
    assert first["figures"]["age_ratio_mean"] < search.HIGH_AGE

    following = search.next_value([first], 0)

    assert following is not None
    assert following < 2000
    assert search.best([first]) is None
