"""The table of ``innobrim redo`` for people."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.findings.combining import Figure
from tuner.findings.devicewrites import DeviceWrites
from tuner.findings.redo_size import enough_text, percent
from tuner.findings.sizing import FACTORS, Size, Sizing
from tuner.records import Capacity, Facts
from tuner.system.amounts import duration, share, size

COLUMNS = (
    *(("size", 9), ("holds", 9), ("pages/row change", 25), ("page writes saved", 23)),
    *(("device writes saved", 23), ("commits/s gained", 20), ("recovery", 10), ("shutdown", 10)),
)
"""Heading and width; the size is the disk space as well."""

LITTLE = 0.1
"""A smaller share is not worth a line."""


def table(found: Sizing, capacity: Capacity, facts: Facts) -> list[str]:
    """Return the table and what it was worked out from, line by line.

    Args:
        found: the table.
        capacity: C and M in force.
        facts: of the server.
    """
    pages = "" if found.pages_per_row is None else f", {found.pages_per_row:.3f} pages written per row change"
    return [
        f"{facts.product}, redo log of {size(found.redo_capacity)}, watched for {found.seconds} s",
        f"age {share(found.age_ratio)} of the flush limit{pages}, {found.commit_rate:.0f} commits/s",
        *_device(found),
        "",
        "".join(name.rjust(width) for name, width in COLUMNS),
        *(_row(one) for one in found.sizes),
        "",
        *_remarks(found, capacity),
    ]


def _device(found: Sizing) -> list[str]:
    lines = []
    if found.pages_share is None:
        lines.append(
            "what share of the device's work page writes are is not known: no commit was seen to wait"
        )
    elif found.device_is_limit:
        by = "the commits that they cost"
        if found.pages_share_from == "both":
            by += " and what is written of each file, which differ"
        lines.append(
            f"page writes take {found.pages_share:.0%} of the device, by {by}: the device is the limit"
        )
    else:
        lines.append(
            f"page writes are about {found.pages_share:.0%} of the device's writes, by what is written and "
            "synced of each file; no commit was seen to wait for them"
        )
    return [*lines, *_binary_log(found.writes)]


def _binary_log(writes: DeviceWrites | None) -> list[str]:
    if writes is None or not writes.logs_binary:
        return []
    synced = f"sync_binlog = {writes.sync_binlog}"
    if writes.pages is None or writes.binary_log is None:
        return [f"binary log ({synced}): its writes are not counted; they make less of what pages are"]
    parts = (writes.pages, writes.redo.likeliest, writes.binary_log.likeliest)
    pages, redo, binary = (f"{one / max(1.0, sum(parts)):.0%}" for one in parts)
    said = f"{pages} pages, {redo} redo log, {binary} binary log ({synced})"
    return [f"the device's writes: about {said}; a larger redo log saves those of pages alone"]


def _row(one: Size) -> str:
    cells = (
        size(one.redo_capacity),
        duration(one.holds_seconds),
        "" if one.pages_per_row is None else _figure(one.pages_per_row),
        percent(one.page_writes_saved),
        _share(one.device_writes_saved),
        _share(one.commits_gained),
        f"{one.recovery_seconds:.0f} s",
        f"{one.shutdown_seconds:.0f} s",
    )
    return "".join(cell.rjust(width) for cell, (_, width) in zip(cells, COLUMNS, strict=True))


def _figure(figure: Figure) -> str:
    return f"{figure.likeliest:.3f} ({figure.low:.3f} to {figure.high:.3f})"


def _share(figure: Figure | None) -> str:
    return "?" if figure is None else percent(figure)


def _remarks(found: Sizing, capacity: Capacity) -> list[str]:
    follows = "" if found.as_set is None else ", with an innodb_io_capacity_max that follows the load"
    lines = [
        f"each for the same work{follows}; in brackets the range for nine cases of ten",
        "holds: time in which the busiest minute's redo rate fills the log",
        "recovery and shutdown: likely times from the age that is held then",
    ]
    if found.as_set is not None:
        lines.append(
            f"the row of {size(found.redo_capacity)} is today's log: it shows what the value that "
            "follows the load saves alone"
        )
    bound = next((one for one in found.sizes if one.bound_by), None)
    if bound is not None:
        lines.append(f"from {size(bound.redo_capacity)} on the age is held lower: {bound.bound_by}")
    lines.append(
        f"even {size(found.sizes[-1].redo_capacity)} is not where more gains nothing"
        if found.knee is None
        else f"beyond {size(found.knee)} more gains {_little(found)}: {enough_text(found)}"
    )
    if found.as_set is not None:
        lines.append(
            f"a log {FACTORS[-1]:.0f} times as large, with the values left at {capacity}, saves "
            f"{found.as_set:.0%} of the page writes"
        )
    lines.append(f"sure: {_sure(found.sizes)}")
    if found.ages_seen <= 1:
        lines.append("only one age was seen, so the ranges are wide")
    if found.lru_share > LITTLE:
        lines.append(
            f"{found.lru_share:.0%} of the page writes free pages in the buffer pool, whatever the log"
        )
    return lines


def _little(found: Sizing) -> str:
    return "little" if found.knee_by == "hour" else "nothing"


def _sure(sizes: Sequence[Size]) -> str:
    """Return how sure the figures are; ``advise`` says the same of the log of today."""
    today, largest = sizes[FACTORS.index(1.0)].sure, sizes[-1].sure
    return today if today == largest else f"{today} for the log of today, {largest} for the largest"
