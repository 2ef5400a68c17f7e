"""The page of results, made from the finished rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.bench.ledger import read_rows
from lab.bench.statistics import Bounds, percentile, ratio_bounds
from lab.prove.search import ALARM_CAP, anything, best, capped, steady
from lab.report.markdown import table

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "closed-loop-mysql97.md"
DEFAULT_FACTOR = 2.0
BEST_FACTOR = 0.98
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


def verdict(text: str, *, met: bool) -> str:
    """Return one line of the summary, saying plainly whether the promise was kept."""
    return f"- {'met' if met else '**not met**'}: {text}"


def bounds(value: Bounds) -> str:
    """Return a ratio with its 95 % bounds."""
    if value.low is None or value.high is None:
        return f"{value.mean:.3f} (one block, no bounds)"
    return f"{value.mean:.3f} (95 % bounds {value.low:.3f} to {value.high:.3f})"


def write(directory: Path) -> Path:
    """Write the page from the rows in ``directory`` and return its path."""
    parts = [
        "# The closed loop on MySQL 9.7",
        "Written by `python -m lab.prove --report` from the rows beside this page, nothing by hand.",
        _conditions([*read_rows(directory / "search.jsonl"), *read_rows(directory / "blocks.jsonl")]),
        _search(read_rows(directory / "search.jsonl")),
        _blocks(read_rows(directory / "blocks.jsonl")),
        _hold(read_rows(directory / "hold.jsonl")),
    ]
    path = directory / PAGE
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path


def _conditions(rows: list[Row]) -> str:
    if not rows:
        return ""
    given = rows[0]["conditions"]
    return (
        f"## Conditions\n{given['server']} in a container, disk limited to {given['write_iops']} write"
        f" operations/s, redo capacity S = {given['redo_capacity'] // 2**20} MiB, buffer pool"
        f" {given['buffer_pool'] // 2**20} MiB, no binary log, `O_DIRECT`; sysbench `{given['load']}` over a"
        f" unix socket, {given['threads']} threads, {given['tables']} tables of {given['rows']} rows,"
        f" {given['rand_type']}; {given['processors']} processors shared by server and load. Commits/s are"
        " sysbench's own, each second a value; the rest is read from the server once a second over a"
        " connection of the bench's own. x is the modified age over the flush limit A."
    )


def _cells(row: Row) -> list[object]:
    return [row.get(key, "-") for _, key in _COLUMNS]


def _search(rows: list[Row]) -> str:
    if not rows:
        return "## Static search\nNot run yet: `python -m lab.prove --part search`."
    head = ["C/M", "stage", "settled in s", *(title for title, _ in _COLUMNS)]
    body = [
        [
            f"{row['io_capacity']}/{row['io_capacity_max']}",
            row["stage"],
            f"{row['settle_seconds']:.0f}" + ("" if row["settled"] else " (still drifting)"),
            *_cells(row),
        ]
        for row in sorted(rows, key=lambda row: int(row["io_capacity_max"]))
    ]
    winners = []
    for name, accept in (
        (f"no sync page, p1 at least half the median, peak checkpoint age at most {ALARM_CAP} of S", capped),
        ("the same without the cap on the checkpoint age", steady),
        ("without any constraint", anything),
    ):
        row = best(rows, accept)
        found = f"M = {row['io_capacity_max']}, {row['commits_mean']} commits/s" if row else "none"
        winners.append(f"- {name}: {found}")
    order = ", ".join(str(row["io_capacity_max"]) for row in rows)
    return (
        f"## Static search\n`python -m lab.prove --part search`; {rows[0]['seconds']} s a row, one run each,"
        f" order {order}. Between rows: {rows[0]['reset']}.\n\n"
        + table(head, body)
        + "\n\nBest static:\n"
        + "\n".join(winners)
    )


def _of(rows: list[Row], contender: str) -> list[Row]:
    return sorted((row for row in rows if row["contender"] == contender), key=lambda row: int(row["block"]))


def _blocks(rows: list[Row]) -> str:
    if not rows:
        return "## Blocks\nNot run yet: `python -m lab.prove --part blocks`."
    head = ["block", "contender", "M mean", "changes (before the count)", *(title for title, _ in _COLUMNS)]
    body = [
        [
            row["block"],
            row["contender"] + (f" (M = {row['best_static']})" if row["contender"] == "best static" else ""),
            row["io_capacity_max_mean"],
            f"{row['knob_changes']} ({row['changes_before']})",
            *_cells(row),
        ]
        for row in rows
    ]
    text: str = (
        f"## Blocks\n`python -m lab.prove --part blocks`; order within a block by seed {rows[0]['seed']},"
        " rows in the order run; 6 minutes each, the last 4 counted. "
        + _sentence(str(rows[0]["reset"]))
        + ".\n\n"
    ) + table(head, body)
    ours, default, static = (_of(rows, name) for name in ("ours", "default", "best static"))
    if not ours or len({len(ours), len(default), len(static)}) != 1:
        return text + "\n\nNot every block is finished: no ratio is claimed."
    return text + "\n\n" + _verdicts(ours, default, static)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verdicts(ours: list[Row], default: list[Row], static: list[Row]) -> str:
    def means(rows: list[Row]) -> list[float]:
        return [float(row["commits_mean"]) for row in rows]

    def pooled_p1(rows: list[Row]) -> float:
        return percentile([float(one) for row in rows for one in row["commits"]], 1)

    def over(other: list[Row]) -> Bounds:
        found = ratio_bounds(list(zip(means(ours), means(other), strict=True)))
        if found is None:
            raise ValueError(f"{len(ours)} blocks cannot be compared with {len(other)}")
        return found

    over_default, over_static = over(default), over(static)
    p1, static_p1 = pooled_p1(ours), pooled_p1(static)
    sync = sum(int(row["sync_pages"]) for row in ours)
    peak = max(float(row["checkpoint_ratio_max"]) for row in ours)
    return "\n".join(
        [
            verdict(
                f"throughput over the default's: {bounds(over_default)}; at least {DEFAULT_FACTOR} wanted",
                met=over_default.mean >= DEFAULT_FACTOR,
            ),
            verdict(
                f"throughput over best static's: {bounds(over_static)}; at least {BEST_FACTOR} wanted",
                met=over_static.mean >= BEST_FACTOR,
            ),
            verdict(
                f"p1 over all counted seconds: {p1:.0f} commits/s, best static's {static_p1:.0f}",
                met=p1 >= static_p1,
            ),
            verdict(f"sync-flushed pages while ours was counted: {sync}; none wanted", met=sync == 0),
            verdict(
                f"highest checkpoint age of ours: {peak:.3f} of S; at most {ALARM_CAP} wanted",
                met=peak <= ALARM_CAP,
            ),
        ]
    )


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
            f"- daemon resident at the end: {resident / 2**20:.1f} MiB" if resident else "",
        ]
    ).rstrip()
