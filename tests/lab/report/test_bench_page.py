"""What a bench's page promises to whoever opens it, and what its charts are drawn from."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.report.bench_page import bench_page
from lab.report.charts import thin, with_gaps
from lab.report.figures import plain
from lab.report.rows import rows_of
from tests.lab.report.factory import NAMES, SECONDS, row, suite
from tests.lab.report.reading import Page


def html(rows: list[dict[str, Any]], title: str = "") -> str:
    """Return the page of rows as they stand in a file."""
    return bench_page(rows_of(rows), title=title)


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page of a quick suite."""
    return html(suite())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    """Return the same, read."""
    return Page(text)


def test_it_asks_for_nothing(text: str, page: Page) -> None:
    """No address outside the page, none in its styles, and a policy that would refuse any."""
    assert all(address.startswith(("#", "data:")) for address in page.asked)
    assert not re.search(r"url\(|@import|\bfetch\(|XMLHttpRequest|importScripts", text)
    assert page.policy.startswith("default-src 'none'")
    assert page.unclosed == []


def test_a_page_stays_small(text: str) -> None:
    """Under two megabytes, however much was sampled."""
    long = suite()
    for one in long:
        series = {name: of * 10 if isinstance(of, list) else of for name, of in one["series"].items()}
        one["series"] = series | {"at": [float(second) for second in range(SECONDS * 10)]}

    assert len(text.encode()) < 1_000_000
    assert len(html(long).encode()) < 2_000_000


def test_every_contender_is_in_the_headline_with_bounds_and_ratios(page: Page) -> None:
    """Mean, bounds, both ratios: the numbers, not only a picture of them."""
    head, *body = page.table("× default")

    assert [re.sub(r" \(.*", "", cell) for cell in head[:6]] == [
        "contender",
        "C/M",
        "commits/s",
        "blocks from, to",
        "× default",
        "× best static",
    ]
    assert {cells[0] for cells in body} == set(NAMES)
    ours = next(cells for cells in body if cells[0] == "cascade")
    assert ours[1] == "moves"
    assert re.fullmatch(r"2\u202f\d{3} \(2\u202f\d{3}\u00a0to\u00a02\u202f\d{3}\)", ours[2])
    assert re.fullmatch(r"2\.\d+ \([\d.]+\u00a0to\u00a0[\d.]+\)", ours[4])
    assert [cells[4] for cells in body if cells[0] == "default"] == ["1"]


def test_charts_count_from_where_counting_begins_and_keep_gaps_and_dips(page: Page) -> None:
    """Second 0 is the first that counts; the dip of one second and the gap of two are in the data."""
    assert len(page.plots) == 6
    (group,) = page.data["groups"]
    ours = next(one for one in group["rows"] if group["contenders"][one["contender"]] == "cascade")

    assert (ours["at"][0], ours["at"][-1]) == (-60, 119)
    assert ours["series"]["commits"][100] == 150
    assert ours["series"]["commits"][120:122] == [None, None]
    assert ours["limits"]["max_checkpoint_age"] == pytest.approx(82.97, abs=0.01)
    assert ours["events"] == [[30, "disk limited to 800 writes/s"]]
    assert page.table("what")[1] == ["30", "disk limited to 800 writes/s", "every row"]


def test_names_cannot_become_markup() -> None:
    """Whatever a contender, a server or an event is called, it is shown as text."""
    evil = "</script><script>alert(1)</script>"
    rows = [row("cascade", conditions={"server": evil}, events=[[3.0, evil]]), row("default")]
    rows[0]["contender"] = f"<b>{evil}"

    found = html(rows, title=evil)

    assert "<script>alert" not in found
    assert "<b>" not in found
    assert evil in Page(found).words


def test_an_unfinished_bench_has_a_page() -> None:
    """One row without series and hardly a figure, or a search alone: nothing is claimed, nothing breaks."""
    bare = {"schema": 1, "contender": "cascade", "kind": "policy", "figures": {"commits_mean": 100.0}}
    page = Page(html([bare]))
    search = Page(html([one for one in suite() if one["stage"] == "search"]))

    assert "no ratio is claimed" in page.words
    assert page.table("C/M")[1][2] == "100 (one block)"
    assert [cells[0] for cells in search.table("settled after")[1:]] == ["150/300", "210/420", "300/600"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (6.7e-5, "0.000067"),
        (-3e-5, "-0.00003"),
        (0.0005, "0.0005"),
        (0.05, "0.050"),
        (0.0, "0"),
        (12.34, "12.3"),
    ],
)
def test_a_small_number_is_written_out(value: float, words: str) -> None:
    """Nobody takes reads per commit of 6.7e-05 for 6.7."""
    assert plain(value) == words


@given(st.lists(st.none() | st.floats(-1e9, 1e9), min_size=1, max_size=400), st.integers(10, 100))
def test_no_dip_no_peak_and_no_gap_is_lost(values: list[float | None], points: int) -> None:
    """Lowest, highest and whether there is a gap survive, in every tenth of the time; nothing is invented."""
    at = [float(second) for second in range(len(values))]

    times, found = thin(at, {"commits": values}, points)

    kept = found["commits"]
    known = [value for value in values if value is not None]
    assert {min(known, default=None), max(known, default=None)} <= {*kept, None}
    assert (None in kept) == (None in values)
    assert {one for one in kept if one is not None} <= set(known)
    assert len(times) == len(kept)
    assert times == sorted(set(times))
    assert len(times) <= max(points, 1.5 * points + 3, 9)


def test_seconds_that_are_missing_become_a_gap() -> None:
    """Where the record jumps there is a point without a value, so that no line crosses it."""
    at = [0.0, 1.0, 2.0, 3.0, 60.0, 61.0, 62.0]

    times, found = with_gaps(at, {"commits": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]})

    assert times == [0.0, 1.0, 2.0, 3.0, 4.0, 60.0, 61.0, 62.0]
    assert found["commits"] == [1.0, 2.0, 3.0, 4.0, None, 5.0, 6.0, 7.0]
