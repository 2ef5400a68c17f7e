"""A parked server without its daemon, under a load half as high again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.bench.daemon import Daemon
from lab.prove.conditions import Bench, near_bench, row_of, say
from lab.servers.base import LabServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.bench.ledger import Ledger

SET_POINT = 0.9
CHECKPOINT_CAP = 0.82
"""The default cap keeps the set-point a little under 0.9."""

SHARE = 0.6
NEAR = 0.04
NEAR_SECONDS = 30.0
GROWTH = 1.5
PROGRESS = 300.0

Row = dict[str, Any]


class Times(NamedTuple):
    """How long each phase takes at most, seconds: settle (least, most), counted, surge."""

    settle: tuple[float, float]
    counted: float
    surge: float


LONG = Times(settle=(120.0, 480.0), counted=120.0, surge=30 * 60.0)
TRIAL = Times(settle=(15.0, 45.0), counted=10.0, surge=40.0)


def run(ledger: Ledger, image: str, *, trial: bool = False) -> None:
    """Carry the surge out unless it is finished; it cannot be resumed in the middle.

    Args:
        ledger: finished rows.
        image: container image of the server.
        trial: shorten every wait, only to see that it works.

    Raises:
        LabServerError: server, load or daemon could not be had.
    """
    if ledger.find(part="surge", phase="surge", trial=trial) is not None:
        say("surge: finished before")
        return
    times = TRIAL if trial else LONG
    with (
        near_bench(image) as bench,
        Daemon(
            bench.server, api=True, set_point=SET_POINT, max_checkpoint_age_ratio=CHECKPOINT_CAP
        ) as daemon,
    ):
        for phase in _phases(bench, daemon, times):
            found = {**phase, "set_point": SET_POINT, "checkpoint_cap": CHECKPOINT_CAP}
            ledger.add(row_of("surge", bench, found, trial=trial))


def _phases(bench: Bench, daemon: Daemon, times: Times) -> Iterator[Row]:
    say(f"closed load, ours at {SET_POINT}; settling for up to {times.settle[1] / 60:.0f} min")
    waited, steady = _reach(bench, times.settle)
    daemon.check()
    closed: Row = {"phase": "closed", "reached": steady, "settle_seconds": round(waited, 1), "offered": None}
    closed |= _counted(bench, times.counted)
    yield closed
    offered = round(SHARE * float(closed["commits_mean"]))
    say(f"{closed['commits_mean']}/s sustained; offering {offered}/s, settling again")
    bench.start_load(offered)
    waited, steady = _reach(bench, times.settle)
    daemon.check()
    held: Row = {"phase": "held", "reached": steady, "settle_seconds": round(waited, 1), "offered": offered}
    held |= _counted(bench, times.counted)
    yield held
    left = _park_and_kill(bench, daemon)
    more = round(offered * GROWTH)
    say(f"x {held['age_ratio_mean']}; parked at {left} and killed; offering {more}/s")
    bench.start_load(more)
    yield {"phase": "surge", "left": left, "offered": more, **_counted(bench, times.surge)}


def _reach(bench: Bench, wait: tuple[float, float]) -> tuple[float, bool]:
    """Wait until the age ratio has been near the set-point for a while.

    Returns:
        Seconds waited, and whether it came there in time.
    """
    least, most = wait
    began = time.monotonic()
    bench.watch(least)
    while True:
        recent = [one.age_ratio for one in bench.sampler.readings(since=time.monotonic() - NEAR_SECONDS)]
        waited = time.monotonic() - began
        if recent and all(abs(one - SET_POINT) <= NEAR for one in recent):
            return waited, True
        if waited >= most:
            return waited, False
        bench.watch(2.0)


def _park_and_kill(bench: Bench, daemon: Daemon) -> str:
    """Park over the command line, kill the daemon, and return the pair left behind."""
    done = daemon.command("park", "--wait", "--reason", "surge")
    if done.returncode != 0:
        raise LabServerError(f"innobrim park ended with {done.returncode}: {done.stdout}{done.stderr}")
    daemon.kill()
    row = bench.server.query("SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")[0]
    return f"{row[0]}/{row[1]}"


def _counted(bench: Bench, seconds: float) -> Row:
    """Count for so many seconds; a load that gives up is a result, and ends the count."""
    began = time.monotonic()
    gave_up = ""
    while not gave_up and (left := seconds - (time.monotonic() - began)) > 0:
        try:
            bench.watch(min(left, PROGRESS))
        except LabServerError:
            if not bench.server.alive():
                raise
            gave_up = bench.load.output()
        so_far = bench.window(began, time.monotonic())
        say(
            f"{so_far['commits_mean']}/s served, x at most {so_far['age_ratio_max']}, sync"
            f" {so_far['sync_pages']}, stalls {so_far['stall_waits']}; {max(0.0, left - PROGRESS) / 60:.0f}"
            " min left"
        )
    ended = time.monotonic()
    return {
        **bench.window(began, ended),
        "longest_queue": bench.load.longest_queue(began, ended),
        "missed_readings": len(bench.sampler.missed()),
        "load_ended": gave_up,
    }
