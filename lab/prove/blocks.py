"""Three blocks of default, best static and ours, the order within each drawn anew."""

from __future__ import annotations

import contextlib
import random
import time
from typing import TYPE_CHECKING, Any

from lab.bench.daemon import Daemon
from lab.prove.conditions import DEFAULT_PAIR, Bench, say
from lab.servers.base import LabServerError

if TYPE_CHECKING:
    from lab.bench.ledger import Ledger

CONTENDERS = ("default", "best static", "ours")
BLOCKS = 3
SECONDS = 360.0
COUNTED = 240.0
RESET_SECONDS = 25.0
RESET_RATIO = 0.25
BUDGET = 60.0 * 60.0
WARM_SECONDS = 75.0
WARM_RATIO = 0.8
RESET = (
    f"before best static M goes to half of it until the age ratio is {WARM_RATIO}, at most"
    f" {WARM_SECONDS:.0f} s, which spares it its slow settling; before the others C/M go to"
    f" {DEFAULT_PAIR[0]}/{DEFAULT_PAIR[1]} under load until the age"
    f" ratio is below {RESET_RATIO}, at most {RESET_SECONDS:.0f} s"
)


def plan(seed: int) -> list[tuple[int, str]]:
    """Return every block and contender in the order that a seed gives."""
    dice = random.Random(seed)  # noqa: S311 - an order that must be repeatable is no secret
    order: list[tuple[int, str]] = []
    for block in range(1, BLOCKS + 1):
        order += [(block, contender) for contender in dice.sample(CONTENDERS, len(CONTENDERS))]
    return order


def run(ledger: Ledger, image: str, best_static: int) -> None:
    """Carry the blocks out; finished rows are skipped.

    Args:
        ledger: finished rows.
        image: container image of the server.
        best_static: M that the search found, pages/s.
    """
    if ledger.rows:
        seed = int(ledger.rows[0]["seed"])
        best_static = int(ledger.rows[0]["best_static"])
    else:
        seed = random.SystemRandom().randrange(10_000)
    order = plan(seed)
    say(f"blocks, seed {seed}: {', '.join(f'{block}:{contender}' for block, contender in order)}")
    began = time.monotonic()
    with Bench(image) as bench:
        for done, (block, contender) in enumerate(order):
            if ledger.find(block=block, contender=contender) is not None:
                continue
            if time.monotonic() - began + SECONDS + RESET_SECONDS > BUDGET:
                raise LabServerError("the hour is up; go on with --resume")
            row = _row(bench, contender, best_static)
            ledger.add({"part": "blocks", "seed": seed, "block": block, "contender": contender, **row})
            left = (len(order) - done - 1) * (SECONDS + RESET_SECONDS) / 60
            say(
                f"block {block} {contender}: {row['commits_mean']}/s, p1 {row['commits_p1']},"
                f" x {row['age_ratio_mean']}, sync {row['sync_pages']}, changes {row['knob_changes']};"
                f" {left:.0f} min left"
            )


def _row(bench: Bench, contender: str, best_static: int) -> dict[str, Any]:
    if contender == "best static":
        _warm(bench, best_static)
    else:
        _reset(bench)
    with contextlib.ExitStack() as stack:
        daemon = stack.enter_context(Daemon(bench.server)) if contender == "ours" else None
        if contender == "best static":
            bench.server.set_capacity(best_static // 2, best_static)
        began = time.monotonic()
        bench.watch(SECONDS, daemon.check if daemon else None)
        ended = time.monotonic()
        resident = daemon.resident() if daemon else None
        if daemon and bench.window(began, ended)["knob_changes"] == 0:
            raise LabServerError(f"ours changed nothing in {SECONDS:.0f} s:\n{daemon.log()}")
    counted_from = ended - COUNTED
    settling = bench.window(began, counted_from)
    return {
        "best_static": best_static,
        **bench.window(counted_from, ended),
        "commits": [second.commits for second in bench.load.seconds(counted_from, ended)],
        "changes_before": settling["knob_changes"],
        "sync_pages_before": settling["sync_pages"],
        "daemon_resident_bytes": resident,
        "daemon_stop_seconds": round(daemon.stop_seconds, 2) if daemon and daemon.stop_seconds else None,
        "reset": RESET,
        "conditions": bench.conditions(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def _warm(bench: Bench, best_static: int) -> None:
    """Bring the age near where the static setting settles, so that its slow settling costs it nothing."""
    end = time.monotonic() + WARM_SECONDS
    bench.server.set_capacity(best_static // 4, best_static // 2)
    while time.monotonic() < end:
        bench.watch(1.0)
        recent = bench.sampler.readings(since=time.monotonic() - 3.0)
        if recent and recent[-1].age_ratio >= WARM_RATIO:
            return


def _reset(bench: Bench) -> None:
    """Bring a contender to the default's state."""
    bench.server.set_capacity(*DEFAULT_PAIR)
    end = time.monotonic() + RESET_SECONDS
    while time.monotonic() < end:
        bench.watch(1.0)
        recent = bench.sampler.readings(since=time.monotonic() - 3.0)
        if recent and recent[-1].age_ratio < RESET_RATIO:
            return
