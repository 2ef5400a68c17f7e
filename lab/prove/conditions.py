"""What every part of the proof runs under, and the bench that provides it."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from lab.bench.sampler import Reading, Sampler
from lab.bench.statistics import summarise
from lab.servers.base import LabServerError, ServerSpec
from lab.servers.container import PLAIN_IMAGE, MySQLContainer
from lab.workloads.sysbench import Load, SysbenchRun, prepare

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

WRITE_IOPS = 1200
DEFAULT_PAIR = (10_000, 20_000)
LOAD = Load()
THIRD_LEAST = 5
NEAR_PAIR = (250, 500)
"""Near what the load needs, so that a daemon soon sees the flush law at work."""

LIFT_CAPACITY = 300
LIFT_RATIO = 0.2
LIFT_SECONDS = 60.0
SPEC = ServerSpec(io_capacity=DEFAULT_PAIR[0], io_capacity_max=DEFAULT_PAIR[1])


class Bench:
    """One server under the proof's conditions with its load at work and a sampler watching."""

    def __init__(
        self, image: str = PLAIN_IMAGE, spec: ServerSpec = SPEC, *, load_arguments: tuple[str, ...] = ()
    ) -> None:
        """Prepare, without starting anything.

        Args:
            image: container image of the server.
            spec: how mysqld is started.
            load_arguments: further sysbench arguments.
        """
        self.server = MySQLContainer(image, spec)
        self._load_arguments = load_arguments
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            say("starting the server")
            stack.enter_context(self.server)
            self.version = str(self.server.query("SELECT VERSION()")[0][0])
            say(f"MySQL {self.version}; filling {LOAD.tables} tables of {LOAD.rows} rows")
            self.server.set_capacity(*DEFAULT_PAIR)  # whatever it starts with, it is filled fast
            prepare(self.server, LOAD)
            refusal = self.server.limit_write_iops(WRITE_IOPS)
            if refusal is not None:
                raise LabServerError(refusal)
            self.sampler = stack.enter_context(Sampler(self.server))
            self.load = SysbenchRun(self.server, LOAD, *self._load_arguments)
            stack.callback(self.stop_load)
            self.load.start()
            self.load.wait_seconds(3, 30.0)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def start_load(self, rate: int = 0) -> None:
        """Put another load in the place of the one at work.

        Args:
            rate: transactions offered per second; 0 is as many as possible.
        """
        self.stop_load()
        self.load = SysbenchRun(self.server, replace(LOAD, rate=rate), *self._load_arguments)
        self.load.start()
        self.load.wait_seconds(3, 30.0)

    def stop_load(self) -> None:
        """End the load; safe to call twice."""
        self.load.stop()

    def conditions(self) -> dict[str, Any]:
        """Return the conditions, for the record."""
        return {
            "server": f"MySQL {self.version}",
            "write_iops": WRITE_IOPS,
            "redo_capacity": self.server.spec.redo_capacity,
            "buffer_pool": self.server.spec.buffer_pool,
            "load": LOAD.script,
            "threads": LOAD.threads,
            "tables": LOAD.tables,
            "rows": LOAD.rows,
            "rand_type": "uniform",
            "processors": os.cpu_count(),
        }

    def watch(self, seconds: float, check: Callable[[], None] | None = None) -> None:
        """Let so many seconds pass, calling ``check`` about once a second.

        Raises:
            LabServerError: server or load ended meanwhile.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self.load.running():
                raise LabServerError(f"the load ended:\n{self.load.output()}\n{self.server.log()}")
            if check is not None:
                check()
            time.sleep(min(left, 1.0))  # the measured time itself is what is waited for

    def settle(self, least: float, most: float) -> tuple[float, bool]:
        """Wait until the age stops drifting.

        Returns:
            Seconds waited, and whether it did stop.
        """
        began = time.monotonic()
        self.watch(least)
        while not settled(self.sampler.readings(since=time.monotonic() - 45.0)):
            if time.monotonic() - began >= most:
                return time.monotonic() - began, False
            self.watch(2.0)
        return time.monotonic() - began, True

    def count(self, seconds: float) -> dict[str, float | int]:
        """Count for so many seconds and return the window's summary."""
        began = time.monotonic()
        self.watch(seconds)
        return self.window(began, time.monotonic())

    def window(self, since: float, until: float) -> dict[str, float | int]:
        """Return the summary of a window that has passed, monotonic seconds."""
        commits = [second.commits for second in self.load.seconds(since, until)]
        return summarise(commits, self.sampler.readings(since, until))


def lift(bench: Bench, pair: tuple[int, int] = DEFAULT_PAIR) -> None:
    """Bring the age off the low-water mark that a bulk load leaves it under, then set C and M to a pair.

    Below that mark the server says nothing of its flush law, and the daemon would wait for minutes.
    """
    bench.server.set_capacity(LIFT_CAPACITY // 2, LIFT_CAPACITY)
    end = time.monotonic() + LIFT_SECONDS
    while time.monotonic() < end:
        bench.watch(1.0)
        recent = bench.sampler.readings(since=time.monotonic() - 3.0)
        if recent and recent[-1].age_ratio >= LIFT_RATIO:
            break
    bench.server.set_capacity(*pair)


def settled(readings: list[Reading], drift: float = 0.015) -> bool:
    """Return whether the mean age ratios of three successive thirds differ by no more than ``drift``."""
    third = len(readings) // 3
    if third < THIRD_LEAST:
        return False
    means = [sum(one.age_ratio for one in readings[at : at + third]) / third for at in (0, third, 2 * third)]
    return max(means) - min(means) <= drift


def say(text: str) -> None:
    """Print one progress line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
