"""One reading a second over a connection of its own, independent of the daemon."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pymysql

from lab.servers.flavour import LabServerError
from lab.servers.reader import Reader

if TYPE_CHECKING:
    from types import TracebackType

    from lab.servers.base import LabServer
    from lab.servers.disk import DeviceCounters
    from tuner.records import Sample

FEWEST = 2


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at the server, counters as they stand.

    Attributes:
        monotonic: when, seconds.
        age_ratio: x, modified age over the flush limit A.
        checkpoint_ratio: checkpoint age over the redo capacity.
        lsn: current LSN, bytes.
        adaptive: pages flushed by the flush law.
        sync: pages flushed by sync flushing.
        background: pages flushed while idle.
        lru: pages flushed from the LRU tail.
        space_waits: writers that waited for redo space.
        io_capacity: C, pages/s.
        io_capacity_max: M, pages/s.
        cpu_idle: seconds all processors of the machine idled so far.
        modified_age: bytes.
        checkpoint_age: bytes.
        device: what the server's disk did so far, None where that is not known.
        flush_limit: A, bytes.
        stall_point: where writers wait, bytes.
    """

    monotonic: float
    age_ratio: float
    checkpoint_ratio: float
    lsn: int
    adaptive: int
    sync: int
    background: int
    lru: int
    space_waits: int
    io_capacity: int
    io_capacity_max: int
    cpu_idle: float
    modified_age: int = 0
    checkpoint_age: int = 0
    device: DeviceCounters | None = None
    flush_limit: int = 0
    stall_point: int = 0
    pages_dirty: int | None = None


def reading(sample: Sample, *, now: float, cpu_idle: float, device: DeviceCounters | None = None) -> Reading:
    """Return the reading that a sample of the server amounts to."""
    return Reading(
        monotonic=now,
        age_ratio=sample.modified_age / sample.flush_limit,
        checkpoint_ratio=sample.checkpoint_age / sample.redo_capacity,
        lsn=sample.lsn_current,
        adaptive=sample.pages_adaptive,
        sync=sample.pages_sync,
        background=sample.pages_background,
        lru=sample.pages_lru,
        space_waits=sample.redo_space_waits,
        io_capacity=sample.io_capacity,
        io_capacity_max=sample.io_capacity_max,
        cpu_idle=cpu_idle,
        modified_age=sample.modified_age,
        checkpoint_age=sample.checkpoint_age,
        device=device,
        flush_limit=sample.flush_limit,
        stall_point=sample.stall_point,
        pages_dirty=sample.pages_dirty,
    )


def _cpu_idle() -> float:
    """Return the seconds that the machine's processors idled since boot, 0 where that is not known."""
    with contextlib.suppress(OSError):
        return float(Path("/proc/uptime").read_text().split()[1])
    return 0.0


class Sampler:
    """A thread that reads once a second until stopped; readings can be had at any time."""

    def __init__(self, server: LabServer, interval: float = 1.0) -> None:
        """Prepare; ``interval`` is the seconds between two readings."""
        self._server = server
        self._interval = interval
        self._readings: list[Reading] = []
        self._missed: list[tuple[float, str]] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(10.0)

    def readings(self, since: float = 0.0, until: float = float("inf")) -> list[Reading]:
        """Return the readings after ``since`` and up to ``until``, monotonic seconds."""
        with self._lock:
            return [one for one in self._readings if since < one.monotonic <= until]

    def span(self, since: float, until: float = float("inf")) -> list[Reading]:
        """Return the readings of a span, at least two, so that it has a length.

        Raises:
            LabServerError: there are fewer; it says why the last one failed.
        """
        found = self.readings(since, until)
        if len(found) < FEWEST:
            why = (self.missed(since, until) or ["none was taken"])[-1]
            raise LabServerError(f"{len(found)} readings of the server, too few for a figure: {why}")
        return found

    def missed(self, since: float = 0.0, until: float = float("inf")) -> list[str]:
        """Return why readings failed after ``since`` and up to ``until``, monotonic seconds, in order."""
        with self._lock:
            return [why for at, why in self._missed if since < at <= until]

    def _run(self) -> None:
        reader: Reader | None = None
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._interval, time.monotonic())
            try:
                reader = reader or Reader(self._server)
                one = reading(
                    reader.read(),
                    now=time.monotonic(),
                    cpu_idle=_cpu_idle(),
                    device=self._server.device(reader.ask),
                )
            except (LabServerError, pymysql.MySQLError, OSError) as error:
                with self._lock:
                    self._missed.append((time.monotonic(), f"{type(error).__name__}: {error}"))
                continue
            with self._lock:
                self._readings.append(one)
        if reader is not None:
            reader.close()
