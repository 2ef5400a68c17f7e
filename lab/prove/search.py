"""Coarse-to-fine search for the best static M, C = M/2."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lab.bench.statics import between
from lab.prove.conditions import Bench, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.bench.ledger import Ledger

COARSE = (380, 400, 420, 440)
FINE_STEP = 10
SETTLE = (60.0, 90.0)
COUNTED = 90.0
WARM_UP = 240.0
WARM_UP_CAPACITY = 340
APPROACH = 60.0
NEAR = 0.02
ALARM_CAP = 0.78
BUDGET = 24 * 60.0
RESET = (
    "one server throughout; rows in ascending order of M, coarse ones first, so that the age has little way"
    " to go; a fine row first takes M 40 % lower or higher until the age ratio comes within 0.02 of what its"
    " neighbours promise, at most 60 s; every row then waits until the 15-second means of the age ratio"
    " differ by at most 0.015 over 45 s, 60 to 90 s"
)

Row = dict[str, Any]


def steady(row: Row) -> bool:
    """Return whether a row had no sync-flushed page and a p1 of at least half the median."""
    return bool(row["sync_pages"] == 0 and row["commits_p1"] >= 0.5 * row["commits_median"])


def capped(row: Row) -> bool:
    """Return whether a row is steady and its peak checkpoint age stayed inside the alarm cap."""
    return steady(row) and bool(row["checkpoint_ratio_max"] <= ALARM_CAP)


def anything(row: Row) -> bool:
    """Return True: no constraint."""
    return row is not None


def best(rows: Sequence[Row], accept: Callable[[Row], bool] = capped) -> Row | None:
    """Return the acceptable row with the highest mean throughput, None when none is acceptable."""
    return max(filter(accept, rows), key=lambda row: float(row["commits_mean"]), default=None)


def refine(rows: Sequence[Row]) -> int | None:
    """Return the next M to try: untried steps beside the winner; None when all of them are known.

    Without an acceptable row the search moves up, where ages are lower.
    """
    if not rows:
        return None
    winner = best(rows)
    if winner is None:
        return max(int(row["io_capacity_max"]) for row in rows) + 4 * FINE_STEP
    tried = {int(row["io_capacity_max"]) for row in rows}
    middle = int(winner["io_capacity_max"])
    for distance in (2, 1, 3):
        for candidate in (middle - distance * FINE_STEP, middle + distance * FINE_STEP):
            if candidate not in tried:
                return candidate
    return None


def run(ledger: Ledger, image: str) -> None:
    """Carry the search out; finished rows are skipped."""
    say(f"search: coarse {list(COARSE)}, then steps of {FINE_STEP} beside the winner")
    began = time.monotonic()
    per_row = APPROACH + SETTLE[1] + COUNTED
    with Bench(image) as bench:
        _warm_up(bench)
        for value in COARSE:
            if ledger.find(io_capacity_max=value) is None:
                _row(bench, ledger, value, stage="coarse", began=began)
        while time.monotonic() - began + per_row <= BUDGET:
            following = refine(ledger.rows)
            if following is None:
                break
            _approach(bench, following, expected_ratio(ledger.rows, following))
            _row(bench, ledger, following, stage="fine", began=began)
    for name, accept in (("capped", capped), ("without cap", steady), ("without any constraint", anything)):
        row = best(ledger.rows, accept)
        say(
            f"best static {name}: "
            + (f"M={row['io_capacity_max']}, {row['commits_mean']}/s" if row else "none")
        )


def expected_ratio(rows: Sequence[Row], value: int) -> float | None:
    """Return the mean age ratio between the nearest known rows on both sides; None at an edge."""
    return between({int(row["io_capacity_max"]): row["age_ratio_mean"] for row in rows}, value)


def _ratio(bench: Bench) -> float:
    """Return the mean age ratio of the last five seconds."""
    recent = bench.sampler.readings(since=time.monotonic() - 5.0)
    return sum(one.age_ratio for one in recent) / max(1, len(recent))


def _warm_up(bench: Bench) -> None:
    """Bring the age up from the default's before the first row counts."""
    bench.server.set_capacity(WARM_UP_CAPACITY // 2, WARM_UP_CAPACITY)
    say(f"warm-up at {WARM_UP_CAPACITY // 2}/{WARM_UP_CAPACITY}")
    end = time.monotonic() + WARM_UP
    while _ratio(bench) < 1.0 - NEAR and time.monotonic() < end:
        bench.watch(1.0)


def _approach(bench: Bench, value: int, expected: float | None) -> None:
    """Bring the age near a row's own before it settles."""
    if expected is None:
        return
    began = time.monotonic()
    rising = _ratio(bench) < expected
    helper = int(value * (0.6 if rising else 1.4))
    while time.monotonic() - began < APPROACH and abs(_ratio(bench) - expected) > NEAR:
        if rising != (_ratio(bench) < expected):
            return
        bench.server.set_capacity(helper // 2, helper // 2 * 2)
        bench.watch(1.0)


def _row(bench: Bench, ledger: Ledger, value: int, *, stage: str, began: float) -> None:
    bench.server.set_capacity(value // 2, value)
    waited, steady_age = bench.settle(*SETTLE)
    row: Row = {
        "part": "search",
        "stage": stage,
        "io_capacity": value // 2,
        "io_capacity_max": value,
        "settle_seconds": round(waited, 1),
        "settled": steady_age,
        **bench.count(COUNTED),
        "reset": RESET,
        "conditions": bench.conditions(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    ledger.add(row)
    left = max(0.0, BUDGET - (time.monotonic() - began)) / 60
    say(
        f"M={value}: {row['commits_mean']}/s, p1 {row['commits_p1']}, x {row['age_ratio_mean']}"
        f" (max {row['age_ratio_max']}), checkpoint age max {row['checkpoint_ratio_max']},"
        f" sync {row['sync_pages']}, idle {row['machine_idle']}; at most {left:.0f} min left"
    )
