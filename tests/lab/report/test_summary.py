"""What is claimed of contenders, what is not, and what a reader has to know first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.bench import search
from lab.report.bench_page import bench_page, bench_summary
from lab.report.rows import read_rows, rows_of
from lab.report.summary import Group, groups, winner_sentences
from lab.report.words import comparison, heading, idle_text, lacking, verdict_sentences
from tests.lab.report.factory import CONDITIONS, row, searched, suite
from tests.lab.report.reading import Page
from tuner.settings import Settings

Rows = list[dict[str, Any]]


def one_group(rows: Rows) -> Group:
    """Return the only group of rows."""
    (found,) = groups(rows_of(rows))
    return found


def blocks(name: str, figure: str, values: list[float]) -> Rows:
    """Return a row for each block, with this value of a figure."""
    return [
        row(name, block, figures={"commits_mean": 100.0, figure: value})
        for block, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("figure", "ours", "theirs", "outcome"),
    [
        ("commits_mean", [200.0, 210.0, 205.0], [100.0, 101.0, 99.0], "gains"),
        ("commits_mean", [100.0, 101.0, 99.0], [200.0, 210.0, 205.0], "loses"),
        ("commits_mean", [100.0, 110.0, 95.0], [101.0, 99.0, 104.0], "no difference shown"),
        ("commits_mean", [300.0], [100.0], "one block, nothing claimed"),
        ("latency_p99", [0.0201, 0.0202, 0.0203], [0.0101, 0.0102, 0.0103], "loses"),
        ("sync_pages", [0, 0], [40, 40], "better, no bounds"),
    ],
)
def test_an_outcome_follows_from_the_bounds_alone(
    figure: str, ours: list[float], theirs: list[float], outcome: str
) -> None:
    """Gain and loss only where the bounds leave 1 out; a count has none, nor has a single block."""
    found = one_group([*blocks("cascade", figure, ours), *blocks("default", figure, theirs)])
    (verdict,) = [one for one in found.verdicts if one.name == figure]

    assert verdict.outcome == outcome
    loses = [one.text for one in verdict_sentences(found) if one.loses]
    assert bool(loses) == (outcome == "loses")
    assert all("LOSES" in one for one in loses)


def test_ratios_are_of_the_blocks_that_both_have() -> None:
    """An unfinished suite compares what can be paired, and names what is missing."""
    ours = blocks("cascade", "commits_mean", [200.0, 200.0, 900.0])
    found = one_group([*ours, *blocks("default", "commits_mean", [100.0, 100.0])])

    to = next(one for one in found.contenders if one.ours).to["default"]
    assert (to.mean, to.blocks) == (pytest.approx(2.0), 2)
    assert any("default has no row yet in block 3" in one for one in lacking(found))


def test_a_setting_is_named_as_the_server_has_it() -> None:
    """Somebody will set what stands there; no server has a C below 100."""
    rows = [row("best static", block, io_capacity=53, io_capacity_max=106) for block in (1, 2)]

    group = one_group(rows)

    assert [one.setting for one in group.contenders] == ["100/106"]


def test_a_block_taken_again_counts_once() -> None:
    """A resumed bench that measured a block twice keeps the newest."""
    rows = [row("cascade", 1, figures={"commits_mean": commits}) for commits in (100.0, 300.0)]

    assert one_group(rows).contenders[0].blocks == {1: 300.0}


@pytest.mark.parametrize(
    ("other", "sizes"),
    [
        ({"disk": {"write_iops": 600}}, [1, 1]),
        ({"not_limited": ["disk not limited: refused"]}, [1, 1]),
        ({}, [2]),
    ],
    ids=["another disk", "a limit that was refused", "the same"],
)
def test_other_conditions_are_never_compared(other: dict[str, Any], sizes: list[int]) -> None:
    """Rows at another disk limit, or without the limit, are a group of their own without a verdict."""
    found = groups(rows_of([row("cascade"), row("default", conditions=CONDITIONS | other)]))

    assert [len(one.rows) for one in found] == sizes
    assert all(bool(one.verdicts) == (len(one.rows) > 1) for one in found)
    assert len(found) == 1 or "no ratio is claimed" in verdict_sentences(found[1])[0].text


def test_what_a_limit_could_not_do_parts_no_rows() -> None:
    """How a refusal is put differs from start to start; all of it is told."""
    refused = [CONDITIONS | {"not_limited": [why]} for why in ("writes: refused", "reads: no controller")]
    rows = [row("cascade", conditions=refused[0]), row("default", conditions=refused[1])]

    assert "disk NOT limited to 1200 writes/s" in heading(one_group(rows))
    assert "disk limited to 1200 writes/s" in heading(one_group([row()]))
    assert {"not limited: writes: refused", "not limited: reads: no controller"} <= set(
        comparison(groups(rows_of(rows)))
    )


OUT = {"schema": 1, "stage": "left out", "contender": "high_checkpoint", "why": "the server has none"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("cascade", settled=False)], "cascade had not settled when counting began in block 1"),
        ([row("default", reset_ratio=0.31)], "the reset came to an age ratio of 0.310, not below 0.25"),
        (
            [row("default", 1, reset_ratio=0.41), row("default", 2, reset_ratio=0.3)],
            "default, block 1, 2: the reset came to an age ratio of 0.300 to 0.410, not below 0.25",
        ),
        ([row("default", reset_ratio=0.25)], ""),
        (
            [row("default", figures={"commits_mean": 9.0, "errors": 12})],
            "default, block 1: 12 errors of the load",
        ),
        ([row("default"), OUT], "high_checkpoint is left out: the server has none"),
        ([row("default")], ""),
    ],
    ids=["not settled", "reset too short", "two of them", "reset, rounded", "errors", "left out", "nothing"],
)
def test_what_has_to_be_known_first_is_told(rows: Rows, words: str) -> None:
    """Nobody has to look for it in a table."""
    found = lacking(one_group(rows))

    assert len(found) == bool(words)
    assert all(words in one for one in found)


def test_processors_without_rest_are_told() -> None:
    """Where nothing was left of them the disk may not have been the limit; else nobody is bothered."""
    busy = row(figures={"machine_idle": 0.02})

    assert "may have been the limit" in idle_text(one_group([busy]))[0]
    assert idle_text(one_group([row()])) == []


@pytest.mark.parametrize("against", ["static 2000/4000", "best static"])
def test_ours_is_compared_with_the_setting_that_was_given(against: str) -> None:
    """Who brings a setting of his own reads whether ours beats it; a searched one speaks for all."""
    commits = {"cascade": 200.0, "static 2000/4000": 100.0, against: 150.0}
    rows = [
        one for name, value in commits.items() for one in blocks(name, "commits_mean", [value, value + 1])
    ]

    assert {(one.reference, one.outcome) for one in one_group(rows).verdicts} == {(against, "gains")}


def test_the_row_that_found_the_knee_is_no_block() -> None:
    """What the default sustains as a closed load is told beside the blocks, whose load is another one."""
    closed, offered = (CONDITIONS | {"load": CONDITIONS["load"] | {"rate": rate}} for rate in (0, 600))
    knee = row("default", 0, stage="knee", variant="50 %", conditions=closed, settled=False)
    group = one_group(
        [knee, *(row(one, variant="50 %", conditions=offered) for one in ("default", "cascade"))]
    )

    assert (group.blocks, len(group.knee)) == ([1], 1)
    assert heading(group).startswith("50 %: MySQL 9.7.4")
    assert "600 transactions/s offered" in heading(group)
    (said,) = (one for one in lacking(group) if "the default sustains" in one)
    assert "its age not at rest yet" in said


def test_the_summary_has_every_variant_and_who_was_left_out() -> None:
    """A machine that counts contenders finds the one that is missing."""
    rows = [row(variant="open, 50 %"), OUT | {"variant": "open, 50 %"}, row(variant="open, 70 %")]
    found = bench_summary(rows_of(rows))["groups"]

    assert [one["variant"] for one in found] == ["open, 50 %", "open, 70 %"]
    assert [one["left_out"] for one in found] == [{"high_checkpoint": "the server has none"}, {}]


def test_a_variant_that_is_still_searched_for_hides_no_other() -> None:
    """A bench that was stopped while it searched shows what it has, and nothing of the search."""
    lines = comparison(groups(rows_of([searched(400) | {"variant": "slow disk"}, *suite()])))

    assert any(line.startswith("default") for line in lines)
    assert not any("M = 400" in line or "slow disk" in line for line in lines)


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ours budgets, which it has none of by default."""
    monkeypatch.setattr(search, "OURS", Settings(max_recovery_seconds=300.0, max_shutdown_seconds=300.0))


@pytest.mark.usefixtures("budgets")
def test_the_winners_without_budgets_and_without_any_rule_are_printed_beside() -> None:
    """In the terminal, on the page and for machines; a capped contender is compared with the capped one."""
    rows = [
        searched(600, commits_mean=2500.0),
        searched(420, commits_mean=2600.0, shutdown_seconds_predicted=500.0),
        searched(400, commits_mean=2650.0, checkpoint_ratio_max=0.83),
        searched(200, commits_mean=2900.0, sync_pages=9),
        row("best static"),
    ]
    words = (
        "300/600 (2\u202f500 commits/s, 0.160 pages per commit) with the alarm cap and all budgets; "
        "200/400 (2\u202f650 commits/s, 0.160 pages per commit) without cap and budgets; "
        "100/200 (2\u202f900 commits/s, 0.160 pages per commit) without any constraint."
    )

    assert f"Best static setting: {words}" in comparison(groups(rows_of(rows)))
    assert words in Page(bench_page(rows_of(rows))).words
    found = bench_summary(rows_of(rows))["groups"][0]["best_static"]
    winners = (found.best, found.without_cap, found.unconstrained)
    assert [one.io_capacity_max for one in winners] == [600, 400, 200]


def test_a_setting_that_wins_under_every_rule_is_said_once() -> None:
    """Nobody compares three times the same figures."""
    rows = [searched(600, commits_mean=2500.0), searched(420, commits_mean=2600.0), row("best static")]
    words = (
        "210/420 (2\u202f600 commits/s, 0.160 pages per commit) with and without the alarm cap and budgets."
    )

    assert f"Best static setting: {words}" in comparison(groups(rows_of(rows)))


@pytest.mark.parametrize(
    ("rows", "disk", "sentence", "words"),
    [
        ([searched(400, checkpoint_ratio_max=0.83)], {"alternate_iops": 800}, 0, "without budgets."),
        ([searched(200, sync_pages=9), row("best static")], {}, 0, "none with the alarm cap"),
        ([searched(m, commits_mean=c) for m, c in ((100, 2e3), (104, 2.1e3))], {}, 1, "M = 110 was still to"),
    ],
    ids=["no cap on a disk that alternates", "nothing keeps the rules", "ended early"],
)
def test_what_a_search_did_not_show_is_told(
    rows: Rows, disk: dict[str, int], sentence: int, words: str
) -> None:
    """No cap is said to be kept that was not asked for, nor the best of what was tried to be the best."""
    for one in rows:
        one["conditions"] = CONDITIONS | {"disk": {"write_iops": 2400} | disk}

    assert words in winner_sentences(rows_of([one for one in rows if one["stage"] == "search"]))[sentence]


def test_a_whole_search_or_none_has_no_more_to_say() -> None:
    """One sentence of a search that was complete; without a search nothing is said of a winner."""
    whole = [searched(m, commits_mean=c) for m, c in ((100, 2000.0), (104, 2100.0), (108, 2050.0))]

    assert len(winner_sentences(rows_of(whole))) == 1
    assert bench_summary(rows_of([row()]))["groups"][0]["best_static"] is None
    assert winner_sentences([]) == []


PUBLISHED = sorted((Path(__file__).parents[3] / "docs/results/bench").glob("*/rows.jsonl"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda one: one.parent.name)
def test_every_published_row_can_be_read(path: Path) -> None:
    """Whoever doubts a published figure works it out again, with whatever version he has."""
    assert any(group.contenders for group in groups(read_rows(path)))
