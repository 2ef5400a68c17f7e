"""What was measured, on one page made from the rows of the bench alone: docs/results/README.md.

Three of its lines are the table of README.md. ``contenders_page`` and ``predictions`` are made with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import click

from lab.bench.store import ROWS
from lab.report.figures import UNKNOWN, plain, written
from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.report.words import conditions_text, ratio_text
from tools import contenders_page, predictions
from tools.comparisons import OF_BEST, OF_UNTOUCHED, PAGES, Line, Refused, judged_all, starved, verdict
from tools.kept import BENCH, ROOT, Since, all_kept, changes_since, in_force
from tools.markdown import PART, filled, table

PAGE = ROOT / "docs/results/README.md"
README = ROOT / "README.md"

HOUR = 3600.0
OLDER = "†"
MADE_FOR = re.compile(r"when this page was made: `([0-9a-f]+)`")
"""How the page names the commit that its marks of age are held against."""

HEAD = (
    "server",
    "redo log",
    "binary log",
    "disk",
    "load",
    "commits/s",
    "ours / untouched",
    "ours / best static",
    "latency p99",
    "1st percentile, commits/s",
    "stalled s",
    "starved s",
    "pages per commit",
    "the same, ours / untouched",
    "device writes per commit",
    "M",
    "age ratio",
    "changes an hour",
    "recovery s, predicted",
    "recovery s, measured",
    "at rest, of blocks",
    "processors idle",
    "measured",
    "verdict",
)
FIRST = (
    "",
    "server",
    "redo log",
    "binary log",
    "disk",
    "load",
    "commits/s",
    "ours / untouched",
    "ours / best static",
    "verdict",
)

SHORT = ("", "conditions", "untouched", "best static", "InnoBrim", "against untouched", "against best static")

SENTENCE = """\
Commits/s, means of {blocks} paired blocks, {processors} processors. *Untouched* is the default,
10000/20000 from MySQL 8.4 on, else 200/2000. {older}: older than today's policy or filling of tables.

"""

INTRODUCTION = """\
# What was measured

Real servers: each untouched, with the best static setting that a search found, and with InnoBrim (ours), in
paired blocks, in an order drawn for each block. Three figures in a cell are untouched / best static / ours. A
ratio has its 95 % bounds; where they include 1, no difference was shown. LOSES: in the mean, whatever the
bounds, ours has less than {untouched} of the commits/s of the untouched server, or less than {best} of best
static's. {older}: the rows are older than the policy in force, or than how tables are filled today. Of the
first three lines the last is the least that rows of any age show for a closed load.
"""
DETAILS = """\
## Rows of the policy in force

Sorted by what people run: a synced binary log first, then a redo log of 1 GiB and more, then by server. A
starved second has less than half of the commits of the untouched server's median second in the same block. In
a stalled second a writer waited for redo space. Both are sums over the blocks; the other figures are means.

- M: `innodb_io_capacity_max` in force, pages/s. Changes are those of it or of `innodb_io_capacity` while a
  row was counted. Age ratio: modified age over the flush limit.
- Recovery after a kill at this age: the daemon's model at its worst, and the time where a suite kills.
- At rest: blocks in which the age had stopped moving before it was counted. Processors idle: of the two.
  Below 0.1 they, and not the disk, may have been the limit.
- A limit of the disk counts every write: pages, doublewrite, redo and binary log. Where the disk is a file in
  memory a sync takes no time.
- Servers have `O_DIRECT`, and their version's defaults where a row says nothing else, so that every commit is
  synced to the redo log. The tables fit in the buffer pool but for the one of 64 MiB.

[The bench](../lab/bench.md) says what is done in a row; [its page](bench/README.md) has every contender,
and what to know of each suite.
"""
ABOUT = """\
`python -m tools.proof` makes this page from the rows in `bench` alone. `python -m tools.plan` says which rows
are older than the policy in force, what is measured next, and how long that takes; `make prove PART=plan`
measures it. Policy in force when this page was made: `{commit}`.
"""


def _three(line: Line, name: str, unit: str = "") -> str:
    return " / ".join(
        UNKNOWN if one is None else written(one.figures.get(name), unit) for one in line.contenders
    )


def _changes(line: Line) -> str:
    """Return how often C or M changed in an hour of counted seconds."""
    rows = [row for row in line.group.rows if row.contender == line.ours.name]
    seconds = sum(row.figure("seconds") or 0.0 for row in rows)
    return (
        plain(round((line.ours.figures.get("knob_changes") or 0.0) * HOUR / seconds, 1))
        if seconds
        else UNKNOWN
    )


def _at_rest(line: Line) -> str:
    return " / ".join(
        UNKNOWN if one is None else f"{len(one.blocks) - len(one.unsettled)} of {len(one.blocks)}"
        for one in line.contenders
    )


def _where(line: Line) -> dict[str, str]:
    """Return server, redo log, disk and load in words."""
    words = dict(conditions_text(line.group.conditions))
    further = {
        name: value
        for name, value in dict(line.group.conditions.get("set") or {}).items()
        if name != "log_bin" and "binlog" not in name
    }
    disk = words["disk"].replace("limited to", "NOT limited to") if line.group.not_limited else words["disk"]
    return {
        "server": ", ".join([words["server"], *(f"{name} = {value}" for name, value in further.items())]),
        "redo log": words["redo capacity"],
        "binary log": line.binary_log,
        "disk": disk,
        "load": f"{words['load']}; buffer pool {words['buffer pool']}",
    }


def _cells(line: Line) -> dict[str, str]:
    """Return the cells of a line by their heads."""
    revisions = dict.fromkeys(row.revision[:8] for row in line.group.rows)
    rows = f"[{line.directory.name}](bench/{line.directory.name}/{ROWS})"
    seconds = dict.fromkeys(plain(row.figure("seconds") or 0.0) for row in line.group.rows)
    days = dict.fromkeys((min(line.whens)[:10], max(line.whens)[:10]))
    blocks = f"{line.ratio.blocks} blocks of {' or '.join(seconds)} s"
    return {
        **_where(line),
        "commits/s": _three(line, "commits_mean"),
        "ours / untouched": ratio_text(line.ratio),
        "ours / best static": ratio_text(line.to_best),
        "latency p99": _three(line, "latency_p99", "ms"),
        "1st percentile, commits/s": _three(line, "commits_p1"),
        "stalled s": _three(line, "stall_seconds"),
        "starved s": " / ".join(
            UNKNOWN if one is None else str(starved(line, one.name)) for one in line.contenders
        ),
        "pages per commit": _three(line, PAGES),
        "the same, ours / untouched": ratio_text(line.of(PAGES, line.untouched)),
        "device writes per commit": _three(line, "device_writes_per_commit"),
        "M": _three(line, "io_capacity_max_mean"),
        "age ratio": _three(line, "age_ratio_mean"),
        "changes an hour": _changes(line),
        "recovery s, predicted": _three(line, "recovery_seconds_predicted"),
        "recovery s, measured": _three(line, "recovery_seconds"),
        "at rest, of blocks": _at_rest(line),
        "processors idle": _three(line, "machine_idle"),
        "measured": ", ".join([rows, blocks, " to ".join(days), *revisions]) + _mark(line),
        "verdict": verdict(line),
    }


def asked_first(lines: Sequence[Line]) -> Iterator[tuple[str, Line]]:
    """Yield the usual line, the one that gains most, and the one under a closed load that gains least.

    The first two are of the policy in force where there are such, and the usual one of a disk that is none
    in memory; what an older policy lost is not left out. The usual one is no other at the same time.
    """
    left = list(lines)
    picks: dict[str, Callable[[Line], tuple[object, ...]]] = {
        "gains least": lambda one: (bool(one.offered), one.ratio.mean),
        "gains most": lambda one: (one.since > 0, -(one.ratio.low or 0.0)),
        "usual": lambda one: (one.since > 0, one.in_memory),
    }
    found: list[tuple[str, Line]] = []
    for name, by in picks.items():
        if len(left) > (name != "usual"):
            picked = min(left, key=by)
            left.remove(picked)
            found.append((name, picked))
    yield from reversed(found)


def page(lines: Sequence[Line], refused: Sequence[Refused], commit: str) -> str:
    """Return the page, Markdown; ``commit`` is the policy in force."""
    cells = [_cells(line) for line in lines]
    first = [{"": f"**{name}**" + _mark(line), **_cells(line)} for name, line in asked_first(lines)]
    new, old = (
        [one for line, one in zip(lines, cells, strict=True) if (line.since > 0) == older]
        for older in (False, True)
    )
    counted = (
        f"Of the policy in force: {_counted(new)}\n[Older](#older-rows) than that, or than how tables are"
        f" filled: {_counted(old)}\nAnother {len(refused)} are [not shown](#not-shown-because).\n"
    )
    return "\n".join(
        (
            INTRODUCTION.format(untouched=OF_UNTOUCHED, best=OF_BEST, older=OLDER),
            counted,
            table(FIRST, [[one[head] for head in FIRST] for one in first]) + "\n",
            ABOUT.format(commit=commit),
            DETAILS,
            _rows(new),
            f"## Older rows\n\nThe same, {OLDER}; `python -m tools.plan` says what is older about each.\n",
            _rows(old),
            "## Not shown, because\n",
            "".join(f"- {one.name}: {one.why}\n" for one in refused),
        )
    )


def _rows(cells: Sequence[dict[str, str]]) -> str:
    return (table(HEAD, [[one[head] for head in HEAD] for one in cells]) if cells else "None.") + "\n"


def _counted(cells: Sequence[dict[str, str]]) -> str:
    """Return how many comparisons there are, and how many ours won and lost."""
    losing = sum("LOSES" in one["verdict"] for one in cells)
    gaining = sum(one["verdict"].startswith("gains") for one in cells)
    return (
        f"{len(cells)} comparisons; in {gaining} ours gains over the untouched server,\nin {losing} it LOSES"
        " to that or to best static."
    )


def _mark(line: Line) -> str:
    """Return the mark of rows that are older."""
    return f" {OLDER}" * (line.since > 0)


def short(lines: Sequence[Line]) -> str:
    """Return the lines that a reader asks for first, in few words, for the README."""
    rows: list[list[str]] = []
    first = list(asked_first(lines))
    for name, line in first:
        where, load = _where(line), line.group.conditions["load"]
        words = (
            where["server"],
            f"{where['redo log']} of redo",
            f"binary log {where['binary log']}",
            f"disk {where['disk']}",
            f"{load['kind']}, {load['threads']} threads",
        )
        rates = [
            UNKNOWN if one is None else written(one.figures.get("commits_mean")) for one in line.contenders
        ]
        ratios = (ratio_text(line.ratio), ratio_text(line.to_best))
        rows.append([name, ", ".join(words) + _mark(line), *rates, *ratios])
    blocks, processors = (
        " or ".join(dict.fromkeys(str(one) for one in found))
        for found in (
            [line.ratio.blocks for _, line in first],
            [line.group.conditions.get("processors", UNKNOWN) for _, line in first],
        )
    )
    return SENTENCE.format(blocks=blocks, processors=processors, older=OLDER) + table(SHORT, rows)


def readme(text: str, lines: Sequence[Line]) -> str:
    """Return the README with its table made anew.

    Raises:
        ReportError: it has no place for one.
    """
    if "measured" not in PART.findall(text):
        raise ReportError(f"{README.name}: has no part `<!-- generated: measured -->` for the table")
    return filled(text, {"measured": lambda: short(lines)})


def write(since: Since, commit: str) -> None:
    """Make every page of the rows that are there, and the table of the README.

    Raises:
        ReportError: rows or notes that cannot be read, or the README has no place for the table.
        ClickException: rows that cannot be compared with their predictions.
    """
    lines, refused = judged_all(BENCH, since)
    table_too = readme(README.read_text(encoding="utf-8"), lines)
    replace_text(PAGE, page(lines, refused, commit))
    replace_text(README, table_too)
    replace_text(contenders_page.PAGE, contenders_page.page(all_kept(BENCH), contenders_page.read_notes()))
    replace_text(predictions.PAGE, predictions.current())
    beside = "bench/README.md and predictions.md beside it"
    click.echo(f"wrote {PAGE.relative_to(ROOT)}, {beside}, and the table of {README.name}")


@click.command()
def main() -> None:
    """Write the pages of docs/results that are made from the rows of the bench, and README.md's table."""
    commit = in_force()
    try:
        write(changes_since(commit), commit)
    except ReportError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
