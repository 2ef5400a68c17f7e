"""One server of a bench with its disk limit, its load at work, and a sampler that reads it once a second."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pymysql
from msgspec.structs import asdict

from lab.bench.daemon import DaemonProcess
from lab.bench.figures import Reading, figures
from lab.bench.plan import version_default
from lab.servers.disk import DiskLimit
from lab.servers.reader import FORGET_SECONDS, Reader, forgetting
from lab.servers.spec import LabServerError
from lab.servers.version import product, version_said
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tuner.records import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from lab.bench.plan import Plan
    from lab.servers.base import LabServer
    from tuner.settings import PolicyName


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

    def add(self, reading: Reading) -> None:
        """Keep a reading, the newest."""
        with self._lock:
            self._readings.append(reading)

    def span(self, since: float, until: float = float("inf")) -> list[Reading]:
        """Return the readings of a span, at least two, so that it has a length.

        Raises:
            LabServerError: there are fewer; it says why the last one failed.
        """
        found = self.readings(since, until)
        if len(found) < 2:  # noqa: PLR2004 - two make a span
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
                sample = reader.read()
                one = Reading(time.monotonic(), sample, _cpu_idle(), self._server.device(reader.ask))
            except (LabServerError, pymysql.MySQLError, OSError) as error:
                with self._lock:
                    self._missed.append((time.monotonic(), f"{type(error).__name__}: {error}"))
                continue
            self.add(one)
        if reader is not None:
            reader.close()


WINDOW = 45.0
"""Seconds looked at."""

DRIFT = 0.015
FEWEST = 5


def settled(readings: Sequence[Reading], drift: float = DRIFT) -> bool:
    """Return whether the mean age ratios of three successive thirds differ by no more than ``drift``."""
    third = len(readings) // 3
    if third < FEWEST:
        return False
    means = [
        sum(one.sample.age_ratio for one in readings[at : at + third]) / third for at in (0, third, 2 * third)
    ]
    return max(means) - min(means) <= drift


def quiet(readings: Sequence[Reading], share: float = 0.1) -> bool:
    """Return whether M moved by no more than a share of itself: a policy that still walks is not at rest."""
    values = [one.sample.io_capacity_max for one in readings]
    return bool(values) and max(values) <= (1.0 + share) * min(values)


def moved(readings: Sequence[Reading]) -> bool:
    """Return whether M was ever another value."""
    return len({one.sample.io_capacity_max for one in readings}) > 1


MEBIBYTE = 1024 * 1024
FILL = Capacity(10_000, 20_000)
FILL_LEAST, FILL_RATE = 300.0, 2000.0
"""The longest that filling may take: so many seconds, and more with every so many rows."""

FIRST_SECONDS = 3
START_LIMIT = 30.0
LOOK_SECONDS = 2.0


class Rig:
    """A context in which rows can be measured; everything is stopped and removed on exit.

    Attributes:
        server: what is measured.
        plan: what for.
        product: whose server it is.
        version: what the server says it is.
        default: C and M that it has by itself.
        not_limited: sentences about what of the disk could not be limited.
        filled: percent of a page that the tables' indexes fill; None where nobody knows.
        events: monotonic time and words of what was changed while it ran.
        sampler: the readings, one a second.
        load: what is at work.
        patience: by how much longer an age may take to come near its place than the plan says.
    """

    patience = 1.0

    def __init__(
        self, server: LabServer, plan: Plan, say: Callable[[str], None], extra: Sequence[str] = ()
    ) -> None:
        """Prepare, without starting anything; ``extra`` are further arguments of sysbench."""
        self.server = server
        self.plan = plan
        self.events: list[tuple[float, str]] = []
        self.not_limited: tuple[str, ...] = ()
        self.filled: int | None = None
        self._say = say
        self._extra = tuple(extra)
        self._rate = plan.load.rate
        self._alternated = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._say("starting the server")
            stack.enter_context(self.server)
            version, comment = self.server.query("SELECT VERSION(), @@version_comment")[0]
            self.version = version_said(version)
            self.product = product(self.version, str(comment))
            self.default = version_default(self.version)
            load = self._load()
            self._say(f"{self.product} {self.version}; filling the tables of {load.kind}")
            self.server.set_capacity(FILL.io_capacity, FILL.io_capacity_max)
            self.filled = prepare(self.server, load, seconds=fill_seconds(load))
            self.server.set_capacity(self.default.io_capacity, self.default.io_capacity_max)
            self.limit_as_planned()
            self.sampler = stack.enter_context(Sampler(self.server))
            self.load = self._run()
            stack.callback(self.stop_load)
            self.forget_filling()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def now(self) -> float:
        """Return the monotonic seconds that readings, events and the seconds of the load carry."""
        return time.monotonic()

    def pause(self, seconds: float) -> None:
        """Let so many seconds pass: the measured time itself is what is waited for."""
        time.sleep(seconds)

    def daemon(self, policy: PolicyName) -> DaemonProcess:
        """Return a daemon of ours for this server, which begins on entry and ends on exit."""
        return DaemonProcess(self.server, policy=policy)

    def forget_filling(self) -> None:
        """Run the load until the server's own mean rates are the load's."""
        self.start_load()
        self.forget()

    def forget(self) -> None:
        """Have the server renew its own mean rates every second, until they are those of now."""
        with forgetting(self.server):
            self.watch(FORGET_SECONDS)

    def offer(self, rate: int) -> None:
        """Offer so many transactions/s from the next start of the load on; 0 is as many as possible."""
        self._rate = rate

    def start_load(self) -> None:
        """Put a new run of the load in the place of the one at work."""
        self.load.stop()
        self.load = self._run()
        self.load.start()
        self.load.wait_seconds(FIRST_SECONDS, START_LIMIT)

    def stop_load(self) -> None:
        """End the load; safe to call twice."""
        self.load.stop()

    def set(self, pair: Capacity) -> None:
        """Set C and M."""
        self.server.set_capacity(pair.io_capacity, pair.io_capacity_max)

    def limit(self, write_iops: int | None) -> tuple[str, ...]:
        """Limit the disk from now on; says, keeps and returns what could not be limited."""
        disk = self.plan.disk
        if write_iops is None and disk.write_mib is None:
            return ()
        width = None if disk.write_mib is None else disk.write_mib * MEBIBYTE
        refusals = self.server.limit_disk(DiskLimit(write_iops=write_iops, write_bytes=width))
        self.not_limited = (*self.not_limited, *(one for one in refusals if one not in self.not_limited))
        for sentence in refusals:
            self._say(sentence)
        words = "; ".join(refusals) or f"disk limited to {write_iops or 'any number of'} writes/s"
        self.events.append((self.now(), words))
        return refusals

    def limit_as_planned(self) -> None:
        """Limit the disk as it is at the beginning of a row, also of a server that has just started again."""
        self._alternated = 0
        self.not_limited = ()
        self.limit(self.plan.disk.write_iops)

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Lift the disk's limit inside the context; afterwards it is as it is at the beginning of a row."""
        self.server.limit_disk(DiskLimit())
        self.events.append((self.now(), "the disk's limit is lifted, for the age to come near its place"))
        try:
            yield
        finally:
            self.limit_as_planned()

    def alternate(self, began: float) -> None:
        """Move the disk limit where the plan says that it is due; ``began`` is monotonic."""
        disk = self.plan.disk
        if disk.alternate_iops is None:
            return
        due = int((self.now() - began) / disk.alternate_seconds)
        if due != self._alternated:
            self._alternated = due
            self.limit(disk.alternate_iops if due % 2 else disk.write_iops)

    def watch(self, seconds: float, check: Callable[[], None] | None = None) -> None:
        """Let so many seconds pass, calling ``check`` about once a second.

        Raises:
            LabServerError: server or load ended meanwhile.
        """
        end = self.now() + seconds
        while (left := end - self.now()) > 0:
            if not self.load.running():
                raise LabServerError(f"the load ended:\n{self.load.output()}\n{self.server.log()}")
            if check is not None:
                check()
            self.pause(min(left, 1.0))

    def reset(self, most: float, ratio: float) -> float | None:
        """Take C and M back to the default until the age ratio is below ``ratio``, for at most so long.

        A disk limit that moves is back where it begins, so that every contender is reset on the same disk.

        Returns:
            The age ratio that it came to; None where the server could not be read.
        """
        if self._alternated:
            self.limit_as_planned()
        self.set(self.default)
        end = self.now() + most
        reached: float | None = None
        while self.now() < end:
            self.watch(1.0)
            recent = self.sampler.readings(since=self.now() - LOOK_SECONDS)
            reached = recent[-1].sample.age_ratio if recent else None
            if reached is not None and reached < ratio:
                break
        return reached

    def settle(
        self,
        least: float,
        most: float,
        *,
        slow: bool = False,
        holds: Callable[[], bool] | None = None,
        check: Callable[[], None] | None = None,
    ) -> tuple[float, bool]:
        """Wait until the age stops drifting, and M where a policy moves it; what was before does not count.

        Args:
            least: seconds waited in any case.
            most: seconds waited at most.
            slow: the age is one of a large redo log: the drift is judged over ``least``, and a third of it
                counts.
            holds: says whether somebody who moves M means to leave it where it is; he is at rest when he
                moved it and stopped, or says so. None where nobody moves it.
            check: called about once a second.

        Returns:
            Seconds waited, and whether it came to rest.
        """
        window, drift = (least, DRIFT / 3.0) if slow else (WINDOW, DRIFT)
        began = self.now()
        self.watch(least, check)
        while True:
            waited = self.now() - began
            readings = self.sampler.readings(since=max(began, self.now() - window))
            rest = waited >= window and settled(readings, drift)
            if holds is not None and rest:
                changed = moved(self.sampler.readings(since=began))
                changed |= slow and readings[-1].sample.capacity != self.default  # before it settled
                rest = quiet(readings) and (changed or holds())
            if rest or waited >= most:
                return waited, rest
            self.watch(min(LOOK_SECONDS, most - waited), check)

    def flushing(self, seconds: float = 10.0) -> float:
        """Return how many pages/s the server flushes as it is, over so many seconds of the load.

        Raises:
            LabServerError: server or load ended meanwhile.
        """
        if not self.load.running():
            self.start_load()
        began = self.now()
        self.watch(seconds)
        readings = self.sampler.span(began)
        return float(figures(self.load.seconds(began), readings)["pages_per_second"])

    def conditions(self) -> dict[str, Any]:
        """Return what a row was measured under."""
        disk = self.plan.disk
        load = asdict(self.plan.load) | {"rate": self._rate}
        del load["knee_share"]
        return {
            "server": f"{self.product} {self.version}",
            "redo_capacity": self.server.spec.redo_capacity,
            "buffer_pool": self.server.spec.buffer_pool,
            "set": dict(self.plan.server.set),
            "disk": {"write_iops": disk.write_iops, "write_mib": disk.write_mib}
            | ({"alternate_iops": disk.alternate_iops} if disk.alternate_iops else {})
            | ({"in_memory": True} if self.server.disk_in_memory() else {}),
            "not_limited": list(self.not_limited),
            "load": load,
            "processors": os.cpu_count(),
        } | ({} if self.filled is None else {"fill_factor": self.filled})

    def _load(self) -> Load:
        return self.plan.load.load(self._rate)

    def _run(self) -> SysbenchRun:
        return SysbenchRun(self.server, self._load(), *self._extra)


def fill_seconds(load: Load) -> float:
    """Return how long filling the load's tables may take at most, seconds."""
    return FILL_LEAST + load.tables * load.rows / FILL_RATE
