"""Coarse-to-fine search for the best static M, C = M/2."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from lab.prove.conditions import Bench, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.prove.ledger import Ledger

COARSE = (360, 400, 440, 480, 520, 560)
FINE_STEP = 10
SETTLE = (90.0, 120.0)
COUNTED = 120.0
WARM_UP = (60.0, 120.0)
ALARM_CAP = 0.78
BUDGET = 44 * 60.0
RESET = (
    "one server throughout; each row starts from where the row before left the age and waits until the "
    "45-second means of the age ratio stop drifting (at most 0.015), 90 to 120 s"
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
    seed = int(ledger.rows[0]["seed"]) if ledger.rows else random.SystemRandom().randrange(10_000)
    order = list(COARSE)
    random.Random(seed).shuffle(order)  # noqa: S311 - the order of rows is no secret, and must be repeatable
    say(f"search: coarse {order} (seed {seed}), then steps of {FINE_STEP} beside the winner")
    began = time.monotonic()
    per_row = SETTLE[1] + COUNTED + 5
    with Bench(image) as bench:
        _warm_up(bench, order[0])
        for value in order:
            if ledger.find(io_capacity_max=value) is None:
                _row(bench, ledger, value, seed=seed, stage="coarse", began=began)
        while time.monotonic() - began + per_row <= BUDGET:
            following = refine(ledger.rows)
            if following is None:
                break
            _row(bench, ledger, following, seed=seed, stage="fine", began=began)
    for name, accept in (("capped", capped), ("without cap", steady), ("without any constraint", anything)):
        row = best(ledger.rows, accept)
        say(
            f"best static {name}: "
            + (f"M={row['io_capacity_max']}, {row['commits_mean']}/s" if row else "none")
        )


def _warm_up(bench: Bench, first: int) -> None:
    """Bring the age up from the default's before the first row counts."""
    bench.server.set_capacity(first // 2, first)
    say(f"warm-up at {first // 2}/{first}")
    bench.settle(*WARM_UP)


def _row(bench: Bench, ledger: Ledger, value: int, *, seed: int, stage: str, began: float) -> None:
    bench.server.set_capacity(value // 2, value)
    waited, steady_age = bench.settle(*SETTLE)
    row: Row = {
        "part": "search",
        "stage": stage,
        "seed": seed,
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
