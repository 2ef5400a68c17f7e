"""The page of published benches shows what was measured, and as plainly what was not, or not gained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.experiment.plan import Plan
from lab.report import published as page
from lab.report.rows import ReportError
from lab.report.suites import read
from tests.lab.report.publishing import CLOSED, CONTENDERS, blocks, measured, publish

PLAN = Plan(contenders=CONTENDERS, blocks=3)
THREE = {
    "default": [1000.0, 1010.0, 990.0],
    "2000/4000": [1100.0, 1120.0, 1080.0],
    "best-static": [2000.0, 2010.0, 1990.0],
    "cascade": [1990.0, 2020.0, 1985.0],
}


def text(root: Path, rows: list[dict[str, Any]], plan: Plan = PLAN) -> str:
    """Return the page of a suite with one plan."""
    return page.document(read(publish(root, "disks", [plan], rows) / "docs/results/bench"))


def line(document: str, begin: str) -> list[str]:
    """Return the cells of the table's line that begins so."""
    (found,) = [one for one in document.splitlines() if one.startswith(f"| {begin}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_every_contender_has_its_figures_with_spread_and_bounds(tmp_path: Path) -> None:
    """Means with the slowest and fastest block, ratios to the default with bounds; ours stands last."""
    document = text(tmp_path, blocks(THREE))

    heads = line(document, "contender")
    ours = dict(zip(heads, line(document, "cascade"), strict=True))
    assert ours["commits/s"] == "1\u202f998 (1\u202f985 to 2\u202f020)"
    assert ours["ratio to default"] == "2.00 (1.98 to 2.02)"
    assert ours["settled"] == "3 of 3"
    order = [one.split("|")[1].split()[0] for one in document.splitlines() if one.startswith("| ")]
    assert order == ["contender", "default", "2000/4000", "best", "cascade"]


def test_what_gains_nothing_and_what_loses_is_said_in_words(tmp_path: Path) -> None:
    """Against every other contender, not only against those that ours was made to beat."""
    rows = blocks(THREE | {"2000/4000": [3000.0, 3010.0, 2990.0]})

    document = text(tmp_path, rows)

    assert "cascade against 2000/4000 LOSES: commits/s × 0.666" in document
    assert "cascade against best static gains nothing that could be shown: commits/s × 0.999" in document


def test_a_contender_beaten_throughout_is_not_listed_as_a_loss(tmp_path: Path) -> None:
    """The list names against whom ours gains all along, so that silence is never ambiguous."""
    cost = {"cascade": 1.0, "default": 2.0}
    rows = [
        measured(
            name,
            block,
            {"commits_mean": 1000.0 / each + block, "commits_p1": 900.0 / each, "sync_pages": 0}
            | dict.fromkeys(("latency_p99", "latency_p999"), each * (1.0 + block / 100))
            | dict.fromkeys(("device_writes_per_commit", "pages_per_commit"), each * (1.0 + block / 90)),
        )
        for name, each in cost.items()
        for block in (1, 2, 3)
    ]

    document = text(tmp_path, rows, Plan(contenders=("default", "cascade"), blocks=3))

    assert "cascade gains in every figure compared, or is equal, against default." in document
    assert "LOSES" not in document


def test_one_block_is_shown_as_one_of_three_without_bounds(tmp_path: Path) -> None:
    """A variant that is under way is there, says how far it is, and claims nothing."""
    document = text(tmp_path, blocks({name: values[:1] for name, values in THREE.items()}))

    assert "**Not finished:** 1 of 3 blocks, no bounds yet." in document
    assert "2.0" not in line(document, "default")[2]
    assert line(document, "cascade")[2] == "1.99 (one block, no bounds)"
    assert "nothing is claimed of single blocks" in document


def test_who_cannot_run_here_keeps_no_block_open(tmp_path: Path) -> None:
    """A contender that was left out is named with its reason, and the blocks are whole without it."""
    out = {"schema": 1, "stage": "left out", "contender": "folk", "why": "the server has none"}
    plan = Plan(contenders=(*CONTENDERS, "folk"), blocks=3)

    document = text(tmp_path, [*blocks(THREE), out | {"conditions": CLOSED}], plan)

    assert "folk is left out: the server has none" in document
    assert "Not finished" not in document


def test_variants_without_rows_are_there_and_say_so(tmp_path: Path) -> None:
    """A suite of which one variant was run shows the others as not measured, with what was planned."""
    plans = [Plan(variant="600 writes/s"), Plan(variant="no limit", blocks=2)]
    rows = blocks({"default": [1.0], "cascade": [1.0]}, variant="600 writes/s")

    document = page.document(read(publish(tmp_path, "disks", plans, rows) / "docs/results/bench"))

    assert "### no limit\n\n**Not measured yet:** 0 of 2 blocks." in document


def test_under_an_offered_rate_equal_throughput_is_no_lack(tmp_path: Path) -> None:
    """Everybody serves what is offered: latency and pages per commit are compared instead."""
    offered = CLOSED | {"load": CLOSED["load"] | {"rate": 700}}
    rows = [one | {"conditions": offered} for one in blocks({name: [700.0, 701.0, 699.0] for name in THREE})]

    document = text(tmp_path, rows)

    assert line(document, "contender")[2:4] == ["p99 to default", "pages per commit to default"]
    assert line(document, "cascade")[3].startswith("0.2")
    said = [one for one in document.splitlines() if one.startswith("- cascade against")]
    assert said
    assert all("commits/s ×" not in one.replace("percentile, commits/s ×", "") for one in said)


def test_rows_that_belong_to_no_variant_of_the_suite_are_refused(tmp_path: Path) -> None:
    """Two benches mixed up in one directory are no result."""
    with pytest.raises(ReportError, match="has not: elsewhere"):
        text(tmp_path, blocks(THREE, variant="elsewhere"))


def test_a_broken_promise_of_ours_and_a_busy_machine_are_named(tmp_path: Path) -> None:
    """Ours aims to stay below an age; what else ran on the processors is no secret either."""
    rows = blocks(THREE, checkpoint_ratio_max=0.81, machine_idle=0.02)

    document = text(tmp_path, rows)

    assert "- cascade: the checkpoint age reached 0.810 of the redo capacity, above 0.78" in document
    assert "- best static: the checkpoint age reached 0.810" in document
    assert "- default: the checkpoint age" not in document
    assert (
        "- processors idle while a row was counted: 0.02 to 0.02 of 2, so that they may have been" in document
    )


def test_the_search_says_what_it_tried_and_what_would_win_without_rules(tmp_path: Path) -> None:
    """The best static setting keeps what ours keeps; the winners without that stand beside it."""
    tried = [
        measured("best-static", 0, {"commits_mean": commits, "sync_pages": sync, "checkpoint_ratio_max": 0.7})
        | {"stage": "search", "io_capacity": m // 2, "io_capacity_max": m, "contender": f"M = {m}"}
        for m, commits, sync in ((600, 1500.0, 0), (420, 2000.0, 0), (300, 2100.0, 5))
    ]

    document = text(tmp_path, [*tried, *blocks(THREE)])

    assert "searched for among M = 600, 420, 300" in document
    assert "150/300 (2\u202f100 commits/s, 0.160 pages per commit) without any constraint." in document
    assert "ended early: M = 354 was still to try" in document
    assert "ended early" not in text(tmp_path, tried)
    assert "The blocks ran with" not in document

    better = [one | {"io_capacity": 215, "io_capacity_max": 430} for one in tried[1:2]]
    assert "The blocks ran with 210/420, the best found when they began" in text(
        tmp_path, [tried[0], *better, *blocks(THREE)]
    )


PLANS = [
    Plan(variant="one", contenders=("default",), blocks=1),
    Plan(variant="two", contenders=("default",), blocks=1),
]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("2026-11-22T12:00:00+0000", "2026-11-22T12:01:00+0000", True),
        ("2026-11-22T12:00:00+0000", "2026-11-22T13:01:00+0100", True),
        ("2026-11-22T12:00:00+0000", "2026-11-22T12:02:00+0000", False),
        ("", "2026-11-22T12:01:00+0000", False),
    ],
)
def test_rows_that_were_measured_at_the_same_time_are_said_to_have_been(
    tmp_path: Path,
    first: str,
    second: str,
    said: bool,  # noqa: FBT001 - a case
) -> None:
    """Two benches at once take processors and disk from each other; a reader of the figures has to know."""
    rows = [
        measured("default", 1, {"seconds": 90}, variant) | {"when": when, "settle_seconds": 30.0}
        for variant, when in (("one", first), ("two", second))
    ]
    document = page.document(read(publish(tmp_path, "seeds", PLANS, rows) / "docs/results/bench"))

    assert document.count("measured beside others on the same machine, which cost both: seeds") == 2 * said
    assert ("which cost both: seeds two" in document) == said
