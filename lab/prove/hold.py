"""Ours alone: settle, then 50 minutes counted."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from lab.bench.daemon import Daemon
from lab.prove.conditions import Bench, lift, say
from lab.servers.base import LabServerError
from tuner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.bench.ledger import Ledger

SETTLE = (120.0, 420.0)
COUNTED = 50 * 60.0
PROGRESS = 300.0
BAND = 0.05


def inside(ratios: Sequence[float], middle: float, band: float = BAND) -> float:
    """Return the share of readings within ``band`` of ``middle``."""
    return sum(1 for one in ratios if abs(one - middle) <= band) / len(ratios)


def run(ledger: Ledger, image: str) -> None:
    """Carry the hold out unless it is finished; it cannot be resumed in the middle."""
    if ledger.find(part="hold") is not None:
        say("hold: finished before")
        return
    with Bench(image) as bench:
        lift(bench)
        _hold(bench, ledger)


def _hold(bench: Bench, ledger: Ledger) -> None:
    with Daemon(bench.server) as daemon:
        say(f"ours from the default setting; settling for up to {SETTLE[1] / 60:.0f} min")
        waited, steady = bench.settle(*SETTLE)
        daemon.check()
        began = time.monotonic()
        if bench.window(began - waited, began)["knob_changes"] == 0:
            raise LabServerError(f"ours changed nothing while settling:\n{daemon.log()}")
        while (left := COUNTED - (time.monotonic() - began)) > 0:
            bench.watch(min(left, PROGRESS), daemon.check)
            so_far = bench.window(began, time.monotonic())
            say(
                f"{so_far['commits_mean']}/s, x {so_far['age_ratio_mean']}, changes {so_far['knob_changes']},"
                f" sync {so_far['sync_pages']}; {max(0.0, left - PROGRESS) / 60:.0f} min left"
            )
        ended = time.monotonic()
        ratios = [one.age_ratio for one in bench.sampler.readings(began, ended)]
        mean = statistics.fmean(ratios)
        ledger.add(
            {
                "part": "hold",
                "settle_seconds": round(waited, 1),
                "settled": steady,
                **bench.window(began, ended),
                "share_within_band": round(inside(ratios, mean), 4),
                "band": BAND,
                "checkpoint_cap": Settings().max_checkpoint_age_ratio,
                "ratios": [round(one, 3) for one in ratios],
                "missed_readings": len(bench.sampler.missed()),
                "daemon_resident_bytes": daemon.resident(),
                "conditions": bench.conditions(),
                "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            }
        )
