"""The page of what happens when something happens, made from the finished rows alone."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from lab.bench.ledger import read_rows
from lab.bench.statistics import Bounds, slope
from lab.prove.page import conditions, put, verdict
from lab.prove.recovery import PROMISED
from lab.report.markdown import table

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "safety-mysql97.md"
WARM_UP_MINUTES = 10
FEWEST_MINUTES = 6
HELD_WITHIN = 0.05
"""Distance from the set-point at which the age ratio counts as held."""

Row = dict[str, Any]


def write(directory: Path) -> Path:
    """Write the page from the rows in ``directory`` and return its path."""
    rows = {part: _shown(read_rows(directory / f"{part}.jsonl")) for part in ("surge", "recovery", "soak")}
    parts = [
        "# Safety on MySQL 9.7: surge, crash recovery, soak",
        "Written by `python -m lab.prove --report` from the rows beside this page, nothing by hand.",
        _conditions([row for found in rows.values() for row in found]),
        _trial([row for found in rows.values() for row in found]),
        _surge(rows["surge"]),
        _recovery(rows["recovery"]),
        _soak(rows["soak"]),
    ]
    return put(directory / PAGE, parts)


def _shown(rows: list[Row]) -> list[Row]:
    """Return the real rows of a part; those of a trial only where there are no others."""
    return [row for row in rows if not row.get("trial")] or rows


def _conditions(rows: list[Row]) -> str:
    given = next((row["conditions"] for row in rows if "conditions" in row), None)
    if given is None:
        return ""
    return conditions(
        given,
        load="",
        sharing="server, load and daemon",
        told="x is the modified age over the flush limit A.",
    )


def _trial(rows: list[Row]) -> str:
    if not any(row.get("trial") for row in rows):
        return ""
    return "**Some of these rows are of a trial with shortened waits: they show that it works, and no more.**"


def _surge(rows: list[Row]) -> str:
    text = "## Surge: parked, the daemon killed, half as much load again\n"
    latest = {str(row["phase"]): row for row in rows}
    if "surge" not in latest:
        return text + "Not run yet: `python -m lab.prove --part surge`."
    surge = latest["surge"]
    head = ["phase", "seconds", "offered/s", "served/s", "x mean", "x max", "checkpoint age max / S", "C/M"]
    head += ["sync pages", "seconds with stall waits", "longest queue"]
    names = {"closed": "as much as it takes, ours", "held": "offered, ours", "surge": "offered, no daemon"}
    body: list[list[object]] = [
        [
            names[phase],
            row["seconds"],
            row["offered"] or "-",
            row["commits_mean"],
            row["age_ratio_mean"],
            row["age_ratio_max"],
            row["checkpoint_ratio_max"],
            row.get("left") or f"M {row['io_capacity_max_mean']}",
            row["sync_pages"],
            row["stall_seconds"],
            row["longest_queue"],
        ]
        for phase in names
        if (row := latest.get(phase)) is not None
    ]
    served = float(surge["commits_mean"]) / float(surge["offered"])
    held = latest.get("held", surge)
    lines = [
        verdict(
            f"held at x = {held['age_ratio_mean']} before the park; {held['set_point']} was asked for, with"
            f" `max_checkpoint_age_ratio = {held['checkpoint_cap']}`",
            met=abs(float(held["age_ratio_mean"]) - float(held["set_point"])) <= HELD_WITHIN,
        ),
        verdict(
            f"sync-flushed pages in {int(surge['seconds']) / 60:.0f} minutes: {surge['sync_pages']}; none"
            " wanted",
            met=int(surge["sync_pages"]) == 0,
        ),
        verdict(
            f"seconds in which a writer waited for redo space: {surge['stall_seconds']}; none wanted",
            met=int(surge["stall_seconds"]) == 0,
        ),
        f"- served of what was offered: {served:.1%}; highest x {surge['age_ratio_max']}",
    ]
    if surge.get("load_ended"):
        lines.append(f"- **not met**: the load gave up: {str(surge['load_ended']).splitlines()[-1]}")
    return (
        text
        + "`python -m lab.prove --part surge`; 60 % of what a closed load reached is offered, held, parked"
        " with `innobrim park --wait`, the daemon ended with kill -9, then 1.5 times as much is offered.\n\n"
        + table(head, body)
        + "\n\n"
        + "\n".join(lines)
    )


def _recovery(rows: list[Row]) -> str:
    text = "## Crash recovery, predicted and measured\n"
    if not rows:
        return text + "Not run yet: `python -m lab.prove --part recovery`."
    head = ["kill", "x", "checkpoint age, MiB", "dirty pages", "caches", "by prior, s", "as learned, s"]
    head += ["InnoDB measured, s", "first answer, s", "error of prior", "error as learned", "learned from"]
    body: list[list[object]] = [
        [
            row["number"],
            row["age_ratio"],
            f"{row['checkpoint_age'] / 2**20:.1f}",
            row["pages_dirty"],
            "cold" if row["cold"] else "warm",
            _number(row["prior"]),
            _number(row["learned"]),
            f"{row['measured']:.2f}",
            f"{row['first_query']:.2f}",
            _percent(row["error_prior"]),
            _percent(row["error_learned"]),
            row["learned_from"],
        ]
        for row in rows
    ]
    return (
        text
        + "`python -m lab.prove --part recovery`; mysqld, with `log_error_verbosity = 3`, killed with kill"
        " -9 under load. Measured from the"
        " error log's lines on InnoDB's initialisation (start to end, `performance_schema.error_log`); the"
        " first answer counts from the container's start. Predicted at the last reading before the kill: by"
        " the prior alone, and with the factor learned from the kills before. Cold: the page cache forgot the"
        " data directory's files before the start; data files are read with `O_DIRECT` in any case, so the"
        " redo log alone can be warm.\n\n"
        + table(head, body)
        + "\n\n"
        + "\n".join(
            [
                *_errors("as learned, from the second kill on", rows, "error_learned", least=1),
                *_errors("by the prior alone", rows, "error_prior", least=0),
                *_spread(rows),
            ]
        )
    )


def _errors(name: str, rows: list[Row], key: str, *, least: int) -> list[str]:
    """Return a line on the errors of one prediction."""
    found = [float(row[key]) for row in rows if row[key] is not None and int(row["learned_from"]) >= least]
    if not found:
        return [f"- {name}: no prediction"]
    sizes = [abs(one) for one in found]
    within = sum(1 for one in sizes if one <= PROMISED)
    worst = max(found, key=abs)
    return [
        verdict(
            f"{name}: median error {statistics.median(sizes):.0%}, worst {worst:+.0%}; {within} of"
            f" {len(found)} within {PROMISED:.0%}; all wanted",
            met=within == len(found),
        )
    ]


def _spread(rows: list[Row]) -> list[str]:
    lines = []
    for name, cold in (("cold", True), ("warm", False)):
        found = [float(row["measured"]) for row in rows if row["cold"] is cold]
        if found:
            lines.append(
                f"- {name}: {len(found)} recoveries, median {statistics.median(found):.2f} s,"
                f" {min(found):.2f} to {max(found):.2f} s"
            )
    return lines


def _soak(rows: list[Row]) -> str:
    text = "## Soak: a random fault every minute\n"
    minutes = [row for row in rows if "minute" in row]
    if not minutes:
        return text + "Not run yet: `python -m lab.prove --part soak`."
    head = ["fault", "times", "median s until writing again", "worst", "not within 2 min", "person needed"]
    head += ["sync pages", "breaches"]
    body = [_fault_row(kind, minutes) for kind in sorted({str(row["fault"]) for row in minutes})]
    wanted = int(minutes[0]["minutes"])
    breaches = [breach for row in rows for breach in row["breaches"]]
    died = [row for row in minutes if row["died"]]
    lost = [row for row in minutes if row["back_seconds"] is None]
    ends = [row for row in rows if "end" in row]
    lines = [
        verdict(f"minutes: {len(minutes)} of {wanted}", met=len(minutes) >= wanted),
        verdict(f"breaches of an invariant: {len(breaches)}; none wanted", met=not breaches),
        *(f"  - invariant {one['invariant']}, tick {one['tick']}: {one['what']}" for one in breaches[:20]),
        verdict(f"the daemon ended by itself {len(died)} times; never wanted", met=not died),
        verdict(f"faults with no way back within 2 minutes: {len(lost)}; none wanted", met=not lost),
        *(f"  - minute {row['minute']}, {row['fault']}: waited for {row['waits_for']}" for row in lost[:20]),
        *_memory(minutes),
        *_highest(minutes),
        *(
            f"- part {row['piece']}: {row.get('ticks', '?')} ticks and {row.get('writes', '?')} writes"
            f" judged; ended with exit {row['exit']}, {row['stop_seconds']} s after SIGTERM"
            for row in ends
        ),
    ]
    return (
        text + f"`python -m lab.prove --part soak --minutes {wanted} --seed {minutes[0]['seed']}`; the real"
        " daemon, active, with its API, behind a relay that can drop packets. Writing again: active, no hold,"
        " in two ticks after the fault's end. Each minute the journal is judged by rules written down a"
        " second time (`lab/prove/judge.py`).\n\n" + table(head, body) + "\n\n" + "\n".join(lines)
    )


def _fault_row(kind: str, minutes: list[Row]) -> list[object]:
    rows = [row for row in minutes if row["fault"] == kind]
    back = [float(row["back_seconds"]) for row in rows if row["back_seconds"] is not None]
    return [
        kind,
        len(rows),
        f"{statistics.median(back):.1f}" if back else "-",
        f"{max(back):.1f}" if back else "-",
        len(rows) - len(back),
        sum(1 for row in rows if row["person"]),
        sum(int(row["sync_pages"] or 0) for row in rows),
        sum(len(row["breaches"]) for row in rows),
    ]


def lives(minutes: list[Row]) -> list[list[Row]]:
    """Return the minutes of each process that lived long enough to show a leak, without its first ten."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in minutes:
        if row["pid"] is not None:
            found.setdefault((int(row["piece"]), int(row["pid"])), []).append(row)
    return [
        rows[WARM_UP_MINUTES:] for rows in found.values() if len(rows) >= WARM_UP_MINUTES + FEWEST_MINUTES
    ]


def memory_slope(rows: list[Row]) -> Bounds:
    """Return the growth of resident memory over some minutes, MiB/h."""
    return slope([float(row["at"]) / 3600.0 for row in rows], [row["resident"] / 2**20 for row in rows])


def _memory(minutes: list[Row]) -> list[str]:
    found = lives(minutes)
    if not found:
        return ["- resident memory: no process lived long enough for a slope"]
    lines = []
    for rows in found:
        bounds = memory_slope(rows)
        lines.append(
            f"- resident memory, minutes {rows[0]['minute']} to {rows[-1]['minute']} of one process:"
            f" {bounds.mean:+.2f} MiB/h (95 % bounds {bounds.low:+.2f} to {bounds.high:+.2f})"
        )
    return lines


def _highest(minutes: list[Row]) -> list[str]:
    def highest(key: str) -> float:
        return max((float(row[key]) for row in minutes if row[key] is not None), default=0.0)

    text = (
        "- highest at a minute's end:"
        f" {highest('resident') / 2**20:.1f} MiB resident, {highest('files'):.0f} files,"
        f" {highest('threads'):.0f} threads, {highest('sessions'):.0f} server sessions"
    )
    return [text]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.0%}"
