"""Beside the best static setting stand those that win without what ours keeps."""

from __future__ import annotations

from typing import Any

import pytest

from lab.bench import search
from lab.report.files import bench_summary
from lab.report.page import build
from lab.report.rows import rows_of
from lab.report.summary import groups, winner_sentences
from lab.report.words import comparison as table
from tests.lab.report.factory import row
from tests.lab.report.reading import Page
from tuner.settings import Settings


def searched(value: int, commits: float, **figures: float) -> dict[str, Any]:
    """Return a row of the search that keeps every rule unless its figures say otherwise."""
    good = {"sync_pages": 0, "commits_p1": commits, "commits_median": commits, "checkpoint_ratio_max": 0.7}
    good["pages_per_commit"] = 0.16
    found = row("best static", stage="search", block=0, io_capacity=value // 2, io_capacity_max=value)
    return found | {
        "contender": f"M = {value}",
        "kind": "static",
        "figures": found["figures"] | good | {"commits_mean": commits} | figures,
    }


ROWS = [
    searched(600, 2500.0),
    searched(420, 2600.0, shutdown_seconds_predicted=500.0),
    searched(400, 2650.0, checkpoint_ratio_max=0.83),
    searched(200, 2900.0, sync_pages=9),
    row("best static"),
]
SAID = (
    "300/600 (2\u202f500 commits/s, 0.160 pages per commit) with the alarm cap and all budgets; "
    "200/400 (2\u202f650 commits/s, 0.160 pages per commit) without cap and budgets; "
    "100/200 (2\u202f900 commits/s, 0.160 pages per commit) without any constraint."
)


@pytest.fixture(autouse=True)
def budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ours budgets, which it has none of by default."""
    monkeypatch.setattr(search, "OURS", Settings(max_recovery_seconds=300.0, max_shutdown_seconds=300.0))


def test_the_winners_without_budgets_and_without_any_rule_are_printed_beside() -> None:
    """In the terminal, on the page and for machines; a capped contender is compared with the capped one."""
    assert f"Best static setting: {SAID}" in table(groups(rows_of(ROWS)))
    assert SAID in Page(build("Bench", ROWS)).words
    (group,) = bench_summary(rows_of(ROWS))["groups"]
    found = group["best_static"]
    assert [one.io_capacity_max for one in (found.best, found.without_cap, found.unconstrained)] == [
        600,
        400,
        200,
    ]


def test_the_alarm_cap_is_not_said_to_be_kept_where_it_was_not_asked_for() -> None:
    """On a disk whose limit alternates a setting beyond the cap may win, and the sentence names no cap."""
    rows = [searched(400, 2650.0, checkpoint_ratio_max=0.83), searched(300, 2600.0, sync_pages=9)]
    for one in rows:
        one["conditions"] = one["conditions"] | {"disk": {"write_iops": 2400, "alternate_iops": 800}}
    (sentence, *_) = winner_sentences(rows_of(rows))
    assert "200/400 (2\u202f650 commits/s, 0.160 pages per commit) with all budgets;" in sentence
    assert "without budgets;" in sentence


def test_a_search_that_ended_early_says_what_it_did_not_try() -> None:
    """Nobody takes the best of what was tried for the best there is."""
    whole = [searched(value, commits) for value, commits in ((100, 2000.0), (104, 2100.0), (108, 2050.0))]
    assert len(winner_sentences(rows_of(whole))) == 1
    (_, open_end) = winner_sentences(rows_of(whole[:2]))
    assert "M = 110 was still to try" in open_end


def test_without_a_search_there_is_no_winner() -> None:
    """And nothing is said of one; where no setting keeps the rules, that is said."""
    assert bench_summary(rows_of([row()]))["groups"][0]["best_static"] is None
    assert not any("Best static setting" in line for line in table(groups(rows_of([row()]))))
    only = groups(rows_of([ROWS[3], ROWS[4]]))
    assert any("none with the alarm cap" in line for line in table(only))
