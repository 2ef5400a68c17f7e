"""What a bench's page promises to whoever opens it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lab.report.page import build
from tests.lab.report.factory import NAMES, SECONDS, row, suite
from tests.lab.report.reading import Page


@pytest.fixture(scope="module")
def text() -> str:
    """Return the page of a quick suite."""
    return build("Bench", suite())


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


def test_a_quick_suite_stays_small(text: str) -> None:
    """Under two megabytes, however much was sampled."""
    long = [one | {"series": _longer(one["series"], 10)} for one in suite()]

    assert len(text.encode()) < 1_000_000
    assert len(build("Bench", long).encode()) < 2_000_000


def _longer(series: dict[str, Any], times: int) -> dict[str, Any]:
    found = {name: value * times if isinstance(value, list) else value for name, value in series.items()}
    return found | {"at": [float(second) for second in range(SECONDS * times)]}


def test_every_contender_is_in_the_headline_with_bounds_and_ratios(page: Page) -> None:
    """Mean, bounds, both ratios, p1, sync pages: the numbers, not only a picture of them."""
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

    text = build(evil, rows)

    assert "<script>alert" not in text
    assert "<b>" not in text
    assert evil in Page(text).words


def test_an_unfinished_bench_has_a_page() -> None:
    """One row, no series, hardly a figure: nothing is claimed, and nothing breaks."""
    bare = {"schema": 1, "contender": "cascade", "kind": "policy", "figures": {"commits_mean": 100.0}}

    page = Page(build("Bench", [bare]))

    assert "no ratio is claimed" in page.words
    assert page.table("C/M")[1][2] == "100 (one block)"


def test_only_a_search_has_a_page() -> None:
    """Before the first block the static values are all there is."""
    page = Page(build("Bench", [one for one in suite() if one["stage"] == "search"]))

    assert [cells[0] for cells in page.table("settled after")[1:]] == ["150/300", "210/420", "300/600"]
