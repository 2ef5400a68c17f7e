"""One reading a second over a connection of its own, independent of the daemon."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pymysql

from tuner.servers.limits import redo_limits

if TYPE_CHECKING:
    from types import TracebackType

    from lab.servers.base import LabServer
    from lab.servers.disk import DeviceCounters

_METRICS = (
    "log_lsn_current",
    "log_lsn_buf_pool_oldest_approx",
    "log_lsn_last_checkpoint",
    "buffer_flush_adaptive_total_pages",
    "buffer_flush_sync_total_pages",
    "buffer_flush_background_total_pages",
    "buffer_LRU_batch_flush_total_pages",
    "log_on_file_space_waits",
    "buffer_pool_pages_dirty",
)
_STATEMENT = (
    "SELECT name, count FROM information_schema.innodb_metrics WHERE name IN ("
    + ", ".join(f"'{name}'" for name in _METRICS)
    + ") UNION ALL SELECT 'io_capacity', @@GLOBAL.innodb_io_capacity"
    " UNION ALL SELECT 'io_capacity_max', @@GLOBAL.innodb_io_capacity_max"
)


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
        pages_dirty: in the buffer pool, None where that is not known.
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
    pages_dirty: int | None = None


def reading(
    values: dict[str, int],
    *,
    redo_capacity: int,
    now: float,
    cpu_idle: float,
    device: DeviceCounters | None = None,
) -> Reading:
    """Return the reading that raw counter values amount to."""
    lsn = values["log_lsn_current"]
    modified = max(0, lsn - values["log_lsn_buf_pool_oldest_approx"])
    checkpoint = max(0, lsn - values["log_lsn_last_checkpoint"])
    return Reading(
        monotonic=now,
        age_ratio=modified / redo_limits(redo_capacity).flush_limit,
        checkpoint_ratio=checkpoint / redo_capacity,
        lsn=lsn,
        adaptive=values["buffer_flush_adaptive_total_pages"],
        sync=values["buffer_flush_sync_total_pages"],
        background=values["buffer_flush_background_total_pages"],
        lru=values["buffer_LRU_batch_flush_total_pages"],
        space_waits=values["log_on_file_space_waits"],
        io_capacity=values["io_capacity"],
        io_capacity_max=values["io_capacity_max"],
        cpu_idle=cpu_idle,
        modified_age=modified,
        checkpoint_age=checkpoint,
        device=device,
        pages_dirty=values.get("buffer_pool_pages_dirty"),
    )


def _rows(connection: pymysql.Connection[Any], statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


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

    def missed(self, since: float = 0.0, until: float = float("inf")) -> list[str]:
        """Return why readings failed after ``since`` and up to ``until``, monotonic seconds, in order."""
        with self._lock:
            return [why for at, why in self._missed if since < at <= until]

    def _run(self) -> None:
        connection: pymysql.Connection[Any] | None = None
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._interval, time.monotonic())
            try:
                connection = connection or self._server.connect(timeout=3.0)
                ask = partial(_rows, connection)
                values = {str(name): int(count) for name, count in ask(_STATEMENT)}
                one = reading(
                    values,
                    redo_capacity=self._server.spec.redo_capacity,
                    now=time.monotonic(),
                    cpu_idle=_cpu_idle(),
                    device=self._server.device(ask),
                )
            except (pymysql.MySQLError, OSError, KeyError) as error:
                if connection is not None:
                    with contextlib.suppress(pymysql.MySQLError, OSError):
                        connection.close()
                connection = None
                with self._lock:
                    self._missed.append((time.monotonic(), f"{type(error).__name__}: {error}"))
                continue
            with self._lock:
                self._readings.append(one)
        if connection is not None:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                connection.close()
