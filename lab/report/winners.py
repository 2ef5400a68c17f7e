"""Which static settings did best in a search, with and without the constraints that ours keeps; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from lab.experiment import search as statics
from lab.report.figures import plain
from lab.report.rows import Row

NEEDED = {"commits_mean", "commits_median", "commits_p1", "sync_pages", "checkpoint_ratio_max"}
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
    best, without_cap, unconstrained = (
        _winner(rows, accept) for accept in (statics.kept, statics.steady, statics.anything)
    )
    return BestStatic(best, without_cap, unconstrained, statics.untried(rows) if rows else None)


def winner_sentences(search: Sequence[Row], blocks: Sequence[Row] = ()) -> list[str]:
    """Return in words who won a search, who would without the constraints, and what else blocks ran with."""
    found = best_static(search)
    if found is None:
        return []
    capped = not statics.alternating(_plain(search[0]))
    parts = (
        (found.best, "with the alarm cap and all budgets" if capped else "with all budgets"),
        (found.without_cap, "without cap and budgets" if capped else "without budgets"),
        (found.unconstrained, "without any constraint"),
    )
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
    row = statics.best(rows, accept)
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
