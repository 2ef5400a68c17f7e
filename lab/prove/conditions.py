"""What every part of the proof runs under, and the bench that provides it."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any, Self

from lab.experiment.figures import Figures, figures
from lab.experiment.plan import DiskPlan, Plan
from lab.experiment.rig import Rig
from lab.servers.base import LabServerError, ServerSpec
from lab.servers.container import PLAIN_IMAGE, ContainerServer
from lab.workloads.load import Load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WRITE_IOPS = 1200
DEFAULT_PAIR = (10_000, 20_000)
LOAD = Load()
PLAN = Plan(disk=DiskPlan(write_iops=WRITE_IOPS))
NEAR_PAIR = (250, 500)
"""Near what the load needs, so that a daemon soon sees the flush law at work."""

LIFT_CAPACITY = 300
LIFT_RATIO = 0.2
LIFT_SECONDS = 60.0
SPEC = ServerSpec(io_capacity=DEFAULT_PAIR[0], io_capacity_max=DEFAULT_PAIR[1])


class Bench(Rig):
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
        super().__init__(ContainerServer(image, spec), PLAN, say, load_arguments)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.start_load()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def limit(self, write_iops: int | None) -> tuple[str, ...]:
        """Limit the disk from now on.

        Raises:
            LabServerError: it cannot be limited, and nothing can be proved then.
        """
        refusals = super().limit(write_iops)
        if refusals:
            raise LabServerError("\n".join(refusals))
        return refusals

    def start_load(self, rate: int | None = None) -> None:
        """Put another load in the place of the one at work.

        Args:
            rate: transactions offered per second; 0 is as many as possible, None is as before.
        """
        if rate is not None:
            self.offer(rate)
        super().start_load()

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

    def window(self, since: float, until: float) -> Figures:
        """Return the figures of a window that has passed, monotonic seconds."""
        return figures(self.load.seconds(since, until), self.sampler.readings(since, until))


@contextlib.contextmanager
def near_bench(image: str) -> Iterator[Bench]:
    """Yield a bench whose age is off the low-water mark, with C and M near what the load needs.

    Args:
        image: container image of the server.

    Raises:
        LabServerError: server or load could not be had.
    """
    with Bench(image) as bench:
        lift(bench, NEAR_PAIR)
        yield bench


def said(given: Mapping[str, Any], *, sharing: str, told: str = "") -> str:
    """Return the part of a page about what was measured on.

    Args:
        given: the conditions, as rows say them.
        sharing: what ran on the processors.
        told: where the figures come from.
    """
    return (
        f"## Conditions\n{given['server']} in a container, disk limited to {given['write_iops']} write"
        f" operations/s, redo capacity S = {given['redo_capacity'] // 2**20} MiB, buffer pool"
        f" {given['buffer_pool'] // 2**20} MiB, no binary log, `O_DIRECT`; sysbench `{given['load']}`,"
        f" {given['threads']} threads, {given['tables']} tables of {given['rows']} rows,"
        f" {given['rand_type']}; {given['processors']} processors shared by {sharing}. {told}"
    ).rstrip()


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


def say(text: str) -> None:
    """Print one progress line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
