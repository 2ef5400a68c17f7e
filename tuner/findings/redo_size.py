"""Which size of the redo log to take, and how: what a table of sizes comes to."""

from __future__ import annotations

import math

from tuner.findings.combining import Figure
from tuner.findings.finding import Finding
from tuner.findings.sizing import Size, Sizing
from tuner.records import Facts
from tuner.settings import Settings
from tuner.system.amounts import MEBIBYTE, duration, size


def percent(figure: Figure) -> str:
    """Return shares for people: the likeliest, and between which it lies."""
    low, likeliest, high = (f"{100.0 * one:z.0f}" for one in (figure.low, figure.likeliest, figure.high))
    return f"{likeliest} % ({low} to {high})"


def redo_size(found: Sizing, facts: Facts, settings: Settings) -> Finding:
    """Return the size to take: the smallest beyond which nothing is gained, inside the recovery budget."""
    budget = settings.max_recovery_seconds or 0.0
    key = f"max_recovery_seconds = {budget:g}"
    wanted = found.knee or found.sizes[-1].redo_capacity
    enough = enough_text(found)
    fits = [
        one
        for one in found.sizes
        if found.redo_capacity < one.redo_capacity <= wanted
        and (not budget or one.recovery_seconds <= budget)
    ]
    if not fits:
        leaves = wanted <= found.redo_capacity
        return Finding(
            id="redo-size",
            severity="info",
            title=f"leave the redo log at {size(found.redo_capacity)}",
            reason=enough if leaves else f"{key} allows no larger one",
        )
    best = fits[-1]
    reason = "the largest that was looked at; more may save more"
    if best.redo_capacity < wanted:
        reason = f"the largest that {key} allows"
    elif best.redo_capacity == found.knee:
        reason = enough
    times = f"crash recovery {best.recovery_seconds:.0f} s, shutdown {best.shutdown_seconds:.0f} s"
    fix, sql = facts.larger_redo(best.redo_capacity)
    if sql:
        grows = f"innobrim redo --to {math.ceil(best.redo_capacity / MEBIBYTE)}M"
        fix = f"{grows}, which looks at the disk and can be undone; or {fix}"
    beside = "; both logs are there while MariaDB writes the new one" if facts.family == "mariadb" else ""
    return Finding(
        id="redo-size",
        severity="info",
        title=f"take a redo log of {size(best.redo_capacity)} instead of {size(found.redo_capacity)}",
        reason=reason,
        effect=f"{_effect(found, best)}; sure: {best.sure}",
        risk=f"{times}; {size(best.redo_capacity - found.redo_capacity)} more disk space{beside}",
        fix=fix,
        sql=sql,
    )


def enough_text(found: Sizing) -> str:
    """Return why no more than the size ``knee`` is worth it; empty where that is larger than all."""
    if found.knee is None:
        return ""
    if found.knee_by == "saving":
        return f"doubling {size(found.knee)} saves next to nothing"
    holds = next(one.holds_seconds for one in found.sizes if one.redo_capacity == found.knee)
    return (
        f"it holds {duration(holds)} of redo at the rate of the busiest minute seen; above an hour "
        "a larger log saves few page writes"
    )


def _effect(found: Sizing, best: Size) -> str:
    gained = best.commits_gained
    brings = f"{percent(best.page_writes_saved)} of the page writes saved"
    if gained is not None:
        brings += f", {percent(gained)} more commits/s where the device is the limit"
    if found.as_set is None:
        return brings
    brings += ", with an innodb_io_capacity_max that follows the load"
    today = next((one for one in found.sizes if one.redo_capacity == found.redo_capacity), None)
    if today is None:
        return brings
    more = "" if today.commits_gained is None else f" and {percent(today.commits_gained)}"
    return f"{brings}; today's log with such a value: {percent(today.page_writes_saved)}{more}"
