"""A load at work: started, read while it runs, and ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from lab.servers.base import LabServer, LabServerError
from lab.workloads.command import command, environment, password_option
from lab.workloads.load import Load
from lab.workloads.load_run import LoadRun
from lab.workloads.parse import STARTED

if TYPE_CHECKING:
    from lab.workloads.reports import Reports

PERCENTILE = 99
STARTING_SECONDS = 35.0
"""sysbench itself gives its threads 30 s to connect."""

HALF = 0.5


class SysbenchRun(LoadRun):
    """A load that runs until stopped, or for so many seconds; its seconds can be read at any time.

    Start it from a thread that lives as long as the load should: it is killed when that thread ends.

    Latency is from when a transaction was due. Of an open load that is when it joined the queue, so that a
    stall is in the latencies of all who waited meanwhile: sysbench adds the time in its queue to each
    (``sb_timer_stop`` in its ``src/sb_timer.h``; its author says why in akopytov/sysbench, issue 216). What
    still waits or works at the end is not counted; the queue's length says how much that is.
    """

    def __init__(
        self, server: LabServer, load: Load | None = None, *extra: str, reports: Reports | None = None
    ) -> None:
        """Prepare, without starting anything.

        Args:
            server: what is loaded.
            load: which load.
            extra: further sysbench arguments.
            reports: where its seconds go, beside those of other loads.
        """
        super().__init__(reports)
        self._server = server
        self._load = load or Load()
        self._extra = extra
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._began = threading.Event()
        self._asked = False
        self._status: int | None = None

    def start(self, seconds: float | None = None) -> None:
        """Start the load and return at once.

        Args:
            seconds: after so many reported seconds it ends by itself; None is until stopped.

        Raises:
            LabServerError: sysbench is not installed, or cannot be handed the password.
        """
        self._server.query("SELECT 1")
        arguments = [
            f"--threads={self._load.threads}",
            f"--rate={self._load.rate}",
            "--time=0",
            "--report-interval=1",
            f"--percentile={PERCENTILE}",
            *self._extra,
        ]
        with password_option(self._server) as descriptor:
            process = subprocess.Popen(
                command(self._server, self._load, "run", f"--config-file=/dev/fd/{descriptor}", *arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment(),
                pass_fds=(descriptor,),
            )
        self._process = process
        self._reader = threading.Thread(
            target=self._read, args=(process, seconds), name="sysbench", daemon=True
        )
        self._reader.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End the load within so many seconds, by force if need be; safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
        self._asked = self._asked or process.poll() is None
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(seconds)
        if self._reader is not None:
            self._reader.join(seconds)
        if process.stdout is not None:
            process.stdout.close()

    def running(self) -> bool:
        """Return whether the load is at work; once it is not, :meth:`output` has the reason."""
        return self._process is not None and self._status is None

    def wait_started(self, limit: float = STARTING_SECONDS) -> None:
        """Return once every thread is connected and at work.

        Raises:
            LabServerError: the load ended, or was not at work within ``limit`` seconds.
        """
        if not self._began.wait(limit):
            raise LabServerError(f"the load was not at work within {limit:.0f} s:\n{self.output()}")
        if self._status is not None and not self._asked:
            raise LabServerError(f"the load ended before it was at work: {self.output()}")

    def wait_ended(self, limit: float) -> bool:
        """Wait until the load has ended, at most ``limit`` seconds; return whether it has."""
        if self._reader is not None:
            self._reader.join(max(0.0, limit))
            return not self._reader.is_alive()
        return True

    def events(self) -> list[tuple[float, str]]:
        """Return when the load changed, monotonic seconds, and to what: never."""
        return []

    def output(self) -> str:
        """Return why the load ended, where it did so by itself, and what it last printed besides reports."""
        ended = "" if self._status is None or self._asked else f"{_ending(self._status)}:\n"
        return ended + self._reports.tail()

    def _read(self, process: subprocess.Popen[str], seconds: float | None) -> None:
        if process.stdout is None:
            return
        with contextlib.suppress(ValueError):  # closed under us by stop()
            for line in process.stdout:
                report = self._reports.add(line, time.monotonic())
                if line.startswith(STARTED):
                    self._began.set()
                if report is not None and seconds is not None and report.elapsed >= seconds - HALF:
                    self._asked = True
                    process.terminate()
            self._status = process.wait()
        self._began.set()
        self._reports.wake()


def _ending(status: int) -> str:
    if status < 0:
        return f"sysbench was ended by {signal.Signals(-status).name}"
    return f"sysbench ended by itself with status {status}"
