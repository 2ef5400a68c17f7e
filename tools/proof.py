"""What was measured, on one page made from the rows of the bench alone: docs/results/README.md.

Three of its lines are the table of README.md. ``contenders_page`` and ``predictions`` are made with it.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from lab.bench.store import ROWS
from lab.report.figures import UNKNOWN, plain, written
from lab.report.files import replace_text
from lab.report.rows import ReportError, Row
from lab.report.summary import BLOCK, SEARCHED, ContenderSummary, Group, groups
from lab.report.words import conditions_text, ratio_text
from lab.scenarios.trace import starved_seconds
from lab.statistics import FEWEST, Bounds
from tools import contenders_page, predictions
from tools.kept import (
    BENCH,
    OURS,
    ROOT,
    UNTOUCHED,
    Comparison,
    Since,
    all_kept,
    changes_since,
    in_force,
    worn,
)
from tools.markdown import PART, filled, table

PAGE = ROOT / "docs/results/README.md"
README = ROOT / "README.md"

OF_UNTOUCHED, OF_BEST = 0.99, 0.98
"""Shares of the commits/s of the others below which ours loses."""

HOUR = 3600.0
LARGE = 1 << 30
"""Redo capacity from which on a log is of a size that people run, bytes."""

SERVERS = ("MySQL 8.0", "MySQL 8.4", "MySQL 9", "MySQL 5.7", "MySQL 5.6", "MariaDB")
"""Servers in the order in which a reader would ask for them."""

USUAL = "write_only"
"""The load that a reader asks for first."""

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
    "changes an hour",
    "recovery s",
    "measured",
    "verdict",
)
FIRST = (
    "",
    "server",
    "redo log",
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
10000/20000 from MySQL 8.4 on and 200/2000 before. {older}: older than today's policy or filling of tables.

"""

INTRODUCTION = """\
# What was measured

Real servers: each untouched, with the best static setting that a search found, and with InnoBrim (ours), in
paired blocks, in an order drawn for each block. Three figures in a cell are untouched / best static / ours. A
ratio has its 95 % bounds; where they include 1, no difference was shown. LOSES: ours has less than
{untouched} of the commits/s of the untouched server, or less than {best} of best static's. {older}: the rows
are older than the policy in force, or than how tables are filled today.
"""
DETAILS = """\
## Rows of the policy in force

Sorted by what people run: a synced binary log first, then a redo log of 1 GiB and more, then by server. A
starved second has less than half of the commits of the untouched server's median second in the same block. In
a stalled second a writer waited for redo space. Both are sums over the blocks; the other figures are means.
Recovery is the time after a kill at the age held, where a suite kills. [The bench](../lab/bench.md) says what
is done in a row; [its page](bench/README.md) has every contender, and what to know of each suite.
"""
ABOUT = """\
`python -m tools.proof` makes this page from the rows in `bench` alone. `python -m tools.plan` says which rows
are older than the policy in force, what is measured next, and how long that takes; `make prove PART=plan`
measures it. Policy in force when this page was made: `{commit}`.
"""


class Line(NamedTuple):
    """What is shown of one server under one load.

    Attributes:
        directory: with its rows.
        group: all of its rows.
        untouched: the server's default.
        best: the best static setting; None where none was searched for, or none kept the rules.
        ours: the daemon.
        since: changes of the policy, or of how tables are filled, after the oldest of its rows.
    """

    directory: Path
    group: Group
    untouched: ContenderSummary
    best: ContenderSummary | None
    ours: ContenderSummary
    since: int

    @property
    def contenders(self) -> tuple[ContenderSummary | None, ...]:
        """Return the three of a cell."""
        return self.untouched, self.best, self.ours

    @property
    def ratio(self) -> Bounds:
        """Return ours over untouched, commits/s."""
        return self.ours.to[self.untouched.kind]

    @property
    def to_best(self) -> Bounds | None:
        """Return ours over best static, commits/s."""
        return None if self.best is None else self.ours.to.get(SEARCHED)


class Refused(NamedTuple):
    """What is not shown, by name, and why."""

    name: str
    why: str


def judged(directory: Path, group: Group, since: Since) -> Line | Refused:
    """Return a group of rows as a line, or why it cannot be one."""
    by_kind = {one.kind: one for one in reversed(group.contenders)}
    ours = next((one for one in group.contenders if one.name == OURS), None)
    untouched, best = by_kind.get(UNTOUCHED), by_kind.get(SEARCHED)
    name = _name(directory, group.variant)
    if ours is None:
        return Refused(name, "no row of ours")
    if untouched is None:
        return Refused(name, "no untouched server beside ours")
    for other in (untouched, best):
        ratio = None if other is None else ours.to.get(other.kind)
        if other is not None and (ratio is None or ratio.blocks < FEWEST):
            blocks = 0 if ratio is None else ratio.blocks
            return Refused(name, f"no bounds: {blocks} paired blocks with {other.name}, of {FEWEST} at least")
    compared = [row for row in group.rows if row.contender in {ours.name, untouched.name, best and best.name}]
    ages: list[int] = []
    for revision in dict.fromkeys(row.revision for row in compared):
        age = since(revision)
        if not revision:
            return Refused(name, "rows without a revision")
        if age is None:
            return Refused(name, f"rows of {revision}, which is no commit")
        ages.append(age)
    older = max(ages) + (not all(worn(row) for row in compared))
    return Line(directory, group, untouched, best, ours, older)


def judged_all(place: Path, since: Since) -> tuple[list[Line], list[Refused]]:
    """Return the lines of every directory of rows, sorted, and what is refused.

    Where the same was measured again only the newest is a line.

    Raises:
        ReportError: rows that cannot be read.
    """
    lines: dict[Comparison, Line] = {}
    refused: list[Refused] = []
    found = all_kept(place)
    named = {kept.comparison(row.variant) for kept in found for row in kept.rows if row.stage == BLOCK}
    for kept in found:
        absent = [one for one in kept.variants if kept.comparison(one) not in named]
        named |= {kept.comparison(one) for one in absent}
        refused += [Refused(_name(kept.directory, one), "not measured yet") for one in absent]
        for group in groups(kept.rows):
            if not group.rows:
                continue
            line = judged(kept.directory, group, since)
            if isinstance(line, Refused):
                refused.append(line)
                continue
            key = kept.comparison(group.variant)
            older, newer = sorted((line, lines.get(key, line)), key=lambda one: max(_whens(one.group)))
            if older is not newer:
                name = _name(older.directory, older.group.variant)
                refused.append(Refused(name, f"measured again later: {newer.directory.name}"))
            lines[key] = newer
    return sorted(lines.values(), key=_place), sorted(refused)


def _name(directory: Path, variant: str) -> str:
    return f"{directory.name}, {variant}" if variant else directory.name


def _whens(group: Group) -> list[str]:
    return [row.when for row in group.rows]


def _binary_log(group: Group) -> str:
    further = group.conditions.get("set") or {}
    if "log_bin" not in further:
        return "off"
    return {"1": "synced", "": "on"}.get(str(further.get("sync_binlog", "")), "not synced")


def _place(line: Line) -> tuple[object, ...]:
    """Return what lines are sorted by."""
    conditions, load = line.group.conditions, line.group.conditions["load"]
    server = conditions["server"]
    rank = next((at for at, one in enumerate(SERVERS) if server.startswith(one)), len(SERVERS))
    release = tuple(-int(part) for part in re.findall(r"\d+", server)[:3])
    capacity = conditions["redo_capacity"]
    return (
        _binary_log(line.group) != "synced",
        capacity < LARGE,
        rank,
        release,
        bool(load.get("rate")),
        bool(conditions["disk"].get("alternate_iops")),
        capacity,
        load["kind"] != USUAL,
        line.directory.name,
        line.group.variant,
    )


def starved(line: Line, name: str) -> int:
    """Return the starved seconds of a contender, over all blocks with an untouched server."""
    rates = {(row.contender, row.block): _rates(row) for row in line.group.rows}
    return sum(
        starved_seconds(mine, statistics.median(others))
        for (who, block), mine in rates.items()
        if who == name and (others := rates.get((line.untouched.name, block)))
    )


def _rates(row: Row) -> list[float]:
    pairs = zip(row.series.at, row.series.column("commits"), strict=True)
    return [rate for at, rate in pairs if rate is not None and at >= row.series.counted_from]


def verdict(line: Line) -> str:
    """Return what a line says in a few words: whether ours loses, or is starved or stalled for longer."""
    said: list[str] = []
    for name, ratio, least in (
        ("untouched", line.ratio, OF_UNTOUCHED),
        ("best static", line.to_best, OF_BEST),
    ):
        if ratio is not None and ratio.mean < least:
            said.append(f"**LOSES**: {ratio.mean:.3f} × {name}")
    for name, found in (
        ("stalled", [one.figures.get("stall_seconds") or 0.0 for one in (line.untouched, line.ours)]),
        ("starved", [float(starved(line, one.name)) for one in (line.untouched, line.ours)]),
    ):
        if found[1] > found[0]:
            said.append(f"{name} for longer than untouched")
    low, high = line.ratio.low or 0.0, line.ratio.high or 0.0
    pages = _pages(line)
    if low > 1.0:
        said.insert(0, "gains")
    elif _rate(line) and pages is not None and (pages.high or 1.0) < 1.0:
        said.insert(0, "fewer pages for the same work")
    elif high >= 1.0:
        said.insert(0, "no difference to untouched shown")
    return ", ".join(said)


def _pages(line: Line) -> Bounds | None:
    """Return ours over untouched, pages per commit."""
    wanted = (OURS, line.untouched.name, "pages_per_commit")
    found = (one.ratio for one in line.group.verdicts if (one.contender, one.reference, one.name) == wanted)
    return next(found, None)


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
        "binary log": _binary_log(line.group),
        "disk": disk,
        "load": f"{words['load']}; buffer pool {words['buffer pool']}",
    }


def _cells(line: Line) -> dict[str, str]:
    """Return the cells of a line by their heads."""
    revisions = dict.fromkeys(row.revision[:8] for row in line.group.rows)
    rows = f"[{line.directory.name}](bench/{line.directory.name}/{ROWS})"
    days = dict.fromkeys((min(_whens(line.group))[:10], max(_whens(line.group))[:10]))
    blocks = f"{line.ratio.blocks} blocks"
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
        "pages per commit": _three(line, "pages_per_commit"),
        "the same, ours / untouched": ratio_text(_pages(line)),
        "device writes per commit": _three(line, "device_writes_per_commit"),
        "changes an hour": _changes(line),
        "recovery s": _three(line, "recovery_seconds"),
        "measured": ", ".join([rows, blocks, " to ".join(days), *revisions]) + f" {OLDER}" * (line.since > 0),
        "verdict": verdict(line),
    }


def asked_first(lines: Sequence[Line]) -> Iterator[tuple[str, Line]]:
    """Yield the usual line, the one that gains most, and the one under a closed load that gains least.

    The first two are of the policy in force where there are such; what an older one lost is not left out.
    """
    left = list(lines)
    picks: tuple[tuple[str, Callable[[list[Line]], Line]], ...] = (
        ("usual", lambda found: min(found, key=lambda one: one.since > 0)),
        ("gains most", lambda found: max(found, key=lambda one: (not one.since, one.ratio.low or 0.0))),
        ("gains least", lambda found: min(found, key=lambda one: (bool(_rate(one)), one.ratio.mean))),
    )
    for name, pick in picks:
        if left:
            found = pick(left)
            left.remove(found)
            yield name, found


def _rate(line: Line) -> float:
    return float(line.group.conditions["load"].get("rate") or 0.0)


def page(lines: Sequence[Line], refused: Sequence[Refused], commit: str) -> str:
    """Return the page, Markdown; ``commit`` is the policy in force."""
    cells = [_cells(line) for line in lines]
    first = [{"": f"**{name}**", **_cells(line)} for name, line in asked_first(lines)]
    losing = sum("LOSES" in one["verdict"] for one in cells)
    gaining = sum(one["verdict"].startswith("gains") for one in cells)
    old = [one for line, one in zip(lines, cells, strict=True) if line.since]
    new = [one for one in cells if one not in old]
    counted = (
        f"{len(lines)} comparisons: in {gaining} ours gains over the untouched server, in {losing} it LOSES\n"
        f"to one of the others. {len(old)} are [older](#older-rows) than today's policy or filling.\n"
        f"{len(refused)} are [not shown](#not-shown-because).\n"
    )
    return "\n".join(
        (
            INTRODUCTION.format(untouched=OF_UNTOUCHED, best=OF_BEST, older=OLDER),
            counted,
            table(FIRST, [[one[head] for head in FIRST] for one in first]) + "\n",
            ABOUT.format(commit=commit),
            DETAILS,
            table(HEAD, [[one[head] for head in HEAD] for one in new]) + "\n",
            f"## Older rows\n\nThe same, {OLDER}; `python -m tools.plan` says what is older about each.\n",
            table(HEAD, [[one[head] for head in HEAD] for one in old]) + "\n",
            "## Not shown, because\n",
            "".join(f"- {one.name}: {one.why}\n" for one in refused),
        )
    )


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
        rows.append([name, ", ".join(words) + f" {OLDER}" * (line.since > 0), *rates, *ratios])
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
