"""Crash recovery predicted and measured: mysqld killed at various ages, with cold and warm caches."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.bench.daemon import Daemon
from lab.prove.conditions import Bench, lift, say
from lab.servers.base import LabServerError, ServerSpec
from lab.servers.timing import drop_caches, initialisation
from tuner.core.recovery import Recovery
from tuner.journal.reader import trace
from tuner.records import Sample, TickRecord

if TYPE_CHECKING:
    from pathlib import Path

    from lab.bench.ledger import Ledger

AGES = (0.25, 0.5, 0.8, 0.9)
ROUNDS = 3
LOW_PAIR = (110, 220)
"""What mysqld starts with: the age rises as fast as the load writes until ours takes over."""

VERBOSE = "--log-error-verbosity=3"
"""InnoDB says only then that it recovered, where there is no binary log."""

CHECKPOINT_CAP = 0.84
NEAR = 0.04
REACH_LIMIT = 180.0
TRIAL_LIMIT = 40.0
STEADY_READINGS = 15
JOURNAL_SECONDS = 7.0
TICKS_AFTER = 60.0
BUDGET = 58 * 60.0
RUN_SECONDS = 260.0
PROMISED = 0.3

Row = dict[str, Any]


class Kill(NamedTuple):
    """One kill: number from 1, the age ratio wanted, and whether caches are dropped before the start."""

    number: int
    ratio: float
    cold: bool


def plan(*, trial: bool = False) -> list[Kill]:
    """Return the kills in order: every age in turn, cold and warm alternately."""
    if trial:
        return [Kill(1, AGES[0], cold=True), Kill(2, AGES[1], cold=False)]
    order = [(ratio, (turn + place) % 2 == 0) for turn in range(ROUNDS) for place, ratio in enumerate(AGES)]
    return [Kill(number, ratio, cold) for number, (ratio, cold) in enumerate(order, 1)]


def run(ledger: Ledger, image: str, *, trial: bool = False) -> None:
    """Carry the kills out; finished ones are skipped, and what was learned from them is learned anew.

    Args:
        ledger: finished rows.
        image: container image of the server.
        trial: two kills with shorter waits, only to see that it works.

    Raises:
        LabServerError: server, load or daemon could not be had, or the hour is up.
    """
    todo = [
        kill
        for kill in plan(trial=trial)
        if ledger.find(part="recovery", number=kill.number, trial=trial) is None
    ]
    if not todo:
        say("recovery: finished before")
        return
    began = time.monotonic()
    spec = ServerSpec(io_capacity=LOW_PAIR[0], io_capacity_max=LOW_PAIR[1], extra=(VERBOSE,))
    with Bench(image, spec) as bench:
        lift(bench, LOW_PAIR)
        with Daemon(
            bench.server, api=True, set_point=todo[0].ratio, max_checkpoint_age_ratio=CHECKPOINT_CAP
        ) as daemon:
            _await_taken_in(daemon)  # a signal before the daemon listens would end it
            for kill in todo:
                if time.monotonic() - began + RUN_SECONDS > BUDGET:
                    raise LabServerError("the hour is up; go on with --resume")
                row = _kill(bench, daemon, kill, TRIAL_LIMIT if trial else REACH_LIMIT)
                ledger.add(
                    {
                        "part": "recovery",
                        **row,
                        "learned_from": kill.number - todo[0].number,
                        "trial": trial,
                        "conditions": bench.conditions(),
                        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
                    }
                )
                say(_line(row))


def _kill(bench: Bench, daemon: Daemon, kill: Kill, limit: float) -> Row:
    daemon.configure(set_point=kill.ratio)
    daemon.signal(signal.SIGHUP)
    reached = _reach(bench, daemon, kill.ratio, limit)
    killed = time.time()
    bench.server.kill()
    bench.stop_load()
    dropped = drop_caches(bench.server.data_directory()) if kill.cold else 0
    time.sleep(JOURNAL_SECONDS)  # until the last ticks are on the daemon's disk
    last = last_reading(daemon.state, killed)
    began = time.monotonic()
    bench.server.start()
    bench.server.wait_ready()
    answered = time.monotonic() - began
    measured = initialisation(bench.server)
    bench.start_load()
    _await_taken_in(daemon)
    return {
        "number": kill.number,
        "wanted_ratio": kill.ratio,
        "reached": reached,
        "cold": kill.cold,
        "files_dropped": dropped,
        **last,
        "measured": round(measured, 6),
        "first_query": round(answered, 2),
        "error_prior": error(last["prior"], measured),
        "error_learned": error(last["learned"], measured),
    }


def _reach(bench: Bench, daemon: Daemon, ratio: float, limit: float) -> bool:
    """Wait until the last readings are all near an age ratio; tell whether they came there in time."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        bench.watch(1.0, daemon.check)
        recent = bench.sampler.readings(since=time.monotonic() - STEADY_READINGS - 1.0)
        if len(recent) >= STEADY_READINGS - 1 and all(abs(one.age_ratio - ratio) <= NEAR for one in recent):
            return True
    return False


def _await_taken_in(daemon: Daemon) -> None:
    """Wait until the daemon has had readings for a while, so that it has read the server's facts."""
    end = time.monotonic() + TICKS_AFTER
    good = 0
    while good < STEADY_READINGS and time.monotonic() < end:
        daemon.check()
        status = daemon.ask()
        good = good + 1 if status is not None and not status["missed"] else 0
        time.sleep(1.0)  # one look a tick


def last_reading(state: Path, until: float) -> Row:
    """Return age, dirty pages and predictions at the last good reading before a moment.

    Args:
        state: the daemon's state directory.
        until: the moment, Unix time.

    Raises:
        LabServerError: the journal has none.
    """
    last: tuple[Sample, TickRecord] | None = None
    for item in trace(state):
        if isinstance(item, TickRecord) and isinstance(item.tick.reading, Sample):
            if item.tick.reading.wall > until:
                break
            if item.estimate is not None:
                last = (item.tick.reading, item)
    if last is None:
        raise LabServerError(f"the journal in {state} has no reading before the kill")
    sample, record = last
    return {
        "age_ratio": round(sample.age_ratio, 4),
        "checkpoint_age": sample.checkpoint_age,
        "pages_dirty": sample.pages_dirty,
        "io_capacity_max": sample.io_capacity_max,
        "seconds_before_kill": round(until - sample.wall, 2),
        **predictions(sample, record),
    }


def predictions(sample: Sample, record: TickRecord) -> Row:
    """Return what crash recovery should take, by the prior alone and with what the loop has learned."""
    learned = None if record.estimate is None else round(record.estimate.recovery_seconds, 3)
    return {"prior": round(Recovery().recovery_seconds(sample), 3), "learned": learned}


def error(predicted: float | None, measured: float) -> float | None:
    """Return the prediction's relative error, positive where it was too long; None without a prediction."""
    return None if predicted is None else round(predicted / measured - 1.0, 4)


def _line(row: Row) -> str:
    learned = "unknown" if row["learned"] is None else f"{row['learned']:.2f} s"
    return (
        f"kill {row['number']}: x {row['age_ratio']}, {row['pages_dirty']} dirty,"
        f" {'cold' if row['cold'] else 'warm'}: {row['measured']:.2f} s to InnoDB,"
        f" {row['first_query']:.2f} s to the first answer; predicted {learned}"
    )
