"""What the rows of a bench come to: contenders side by side, where ours gains, and who won a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from lab.bench.search import alternating, anything, best, kept, steady, untried
from lab.report.figures import COMPARED, COUNTED, TABLES, THROUGHPUT, Figure, plain, written
from lab.report.rows import Row
from lab.statistics import FEWEST, Bounds, mean_bounds, ratio_bounds
from tuner.records import CAPACITY_MINIMUM

BLOCK, SEARCH, KNEE, LEFT_OUT = "block", "search", "knee", "left out"
MEASURED = (BLOCK, SEARCH)
"""Stages whose rows were measured under a group's conditions; a knee was measured under another load."""

OURS = "policy"
SEARCHED, GIVEN = "best static", "static"
REFERENCES = ("default", SEARCHED)
KINDS = (OURS, "best static", "default", "high_checkpoint", "folk", "static", "sync")
"""Order in which contenders get their colours."""

Outcome = Literal[
    "gains",
    "loses",
    "no difference shown",
    "one block, nothing claimed",
    "equal",
    "better, no bounds",
    "worse, no bounds",
]


class ContenderSummary(Struct, frozen=True):
    """One contender over all its blocks under the same conditions.

    Attributes:
        name: as in the rows.
        kind: of contender.
        setting: what C and M were set to; empty where a policy moves them.
        throughput: commits/s, mean of blocks with bounds.
        blocks: commits/s of each block, by its number.
        to: ratio of its commits/s to each reference's, by the reference's kind.
        figures: every other figure, its blocks put together; None where it is not known.
        unsettled: blocks that were counted although they had not settled.
    """

    name: str
    kind: str
    setting: str
    throughput: Bounds | None
    blocks: dict[int, float]
    to: dict[str, Bounds]
    figures: dict[str, float | None]
    unsettled: tuple[int, ...]

    @property
    def ours(self) -> bool:
        """Tell whether it is one of ours."""
        return self.kind == OURS


class Verdict(Struct, frozen=True):
    """How one of ours compares in one figure.

    Attributes:
        contender: ours.
        reference: whom it is compared with.
        name: of the figure.
        figure: its column head.
        ours: its value, written out.
        theirs: the reference's.
        ratio: ours over theirs, paired by block; None where it is compared by count.
        outcome: what follows from the bounds.
    """

    contender: str
    reference: str
    name: str
    figure: str
    ours: str
    theirs: str
    ratio: Bounds | None
    outcome: Outcome


class Group(Struct, frozen=True):
    """The rows of the same conditions.

    Attributes:
        conditions: theirs.
        not_limited: what could not be limited in any of them, in the words of the rows.
        rows: the blocks' rows.
        search: the rows of the static search.
        knee: the rows that say what the default sustains, of which an open load offers a share.
        left_out: contenders that could not run, each with the reason.
        variant: name of the plan among those of its suite.
        contenders: highest throughput first.
        verdicts: of each of ours against each reference, and against every setting that was given where none
            was searched for.
    """

    conditions: dict[str, Any]
    not_limited: tuple[str, ...]
    rows: tuple[Row, ...]
    search: tuple[Row, ...]
    knee: tuple[Row, ...]
    left_out: tuple[tuple[str, str], ...]
    variant: str
    contenders: tuple[ContenderSummary, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def blocks(self) -> list[int]:
        """Return the numbers of the blocks."""
        return sorted({row.block for row in self.rows})

    def coloured(self) -> list[str]:
        """Return the contenders' names, ours first, always in the same order."""
        places = {kind: place for place, kind in enumerate(KINDS)}
        ordered = sorted(self.contenders, key=lambda one: (places.get(one.kind, len(KINDS)), one.name))
        return [one.name for one in ordered]

    def known(self, figures: Sequence[Figure]) -> list[Figure]:
        """Return those figures that at least one contender has."""
        return [
            one
            for one in figures
            if any(found.figures.get(one.name) is not None for found in self.contenders)
        ]


def groups(rows: Sequence[Row]) -> list[Group]:
    """Return rows by their conditions, in the order in which those came first."""
    found: dict[tuple[str, bytes], list[Row]] = {}
    for row in rows:
        if row.stage in MEASURED:
            # how a refusal is put may differ from start to start; whether there was one may not
            same = row.conditions | {"not_limited": bool(row.conditions.get("not_limited"))}
            key = row.variant, msgspec.json.encode(same, order="deterministic")
            found.setdefault(key, []).append(row)
    aside = {variant: [row for row in rows if row.variant == variant] for variant, _ in found}
    return [_group(part, aside[variant]) for (variant, _), part in found.items()]


def _group(rows: list[Row], variant: list[Row]) -> Group:
    """Return a group of measured rows; ``variant`` are all rows of theirs."""
    blocks = [row for row in rows if row.stage == BLOCK]
    names = dict.fromkeys(row.contender for row in blocks)
    theirs = {name: _by_block(blocks, name) for name in names}
    references = {kind: found for kind in REFERENCES if (found := _reference(blocks, kind))}
    contenders = [
        _contender(name, list(theirs[name].values()), {kind: theirs[who] for kind, who in references.items()})
        for name in names
    ]
    contenders.sort(key=lambda one: -(one.throughput.mean if one.throughput else 0.0))
    rivals = list(references.values())
    if SEARCHED not in references:  # then a setting that was given is what ours has to beat
        rivals += [one.name for one in contenders if one.kind == GIVEN]
    limits = dict.fromkeys(one for row in rows for one in row.conditions.get("not_limited") or ())
    conditions = {name: value for name, value in rows[0].conditions.items() if name != "not_limited"}
    return Group(
        conditions=conditions,
        not_limited=tuple(limits),
        rows=tuple(blocks),
        search=tuple(row for row in rows if row.stage == SEARCH),
        knee=tuple(row for row in variant if row.stage == KNEE),
        left_out=tuple((row.contender, row.why) for row in variant if row.stage == LEFT_OUT),
        variant=rows[0].variant,
        contenders=tuple(contenders),
        verdicts=tuple(
            verdict
            for one in contenders
            if one.ours
            for who in rivals
            if who != one.name
            for verdict in _verdicts(one.name, who, theirs[one.name], theirs[who])
        ),
    )


def _by_block(rows: Sequence[Row], name: str) -> dict[int, Row]:
    """Return a contender's rows by block; of a block that was taken again the newest counts."""
    return {row.block: row for row in rows if row.contender == name}


def _reference(rows: list[Row], kind: str) -> str:
    """Return the contender that stands for a kind: the one of that name, else the first in the alphabet."""
    names = {row.contender for row in rows if row.kind == kind}
    return kind if kind in names else min(names, default="")


def _contender(name: str, rows: list[Row], references: dict[str, dict[int, Row]]) -> ContenderSummary:
    figures: dict[str, float | None] = {}
    for figure in (THROUGHPUT, *(one for _, part in TABLES for one in part)):
        values = [value for row in rows if (value := row.figure(figure.name)) is not None]
        figures[figure.name] = figure.of(values)
    blocks = {row.block: value for row in rows if (value := row.figure(THROUGHPUT.name)) is not None}
    mine = {row.block: row for row in rows}
    to = {
        kind: ratio
        for kind, others in references.items()
        if (ratio := ratio_bounds(_pairs(THROUGHPUT, mine, others))) is not None
    }
    set_to = {
        f"{max(CAPACITY_MINIMUM, row.io_capacity)}/{row.io_capacity_max}"
        for row in rows
        if row.io_capacity is not None and row.io_capacity_max is not None
    }
    return ContenderSummary(
        name=name,
        kind=rows[0].kind,
        setting=", ".join(sorted(set_to)),
        throughput=mean_bounds(list(blocks.values())),
        blocks=blocks,
        to=to,
        figures=figures,
        unsettled=tuple(row.block for row in rows if row.settled is False),
    )


def _pairs(figure: Figure, ours: dict[int, Row], theirs: dict[int, Row]) -> list[tuple[float, float]]:
    """Return a figure of ours and of theirs for each block that has both."""
    found = []
    for block in sorted(ours.keys() & theirs.keys()):
        mine, other = ours[block].figure(figure.name), theirs[block].figure(figure.name)
        if mine is not None and other is not None:
            found.append((mine, other))
    return found


def _verdicts(name: str, reference: str, ours: dict[int, Row], theirs: dict[int, Row]) -> list[Verdict]:
    found = []
    for figure in (*COMPARED, *COUNTED):
        pairs = _pairs(figure, ours, theirs)
        if not pairs:
            continue
        mine, other = (figure.of([pair[side] for pair in pairs]) or 0.0 for side in (0, 1))
        ratio = ratio_bounds(pairs) if figure in COMPARED else None
        outcome = _by_count(figure, mine, other) if ratio is None else _by_bounds(figure, ratio)
        found.append(
            Verdict(
                contender=name,
                reference=reference,
                name=figure.name,
                figure=figure.head(),
                ours=written(mine, figure.unit),
                theirs=written(other, figure.unit),
                ratio=ratio,
                outcome="one block, nothing claimed" if len(pairs) < FEWEST else outcome,
            )
        )
    return found


def _by_bounds(figure: Figure, ratio: Bounds) -> Outcome:
    if ratio.low is None or ratio.high is None:
        return "one block, nothing claimed"
    if ratio.low <= 1.0 <= ratio.high:
        return "no difference shown"
    return "gains" if (ratio.low > 1.0) == (figure.better == "higher") else "loses"


def _by_count(figure: Figure, ours: float, theirs: float) -> Outcome:
    if ours == theirs:
        return "equal"
    return "better, no bounds" if (ours > theirs) == (figure.better == "higher") else "worse, no bounds"


NEEDED = {
    "commits_mean",
    "commits_median",
    "commits_p1",
    "sync_pages",
    "checkpoint_ratio_max",
    "age_ratio_mean",
    "pages_per_second",
}
"""Figures without which a row of the search cannot be judged."""


class Winner(Struct, frozen=True):
    """A static setting and what it gave: C and M in pages/s, commits/s, pages flushed per commit."""

    io_capacity: int
    io_capacity_max: int
    commits_mean: float
    pages_per_commit: float | None


class BestStatic(Struct, frozen=True):
    """The winners of a search; None where no setting keeps the rules.

    Attributes:
        best: under all constraints: no sync flushing, recovery and shutdown budget, and where the disk
            does not alternate an even p1 and the alarm cap.
        without_cap: without budgets and alarm cap.
        unconstrained: without any.
        untried: the M that the search still had to try when it ended, pages/s; None where it was complete.
    """

    best: Winner | None
    without_cap: Winner | None
    unconstrained: Winner | None
    untried: int | None


def best_static(search: Sequence[Row]) -> BestStatic | None:
    """Return who won a search; None where nothing was searched for."""
    if not search:
        return None
    rows = [_plain(row) for row in search if row.figures.keys() >= NEEDED and "load" in row.conditions]
    best, without_cap, unconstrained = (_winner(rows, accept) for accept in (kept, steady, anything))
    return BestStatic(best, without_cap, unconstrained, untried(rows) if rows else None)


def winner_sentences(search: Sequence[Row], blocks: Sequence[Row] = ()) -> list[str]:
    """Return in words who won a search, who would without the constraints, and what else blocks ran with."""
    found = best_static(search)
    if found is None:
        return []
    capped = not alternating(_plain(search[0]))
    parts: tuple[tuple[Winner | None, str], ...] = (
        (found.best, "with the alarm cap and all budgets" if capped else "with all budgets"),
        (found.without_cap, "without cap and budgets" if capped else "without budgets"),
        (found.unconstrained, "without any constraint"),
    )
    if found.best == found.without_cap == found.unconstrained:
        rules = "with and without the alarm cap and budgets" if capped else "with and without budgets"
        parts = ((found.best, rules),)
    said = ["Best static setting: " + "; ".join(f"{_said(one)} {rules}" for one, rules in parts) + "."]
    if found.untried is not None:
        said.append(f"Its search ended early: M = {found.untried} was still to try, and may be better.")
    ran = next((row for row in blocks if row.kind == "best static"), None)
    if ran and found.best and ran.io_capacity_max != found.best.io_capacity_max:
        pair = f"{ran.io_capacity}/{ran.io_capacity_max}"
        said.append(f"The blocks ran with {pair}, the best found when they began.")
    return said


def _said(one: Winner | None) -> str:
    if one is None:
        return "none"
    pages = "" if one.pages_per_commit is None else f", {plain(one.pages_per_commit)} pages per commit"
    return f"{one.io_capacity}/{one.io_capacity_max} ({plain(one.commits_mean)} commits/s{pages})"


def _winner(rows: Sequence[dict[str, Any]], accept: Callable[[dict[str, Any]], bool]) -> Winner | None:
    row = best(rows, accept)
    if row is None:
        return None
    figures = row["figures"]
    return Winner(
        io_capacity=row["io_capacity"],
        io_capacity_max=row["io_capacity_max"],
        commits_mean=figures["commits_mean"],
        pages_per_commit=figures.get("pages_per_commit"),
    )


def _plain(row: Row) -> dict[str, Any]:
    """Return what the search's own rules look at."""
    return {
        "io_capacity": row.io_capacity,
        "io_capacity_max": row.io_capacity_max,
        "conditions": row.conditions,
        "figures": row.figures,
    }
