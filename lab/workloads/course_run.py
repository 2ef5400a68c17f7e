"""A course at work: one load after another, read as if it were one."""

from __future__ import annotations

import itertools
import threading
import time
from typing import TYPE_CHECKING

import pymysql

from lab.servers.base import LabServerError
from lab.workloads.load_run import LoadRun
from lab.workloads.reports import EVER
from lab.workloads.run import SysbenchRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.servers.base import LabServer
    from lab.workloads.course import Phase
    from lab.workloads.load import Load

LAST_REPORT = 0.1
"""Seconds that a phase is given beyond its end, so that its last second is still reported."""


class CourseRun(LoadRun):
    """A load that follows a course until stopped, or for so many seconds; read like a ``SysbenchRun``.

    Each phase has a sysbench of its own. The next one is connected and at work before the last one is ended,
    so that the server is never without load; what is lost is a part of one second in the reports.
    """

    def __init__(self, server: LabServer, load: Load, phases: Sequence[Phase], *extra: str) -> None:
        """Prepare, without starting anything.

        Args:
            server: what is loaded.
            load: which load; its threads and rate are the phases'.
            phases: its levels, repeated from the first after the last.
            extra: further sysbench arguments.

        Raises:
            ValueError: there are no phases, or one is not possible with this load.
        """
        if not phases:
            raise ValueError("a course needs at least one phase")
        super().__init__()
        self._server = server
        self._levels = [(phase, phase.of(load)) for phase in phases]
        self._extra = extra
        self._lock = threading.Lock()
        self._runs: list[SysbenchRun] = []
        self._events: list[tuple[float, str]] = []
        self._stopping = False
        self._failure = ""
        self._driver: threading.Thread | None = None

    def start(self, seconds: float | None = None) -> None:
        """Start the course and return at once; with ``seconds`` it ends by itself after that time."""
        self._driver = threading.Thread(target=self._drive, args=(seconds,), name="course", daemon=True)
        self._driver.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End the course and its load, each within so many seconds; safe to call twice."""
        with self._lock:
            self._stopping = True
            runs = list(self._runs)
        for one in runs:
            one.stop(seconds)
        if self._driver is not None:
            self._driver.join(2.0 * seconds)

    def running(self) -> bool:
        """Return whether the course goes on."""
        return self._driver is not None and self._driver.is_alive() and not self._failure

    def events(self) -> list[tuple[float, str]]:
        """Return when each phase was at work, monotonic seconds, and its level."""
        with self._lock:
            return list(self._events)

    def output(self) -> str:
        """Return why the course ended, where it did so by itself, and what sysbench last printed."""
        return self._failure or self._reports.tail()

    def _drive(self, seconds: float | None) -> None:
        try:
            self._walk(seconds)
        except (LabServerError, OSError, pymysql.MySQLError) as error:
            self._failure = str(error)
        finally:
            with self._lock:
                runs = list(self._runs)
            for one in runs:
                one.stop()
            self._reports.wake()

    def _walk(self, seconds: float | None) -> None:
        end = EVER
        for number, (phase, load) in enumerate(itertools.cycle(self._levels)):
            at_work = self._follow(load)
            if at_work is None:
                return
            began = self._note(number, phase)
            if number == 0 and seconds is not None:
                end = began + seconds + LAST_REPORT
            self._stay(at_work, min(end, began + phase.seconds + LAST_REPORT))
            if self._stopping or time.monotonic() >= end:
                return

    def _follow(self, load: Load) -> SysbenchRun | None:
        """Put a load in the place of the one at work and return it; None when the course is being stopped."""
        following = SysbenchRun(self._server, load, *self._extra, reports=self._reports)
        with self._lock:
            if self._stopping:
                return None
            before = self._runs[-1:]
            following.start()
            self._runs = [*before, following]
        following.wait_started()
        for one in before:
            one.stop()
        return following

    def _note(self, number: int, phase: Phase) -> float:
        count, now = len(self._levels), time.monotonic()
        with self._lock:
            self._events.append((now, f"phase {number % count + 1} of {count}: {phase}"))
        return now

    def _stay(self, at_work: SysbenchRun, until: float) -> None:
        if at_work.wait_ended(until - time.monotonic()) and not self._stopping:
            raise LabServerError(f"the load of the course ended: {at_work.output()}")
