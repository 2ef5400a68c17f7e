"""What the rows of the bench compare: an untouched server, best static and ours, under one load each."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lab.bench import store
from lab.bench.search import SERVED
from lab.report.rows import Row
from lab.report.summary import BLOCK, SEARCHED, ContenderSummary, Group, groups
from lab.scenarios.trace import starved_seconds
from lab.statistics import FEWEST, Bounds
from tools.kept import OURS, UNTOUCHED, Comparison, Since, all_kept, worn

OF_UNTOUCHED, OF_BEST = 0.99, 0.98
"""Shares of the commits/s of the others below which ours loses."""

LARGE = 1 << 30
"""Redo capacity from which on a log is of a size that people run, bytes."""

SERVERS = ("MySQL 8.0", "MySQL 8.4", "MySQL 9", "MySQL 5.7", "MySQL 5.6", "MariaDB")
"""Servers in the order in which a reader would ask for them."""

PAGES = "pages_per_commit"

BUCKETS = 1.04
"""Two buckets of the load's histogram of latencies: a percentile that is longer by less may be the same."""

USUAL = "write_only"
"""The load that a reader asks for first."""


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

    @property
    def binary_log(self) -> str:
        """Return how the server kept a binary log, in a word or two."""
        further = self.group.conditions.get("set") or {}
        if "log_bin" not in further:
            return "off"
        return {"1": "synced", "": "on"}.get(str(further.get("sync_binlog", "")), "not synced")

    @property
    def offered(self) -> float:
        """Return what is offered, transactions/s; 0 where the load is closed."""
        return float(self.group.conditions["load"].get("rate") or 0.0)

    @property
    def in_memory(self) -> bool:
        """Return whether the disk is a file in memory."""
        return store.in_memory({"conditions": self.group.conditions})

    @property
    def whens(self) -> list[str]:
        """Return when each of its rows was measured."""
        return [row.when for row in self.group.rows]

    def of(self, figure: str, other: ContenderSummary) -> Bounds | None:
        """Return ours over another contender, in a figure of the rows."""
        wanted = (OURS, other.name, figure)
        found = (
            one.ratio for one in self.group.verdicts if (one.contender, one.reference, one.name) == wanted
        )
        return next(found, None)


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
            older, newer = sorted((line, lines.get(key, line)), key=lambda one: max(one.whens))
            if older is not newer:
                name = _name(older.directory, older.group.variant)
                refused.append(Refused(name, f"measured again later: {newer.directory.name}"))
            lines[key] = newer
    return sorted(lines.values(), key=_place), sorted(refused)


def _name(directory: Path, variant: str) -> str:
    return f"{directory.name}, {variant}" if variant else directory.name


def _place(line: Line) -> tuple[object, ...]:
    """Return what lines are sorted by."""
    conditions, load = line.group.conditions, line.group.conditions["load"]
    server = conditions["server"]
    rank = next((at for at, one in enumerate(SERVERS) if server.startswith(one)), len(SERVERS))
    release = tuple(-int(part) for part in re.findall(r"\d+", server)[:3])
    capacity = conditions["redo_capacity"]
    return (
        line.binary_log != "synced",
        capacity < LARGE,
        rank,
        release,
        bool(line.offered),
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
    """Return what a line says in a few words: whether ours gains or loses, and how steady it is."""
    said = [_headline(line)]
    more = None if line.best is None else line.of(PAGES, line.best)
    if line.offered and more is not None and (more.low or 0.0) > 1.0:
        said.append("more of them than best static")
    for name, ratio, least in (
        ("untouched", line.ratio, OF_UNTOUCHED),
        ("best static", line.to_best, OF_BEST),
    ):
        if ratio is not None and ratio.mean < least:
            said.append(f"**LOSES**: {ratio.mean:.3f} × {name}")
    return ", ".join([*filter(None, said), *_slowest(line)])


def _headline(line: Line) -> str:
    """Return what ours brings over the untouched server; nothing where it only loses."""
    low, high = line.ratio.low or 0.0, line.ratio.high or 0.0
    pages = line.of(PAGES, line.untouched)
    theirs, mine = (one.figures.get("commits_mean") or 0.0 for one in (line.untouched, line.ours))
    if low > 1.0:
        return "gains"
    if theirs < SERVED * line.offered <= mine:
        return "serves what the untouched server does not"
    if line.offered and pages is not None and (pages.high or 1.0) < 1.0:
        return "fewer pages for the same work"
    if high >= 1.0:
        return "no difference to untouched shown"
    return "a little less than untouched" if line.ratio.mean >= OF_UNTOUCHED else ""


def _slowest(line: Line) -> Iterator[str]:
    """Yield how ours compares with the untouched server in its slowest seconds and commits."""
    first = line.of("commits_p1", line.untouched)
    if first is not None and (first.low or 0.0) > 1.0 >= (line.ratio.low or 0.0):
        yield "1st percentile higher than untouched's"
    if _stopped(line, line.ours) > _stopped(line, line.untouched) or (first and (first.high or 1.0) < 1.0):
        yield "1st percentile lower than untouched's"
    latency = line.of("latency_p99", line.untouched)
    if latency is not None and (latency.low or 0.0) > BUCKETS:
        yield "p99 longer than untouched's"
    for name, found in (
        ("stalled", [one.figures.get("stall_seconds") or 0.0 for one in (line.untouched, line.ours)]),
        ("starved", [float(starved(line, one.name)) for one in (line.untouched, line.ours)]),
    ):
        if found[1] > found[0]:
            yield f"{name} for longer than untouched"


def _stopped(line: Line, one: ContenderSummary) -> int:
    """Return in how many blocks a contender's first percentile is no commit at all, which has no ratio."""
    return sum(row.contender == one.name and row.figure("commits_p1") == 0.0 for row in line.group.rows)
