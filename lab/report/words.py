"""Conditions and outcomes in words; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lab.bench.plan import RESET_RATIO
from lab.report.figures import UNKNOWN, plain
from lab.report.summary import Group, Outcome, Verdict, winner_sentences
from lab.statistics import Bounds
from tuner.system.amounts import size

_BYTES = frozenset({"redo_capacity", "buffer_pool"})
_DISK = {
    "write_iops": "{} writes/s",
    "write_mib": "{} MiB/s written",
    "alternate_iops": "alternating with {} writes/s",
}


def conditions_text(conditions: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return every condition as a title and words; one that is not known here is written as it stands."""
    return [(name.replace("_", " "), _said(name, value)) for name, value in conditions.items()]


def heading(group: Group) -> str:
    """Return what tells a group from the others of its page, in one line."""
    said = conditions_short(group.conditions, refused=bool(group.not_limited))
    return ": ".join(part for part in (group.variant, said) if part)


def conditions_short(conditions: Mapping[str, Any], *, refused: bool = False) -> str:
    """Return what tells these conditions from others, in one line; ``refused``: the disk was not limited."""
    load = conditions.get("load")
    disk = _said("disk", conditions["disk"]) if "disk" in conditions else ""
    if refused:
        disk = disk.replace("limited to", "NOT limited to", 1)
    parts = [
        str(conditions.get("server", "")),
        f"redo {_said('redo_capacity', redo)}" if (redo := conditions.get("redo_capacity")) else "",
        disk and f"disk {disk}",
        ", ".join(f"{name}={value}" for name, value in dict(conditions.get("set") or {}).items()),
        _said("load", load) if load else "",
    ]
    return "; ".join(part for part in parts if part) or "conditions not recorded"


def _said(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return _load(value) if name == "load" else _disk(value) if name == "disk" else _pairs(value)
    if isinstance(value, list | tuple):
        return ", ".join(_said("", one) for one in value) or "none"
    if name in _BYTES and isinstance(value, int | float):
        return size(value)
    return "not known" if value is None else str(value)


def _pairs(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.replace('_', ' ')} {_said(key, one)}" for key, one in given.items()) or "none"


def _disk(disk: Mapping[str, Any]) -> str:
    limits = [shape.format(disk[key]) for key, shape in _DISK.items() if disk.get(key) is not None]
    rest = {key: one for key, one in disk.items() if key not in {*_DISK, "in_memory"} and one is not None}
    limits += [_pairs(rest)] if rest else []
    words = "limited to " + ", ".join(limits) if limits else "not limited"
    return words + (", a file in memory" if disk.get("in_memory") else "")


def _load(load: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in load.items() if (name, value) != ("course", "steady")}
    words = [str(rest.pop("kind", "load"))]
    distribution = rest.pop("distribution", None)
    if distribution:
        words.append(str(distribution))
    tables, rows = rest.pop("tables", None), rest.pop("rows", None)
    if tables is not None and rows is not None:
        words.append(f"{tables} tables of {plain(float(rows))} rows")
    threads, rate = rest.pop("threads", None), rest.pop("rate", None)
    if threads is not None:
        words.append(f"{threads} thread{'s' if threads != 1 else ''}")
    if rate is not None:
        words.append(f"{rate} transactions/s offered" if rate else "closed")
    words += [f"{key.replace('_', ' ')} {_said(key, value)}" for key, value in rest.items()]
    return ", ".join(words)


def ratio_text(ratio: Bounds | None) -> str:
    """Return a ratio with its bounds."""
    if ratio is None:
        return UNKNOWN
    if ratio.low is None or ratio.high is None:
        return f"{_three(ratio.mean)} (one block, no bounds)"
    return f"{_three(ratio.mean)} ({_three(ratio.low)} to {_three(ratio.high)})"


def _three(value: float) -> str:
    """Return three digits that count, zeros too: 1.00 is more than 1 says."""
    return f"{value:#.3g}".rstrip(".")


def mean_text(mean: Bounds | None) -> str:
    """Return a mean with its bounds."""
    if mean is None:
        return UNKNOWN
    if mean.low is None or mean.high is None:
        return f"{plain(mean.mean)} (one block)"
    return f"{plain(mean.mean)} ({plain(mean.low)} to {plain(mean.high)})"


IN_SENTENCES = frozenset(
    {
        "commits_mean",
        "commits_p1",
        "latency_p99",
        "latency_p999",
        "read_latency_p99",
        "device_writes_per_commit",
        "pages_per_commit",
        "sync_pages",
        "stall_seconds",
    }
)
"""Figures that are put into sentences; the table has all of them."""

PHRASES: tuple[tuple[Outcome, str], ...] = (
    ("gains", "gains"),
    ("better, no bounds", "is better, without bounds"),
    ("no difference shown", "gains nothing that could be shown"),
    ("loses", "LOSES"),
    ("worse, no bounds", "is WORSE, without bounds"),
    ("one block, nothing claimed", "claims nothing from one block"),
)


LOSSES: tuple[Outcome, ...] = ("loses", "worse, no bounds")


class Sentence(NamedTuple):
    """How one of ours compares with another contender, in words, and whether that is a loss."""

    text: str
    loses: bool = False


def verdict_sentences(group: Group) -> list[Sentence]:
    """Return how ours compares, a sentence for each other and outcome: also where it gains nothing."""
    found: dict[tuple[str, str, Outcome], list[Verdict]] = {}
    for one in group.verdicts:
        if one.name in IN_SENTENCES:
            found.setdefault((one.contender, one.reference, one.outcome), []).append(one)
    return [
        Sentence(
            f"{ours} against {other} {phrase}: {'; '.join(map(_compared, compared))}.", outcome in LOSSES
        )
        for ours, other in dict.fromkeys((one.contender, one.reference) for one in group.verdicts)
        for outcome, phrase in PHRASES
        if (compared := found.get((ours, other, outcome)))
    ] or [Sentence("Nothing of ours, or nothing to compare it with: no ratio is claimed.")]


def _compared(verdict: Verdict) -> str:
    if verdict.ratio is None:
        return f"{verdict.figure} {verdict.ours} against {verdict.theirs}"
    return f"{verdict.figure} × {_ratio(verdict)}"


def _ratio(verdict: Verdict) -> str:
    """Return a ratio, with bounds where the phrase before it does not say already that there are none."""
    if verdict.ratio is not None and verdict.outcome == "one block, nothing claimed":
        return _three(verdict.ratio.mean)
    return ratio_text(verdict.ratio)


BUSY = 0.05
"""A smaller share of the processors idle is none left."""


def idle_text(group: Group) -> list[str]:
    """Return how much of the processors nobody used, where there may have been too little of them.

    Server, load and whatever else ran share them.
    """
    idle = [value for row in group.rows if (value := row.figure("machine_idle")) is not None]
    of = int(group.conditions.get("processors", 1))
    if not idle or min(idle) >= BUSY * of:
        return []
    share = f"{min(idle):.2f} to {max(idle):.2f} of {of}"
    return [f"processors idle while a row was counted: {share}, so that they may have been the limit"]


def lacking(group: Group) -> list[str]:
    """Return what a reader has to know of these rows before believing them."""
    found = [f"{name} is left out: {why}" for name, why in group.left_out]
    found += [f"not limited: {one}" for one in group.not_limited]
    found += [
        f"{one.name} had not settled when counting began in block {', '.join(blocks)}"
        for one in group.contenders
        if (blocks := [str(block) for block in sorted(one.unsettled)])
    ]
    found += _resets(group)
    found += [
        f"{row.contender}, block {row.block}: {plain(count)} errors of the load"
        for row in group.rows
        if (count := row.figure("errors") or 0.0) > 0
    ]
    found += [
        f"{row.contender}, block {row.block}: {plain(count)} readings of the server failed"
        for row in group.rows
        if (count := row.figure("missed_readings") or 0.0) > 0
    ]
    found += [
        f"the default sustains {plain(row.figure('commits_mean') or 0.0)} commits/s here"
        f"{'' if row.settled else ', its age not at rest yet'}; a share of it is offered"
        for row in group.knee
    ]
    wanted = set(group.blocks)
    found += [
        f"{one.name} has no row yet in block {', '.join(map(str, sorted(missing)))}: "
        "its ratios are from the blocks that both have"
        for one in group.contenders
        if (missing := wanted - one.blocks.keys())
    ]
    return found


def _resets(group: Group) -> list[str]:
    """Return which contenders began at an age that was still high."""
    found: dict[str, list[tuple[int, float]]] = {}
    for row in group.rows:
        if row.reset_ratio is not None and row.reset_ratio > RESET_RATIO:  # 0.25, rounded, may be below
            found.setdefault(row.contender, []).append((row.block, row.reset_ratio))
    said = []
    for name, blocks in found.items():
        numbers = ", ".join(str(block) for block, _ in sorted(blocks))
        ratios = " to ".join(
            dict.fromkeys(f"{pick(ratio for _, ratio in blocks):.3f}" for pick in (min, max))
        )
        said.append(
            f"{name}, block {numbers}: the reset came to an age ratio of {ratios}, not below {RESET_RATIO}"
        )
    return said


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


def comparison(found: Sequence[Group]) -> list[str]:
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
        lines += [
            "",
            *(one.text for one in verdict_sentences(group)),
            *winner_sentences(group.search, group.rows),
            *lacking(group),
        ]
    return [*lines, ""]


def _cells(figures: dict[str, float | None]) -> list[str]:
    cells: list[str] = []
    for _, name, form in COLUMNS:
        value = figures.get(name)
        text = "-" if value is None else form.format(value * 1000.0 if name in _MILLI else value)
        cells.append(f"{text:>15}")
    return cells
