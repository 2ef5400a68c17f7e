"""What is claimed of contenders, and what is not."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from lab.report.rows import read_rows, rows_of
from lab.report.summary import Group, groups
from lab.report.words import heading, idle_said, lacking, verdict_sentences
from lab.statistics import ratio_bounds
from tests.lab.report.factory import CONDITIONS, row


def one_group(rows: list[dict[str, Any]]) -> Group:
    """Return the only group of rows."""
    (found,) = groups(rows_of(rows))
    return found


def with_commits(name: str, block: int, commits: float, **figures: object) -> dict[str, Any]:
    """Return a row with these figures alone."""
    return row(name, block, figures={"commits_mean": commits, **figures})


def compared(ours: list[float], theirs: list[float]) -> Group:
    """Return ours and the default with these commits/s, block by block."""
    rows = [with_commits("cascade", block, value) for block, value in enumerate(ours, 1)]
    rows += [with_commits("default", block, value) for block, value in enumerate(theirs, 1)]
    return one_group(rows)


def test_ratios_are_paired_by_block() -> None:
    """A machine that was slower in one block for both does not widen the bounds of their ratio."""
    found = ratio_bounds([(200.0, 100.0), (100.0, 50.0), (400.0, 200.0)])

    assert found is not None
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"),
    [
        ([200.0, 210.0, 205.0], [100.0, 101.0, 99.0], "gains"),
        ([100.0, 101.0, 99.0], [200.0, 210.0, 205.0], "loses"),
        ([100.0, 110.0, 95.0], [101.0, 99.0, 104.0], "no difference shown"),
        ([300.0], [100.0], "one block, nothing claimed"),
    ],
)
def test_an_outcome_follows_from_the_bounds_alone(
    ours: list[float], theirs: list[float], outcome: str
) -> None:
    """Gain and loss only where the bounds leave 1 out; a single block claims nothing, whatever its ratio."""
    found = compared(ours, theirs)

    assert [one.outcome for one in found.verdicts if one.name == "commits_mean"] == [outcome]


def test_less_is_better_where_less_is_better() -> None:
    """Twice the latency is a loss, and is said as one in capitals."""
    rows = [with_commits("cascade", block, 100.0, latency_p99=0.02 + block / 1e4) for block in (1, 2, 3)]
    rows += [with_commits("default", block, 100.0, latency_p99=0.01 + block / 1e4) for block in (1, 2, 3)]

    found = one_group(rows)

    assert [one.outcome for one in found.verdicts if one.name == "latency_p99"] == ["loses"]
    assert any(one.loses and "latency p99" in one.text for one in verdict_sentences(found))


def test_counts_are_compared_without_pretending_to_bounds() -> None:
    """Sync-flushed pages have no ratio: ours 0 against theirs is better, and said to be without bounds."""
    rows = [with_commits("cascade", block, 100.0, sync_pages=0) for block in (1, 2)]
    rows += [with_commits("default", block, 100.0, sync_pages=40) for block in (1, 2)]

    (found,) = [one for one in one_group(rows).verdicts if one.name == "sync_pages"]

    assert (found.ratio, found.ours, found.theirs) == (None, "0", "80")
    assert found.outcome == "better, no bounds"


def test_a_block_that_only_one_has_is_left_out_and_said() -> None:
    """An unfinished suite compares what can be paired, and names what is missing."""
    found = compared([200.0, 200.0, 900.0], [100.0, 100.0])

    ours = next(one for one in found.contenders if one.ours)
    assert ours.to["default"].mean == pytest.approx(2.0)
    assert ours.to["default"].blocks == 2
    assert any("default has no row yet in block 3" in one for one in lacking(found))


def test_other_conditions_are_never_compared() -> None:
    """Rows at another disk limit, or under another load, are a group of their own."""
    elsewhere = copy.deepcopy(CONDITIONS) | {"disk": {"write_iops": 600}}
    rows = [row("cascade"), row("default"), row("cascade", conditions=elsewhere)]

    found = groups(rows_of(rows))

    assert [len(one.rows) for one in found] == [2, 1]
    assert found[1].verdicts == ()
    assert "no ratio is claimed" in verdict_sentences(found[1])[0].text


def test_what_a_limit_could_not_do_parts_no_rows_and_is_said() -> None:
    """The sentences on what could not be limited are put together over the rows."""
    one, other = (
        CONDITIONS | {"not_limited": [said]} for said in ("writes: refused", "reads: no controller")
    )

    found = one_group([row("cascade", conditions=one), row("default", conditions=other)])

    assert len(found.not_limited) == 2
    assert "not limited: reads: no controller" in lacking(found)


def test_a_disk_that_could_not_be_limited_is_not_called_limited() -> None:
    """The first line of a group says what the rows ran on, not what was asked for."""
    own = CONDITIONS | {
        "not_limited": ["disk not limited to 1,200 writes/s: dba@db1 is a server of your own"]
    }

    assert "disk NOT limited to 1200 writes/s" in heading(one_group([row(conditions=own)]))
    assert "disk limited to 1200 writes/s" in heading(one_group([row()]))


def test_processors_without_rest_are_said() -> None:
    """Where nothing was left of them the disk may not have been the limit; else nobody is bothered."""
    busy = row()
    busy["figures"]["machine_idle"] = 0.02

    assert "may have been the limit" in idle_said(one_group([busy]))[0]
    assert idle_said(one_group([row()])) == []


def test_rows_on_a_limited_disk_are_not_compared_with_rows_on_a_free_one() -> None:
    """Where a limit was refused when the bench was gone on with, no ratio mixes the two disks."""
    free = CONDITIONS | {"not_limited": ["disk not limited: refused"]}

    found = groups(rows_of([row("cascade", conditions=free), row("default")]))

    assert [len(one.rows) for one in found] == [1, 1]
    assert all(one.verdicts == () for one in found)


def test_rows_that_had_not_settled_or_had_errors_are_named() -> None:
    """Nobody has to look for them in a table."""
    rows = [row("cascade", settled=False, reset_ratio=0.24), row("default", reset_ratio=0.31)]
    rows.append(row("folk rule", reset_ratio=0.25))  # rounded from what was just below
    rows[1]["figures"]["errors"] = 12

    found = lacking(one_group(rows))

    assert "cascade had not settled when counting began in block 1" in found
    assert "default, block 1: 12 errors of the load" in found
    assert "default, block 1: the reset came to an age ratio of 0.310, not below 0.25" in found
    assert sum("the reset came" in one for one in found) == 1


def test_a_block_taken_again_counts_once() -> None:
    """A resumed bench that measured a block twice keeps the newest."""
    rows = [with_commits("cascade", 1, 100.0), with_commits("cascade", 1, 300.0)]

    (found,) = one_group(rows).contenders

    assert found.blocks == {1: 300.0}


@pytest.mark.parametrize(
    ("searched", "against"), [((), "static 2000/4000"), (("best static",), "best static")]
)
def test_ours_is_compared_with_the_setting_that_was_given(searched: tuple[str, ...], against: str) -> None:
    """Who brings a setting of his own reads whether ours beats it; a searched one speaks for all."""
    rows = [
        with_commits(name, block, value + block)
        for name, value in {
            "cascade": 200.0,
            "static 2000/4000": 100.0,
            **dict.fromkeys(searched, 150.0),
        }.items()
        for block in (1, 2, 3)
    ]
    found = one_group(rows).verdicts
    assert {(one.reference, one.outcome) for one in found} == {(against, "gains")}


def test_who_was_left_out_is_said_with_the_reason_and_counts_for_nothing() -> None:
    """A contender that the server does not know is a sentence, not a row without figures."""
    out = {"schema": 1, "stage": "left out", "contender": "high_checkpoint", "why": "the server has none"}
    (group,) = groups(rows_of([row("default"), row("cascade"), out]))
    assert "high_checkpoint" not in [one.name for one in group.contenders]
    assert "high_checkpoint is left out: the server has none" in lacking(group)


def test_the_row_that_found_the_knee_is_no_block() -> None:
    """What the default sustains as a closed load is said beside the blocks, whose load is another one."""
    closed, offered = (CONDITIONS | {"load": CONDITIONS["load"] | {"rate": rate}} for rate in (0, 600))
    knee = row("default", 0, stage="knee", variant="50 %", conditions=closed)
    blocks = [row(name, variant="50 %", conditions=offered) for name in ("default", "cascade")]

    (group,) = groups(rows_of([knee, *blocks]))

    assert (group.blocks, len(group.knee)) == ([1], 1)
    assert heading(group).startswith("50 %: MySQL 9.7.4")
    assert "600 transactions/s offered" in heading(group)
    assert any("the default sustains" in one for one in lacking(group))


PUBLISHED = sorted((Path(__file__).parents[3] / "docs/results/bench").glob("*/rows.jsonl"))


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda one: one.parent.name)
def test_every_published_row_can_be_read(path: Path) -> None:
    """Whoever doubts a published figure works it out again, with whatever version he has."""
    assert any(group.contenders for group in groups(read_rows(path)))
