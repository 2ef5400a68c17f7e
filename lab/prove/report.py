"""The page of results, made from the finished rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.bench.ledger import read_rows
from lab.prove.page import conditions, put, verdict
from lab.report.markdown import table

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "closed-loop-mysql97.md"
FORMER_CAP = 0.78
"""The default alarm cap of rows that do not name theirs."""

HOLD_CHANGES = 10
HOLD_SHARE = 0.95

Row = dict[str, Any]
_COLUMNS = (
    ("commits/s", "commits_mean"),
    ("median", "commits_median"),
    ("p5", "commits_p5"),
    ("p1", "commits_p1"),
    ("min", "commits_min"),
    ("sd", "commits_sd"),
    ("x mean", "age_ratio_mean"),
    ("x max", "age_ratio_max"),
    ("checkpoint age max / S", "checkpoint_ratio_max"),
    ("pages/s", "pages_per_second"),
    ("pages per commit", "pages_per_commit"),
    ("sync pages", "sync_pages"),
    ("stall waits", "stall_waits"),
    ("machine idle, CPUs", "machine_idle"),
)


def write(directory: Path) -> Path:
    """Write the page from the rows in ``directory`` and return its path."""
    rows = read_rows(directory / "hold.jsonl")
    parts = [
        "# The closed loop on MySQL 9.7",
        "Written by `python -m lab.prove --report` from the rows beside this page, nothing by hand.",
        "[How it compares with other settings](bench/README.md) is measured by `innobrim bench`.",
        _conditions(rows),
        _hold(rows),
    ]
    return put(directory / PAGE, parts)


def _conditions(rows: list[Row]) -> str:
    if not rows:
        return ""
    return conditions(
        rows[0]["conditions"],
        load=" over a unix socket",
        sharing="server and load",
        told="Commits/s are sysbench's own, each second a value; the rest is read from the server once a"
        " second over a connection of the bench's own. x is the modified age over the flush limit A.",
    )


def _cells(row: Row) -> list[object]:
    return [row.get(key, "-") for _, key in _COLUMNS]


def _hold(rows: list[Row]) -> str:
    if not rows:
        return "## Hold\nNot run yet: `python -m lab.prove --part hold`."
    row = rows[0]
    share = float(row["share_within_band"])
    head = ["settled in s", "M mean", "changes", *(title for title, _ in _COLUMNS)]
    body = [[f"{row['settle_seconds']:.0f}", row["io_capacity_max_mean"], row["knob_changes"], *_cells(row)]]
    resident = row.get("daemon_resident_bytes")
    return "\n".join(
        [
            f"## Hold\n`python -m lab.prove --part hold`; ours alone, {row['seconds']} s counted.\n",
            table(head, body) + "\n",
            verdict(
                f"changes of M in the counted time: {row['knob_changes']}; at most {HOLD_CHANGES} wanted",
                met=int(row["knob_changes"]) <= HOLD_CHANGES,
            ),
            verdict(
                f"seconds with x within ±{row['band']} of its mean: {share:.1%}; {HOLD_SHARE:.0%} wanted",
                met=share >= HOLD_SHARE,
            ),
            verdict(f"sync-flushed pages: {row['sync_pages']}; none wanted", met=int(row["sync_pages"]) == 0),
            verdict(
                f"highest checkpoint age: {row['checkpoint_ratio_max']:.3f} of S; at most {_cap(row)} wanted",
                met=float(row["checkpoint_ratio_max"]) <= _cap(row),
            ),
            f"- daemon resident at the end: {resident / 2**20:.1f} MiB" if resident else "",
        ]
    ).rstrip()


def _cap(row: Row) -> float:
    return float(row.get("checkpoint_cap", FORMER_CAP))
