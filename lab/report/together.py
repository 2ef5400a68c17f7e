"""Several traces on one page: each becomes what a contender's row is, and nothing is claimed; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.experiment.statistics import percentile
from lab.report.clock import clock
from lab.report.rows import Row, Series
from lab.report.trace import Trace
from lab.report.tracefigures import figures, known, low_end

KIND = "trace"
_SHARED = (
    "age_ratio_mean",
    "age_ratio_max",
    "checkpoint_ratio_max",
    "redo_bytes_per_second",
    "pages_per_second",
    "pages_per_commit",
    "sync_pages",
    "stall_waits",
)


def rows_of_traces(traces: Sequence[Trace]) -> list[Row]:
    """Return a row for each trace, named after its file; second 0 is the first tick of each."""
    names = _names([Path(one.name) for one in traces])
    servers = dict.fromkeys(f"{one.run.facts.version} at {one.run.facts.endpoint}" for one in traces)
    conditions = {
        "server": " and ".join(servers),
        "compared": "traces as they were recorded; nothing says that load and machine were the same",
    }
    return [_row(name, one, conditions) for name, one in zip(names, traces, strict=True)]


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the files' names without their suffix, or whole paths where two would be the same."""
    stems = [path.parent.name if path.name == "journal.db" else path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _row(name: str, trace: Trace, conditions: dict[str, Any]) -> Row:
    commits = known(trace, "commits")
    median = statistics.median(commits) if commits else None
    counted = {one.name: one.value for one in figures(trace)}
    modes = known(trace, "io_capacity_max")
    return Row(
        contender=name,
        kind=KIND,
        io_capacity=_constant(trace, "io_capacity"),
        io_capacity_max=_constant(trace, "io_capacity_max"),
        conditions=conditions,
        figures={
            "seconds": counted["seconds"],
            "commits_mean": counted["commits_mean"],
            "commits_median": median,
            "commits_p1": low_end(commits),
            "commits_p5": percentile(commits, 5.0) if commits else None,
            "commits_min": min(commits, default=None),
            "commits_sd": statistics.pstdev(commits) if commits else None,
            "seconds_below_half_median": (
                None if median is None else sum(one < median / 2.0 for one in commits)
            ),
            **{same: counted[same] for same in _SHARED},
            "io_capacity_max_mean": statistics.fmean(modes) if modes else None,
            "knob_changes": counted["changes"],
        },
        series=Series(
            at=trace.at,
            commits=trace.columns["commits"],
            modified_age=trace.columns["modified_age"],
            checkpoint_age=trace.columns["checkpoint_age"],
            io_capacity=trace.columns["io_capacity"],
            io_capacity_max=trace.columns["io_capacity_max"],
            pages_flushed=trace.columns["pages_flushed"],
            sync_pages=trace.columns["sync_pages"],
            flush_limit=_last(trace, "flush_limit"),
            max_checkpoint_age=_last(trace, "max_checkpoint_age"),
            redo_capacity=_last(trace, "redo_capacity"),
        ),
        events=[(one.at, f"{one.kind} {one.after}") for one in trace.decisions if one.carried_out],
        version=trace.run.program,
        when=clock(trace.wall[0]),
    )


def _constant(trace: Trace, column: str) -> int | None:
    """Return what C or M was throughout; None where it moved, or was never read."""
    values = {round(value) for value in known(trace, column)}
    return values.pop() if len(values) == 1 else None


def _last(trace: Trace, column: str) -> float | None:
    return next(iter(reversed(known(trace, column))), None)
