"""How far a bench is, and how long it still takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from lab.bench.plan import Plan, Suite

SEARCH_ROWS = 7
"""How many rows the search for the best static setting usually takes."""

START_SECONDS = 25.0
"""Starting a server, and letting it forget how it was filled."""

FILL_ROWS = 50_000.0
"""Rows that are filled in a second, about."""

HOURS_FROM = 90.0
"""Minutes from which on hours read better."""

BETWEEN_SECONDS = 10.0
CRASH_SECONDS = 60.0


def outline(suite: Suite, plans: Sequence[Plan], rows: Sequence[dict[str, Any]] = ()) -> list[str]:
    """Return what a suite would run of these plans, and for how long, in lines for people.

    Args:
        suite: its name and sentence are the first line.
        plans: what would be run.
        rows: what is finished of it.
    """
    left = Remaining(plans, rows)
    lines = [f"{suite.name}: {suite.about}".rstrip(": ")]
    for one in plans:
        crash = "; each row ended by a crash or a shutdown" if one.crash else ""
        blocks = f"{one.blocks} block{'s' if one.blocks > 1 else ''}"
        lines.append(
            f"  {one.variant or 'plan'}: {', '.join(one.contenders)}; {blocks}; {_disk(one)}; {_server(one)};"
            f" {_load(one)}; {one.counted_seconds():g} s counted{crash}; {in_words(left.plan_seconds(one))}"
        )
    return [*lines, f"takes {left.left()}"]


def _disk(plan: Plan) -> str:
    disk = plan.disk
    parts = [] if disk.write_iops is None else [f"{disk.write_iops} writes/s"]
    if disk.alternate_iops is not None:
        turns = f"in turns of {disk.alternate_seconds:g} s"
        parts = [f"{disk.write_iops} and {disk.alternate_iops} writes/s {turns}"]
    parts += [] if disk.write_mib is None else [f"{disk.write_mib} MiB/s"]
    return ", ".join(parts) or "no limit"


def _server(plan: Plan) -> str:
    server = plan.server
    further = "".join(f", {name} = {value}" for name, value in server.set.items())
    return f"redo {server.redo_capacity} MiB, buffer pool {server.buffer_pool} MiB{further}"


def _load(plan: Plan) -> str:
    asked = plan.load
    load = asked.load()  # a kind may have a number of threads of its own
    threads = f"{load.threads} thread{'s' if load.threads > 1 else ''}"
    offered = f", {load.rate} transactions/s offered" if load.rate else ""
    if asked.knee_share is not None:
        offered = f", {100 * asked.knee_share:g} % of what the default sustains offered"
    keys = "" if load.distribution == "uniform" else f" ({load.distribution})"
    return f"{asked.kind}{keys}, {threads}{offered}"


def in_words(seconds: float) -> str:
    """Return about how long so many seconds are, as people say it."""
    if not seconds:
        return "nothing"
    minutes = seconds / 60.0
    return f"about {minutes:.0f} min" if minutes < HOURS_FROM else f"about {minutes / 60.0:.1f} h"


class Remaining:
    """Counts rows; knows nothing that the rows do not know."""

    def __init__(self, plans: Sequence[Plan], rows: Sequence[dict[str, Any]]) -> None:
        """Take what is to be done, and the finished rows, a list that grows."""
        self._plans = plans
        self._finished = rows

    def begin_seconds(self, plan: Plan) -> float:
        """Return about how long it takes until a plan's first row can begin, seconds."""
        return START_SECONDS + plan.load.tables * plan.load.rows / FILL_ROWS

    def seconds(self) -> float:
        """Return about how long everything that is not finished takes."""
        return sum(self.plan_seconds(plan) for plan in self._plans)

    def left(self) -> str:
        """Return the same in words."""
        return in_words(self.seconds())

    def plan_seconds(self, plan: Plan) -> float:
        """Return about how long what is not finished of one plan takes."""
        rows = [row for row in self._finished if row["variant"] == plan.variant]
        out = sum(row["stage"] == "left out" for row in rows)
        done = sum(row["stage"] == "block" for row in rows)
        wanted = plan.blocks * (len(plan.contenders) - out) - done
        if wanted <= 0:
            return 0.0
        if "best-static" in plan.contenders and not done:
            wanted += max(1, SEARCH_ROWS - sum(row["stage"] == "search" for row in rows))
        if plan.load.knee_share is not None and not any(row["stage"] == "knee" for row in rows):
            wanted += 1
        timing = plan.timing
        settles = (timing.settle_least + timing.settle_most) / 2.0
        if timing.lifted is not UNSET:  # no such age is at rest before the most
            settles = timing.settle_most + timing.lifted
        one = timing.reset / 2.0 + settles + plan.counted_seconds() + BETWEEN_SECONDS
        one += CRASH_SECONDS * plan.crash
        return float(self.begin_seconds(plan) + wanted * one)
