"""The comparison in lines for a terminal; pure."""

from __future__ import annotations

from collections.abc import Sequence

from lab.report.summary import Group
from lab.report.winners import winner_sentences
from lab.report.words import heading, lacking, verdict_sentences

COLUMNS = (
    ("commits/s", "commits_mean", "{:.0f}"),
    ("p1", "commits_p1", "{:.0f}"),
    ("p99 ms", "latency_p99", "{:.1f}"),
    ("sync pages", "sync_pages", "{:.0f}"),
    ("stalls s", "stall_seconds", "{:.0f}"),
    ("age ratio", "age_ratio_mean", "{:.2f}"),
    ("writes/commit", "device_writes_per_commit", "{:.2f}"),
)
_MILLI = {"latency_p99"}


def table(found: Sequence[Group]) -> list[str]:
    """Return the comparison in lines for a terminal."""
    lines: list[str] = []
    for group in found:
        if not group.contenders:
            continue  # a search that is not finished has nothing to compare yet
        width = max(len(one.name) for one in group.contenders)
        lines += ["", heading(group)]
        lines.append(" " * width + "".join(f"{title:>15}" for title, _, _ in COLUMNS))
        for one in group.contenders:
            lines.append(one.name.ljust(width) + "".join(_cells(one.figures)))
        lines += ["", *verdict_sentences(group), *winner_sentences(group.search, group.rows), *lacking(group)]
    return [*lines, ""]


def _cells(figures: dict[str, float | None]) -> list[str]:
    cells: list[str] = []
    for _, name, form in COLUMNS:
        value = figures.get(name)
        text = "-" if value is None else form.format(value * 1000.0 if name in _MILLI else value)
        cells.append(f"{text:>15}")
    return cells
