"""The sysbench load: prepare its tables, run it beside a proof, and read its seconds as they come."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lab.servers.base import SCHEMA, LabServer, LabServerError

if TYPE_CHECKING:
    from types import TracebackType

_SECOND = re.compile(
    r"^\[ (?P<second>\d+)s \] thds: (?P<threads>\d+) tps: (?P<tps>[\d.]+) .*"
    r"lat \(ms,\d+%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+)"
)
_QUEUE = re.compile(r"^\[ \d+s \] queue length: (\d+), concurrency: \d+")


@dataclass(frozen=True, slots=True)
class Second:
    """One reported second of the load.

    Attributes:
        monotonic: when its report arrived, seconds.
        commits: transactions per second.
        latency: 95th percentile, seconds.
        errors: errors per second.
    """

    monotonic: float
    commits: float
    latency: float
    errors: float


@dataclass(frozen=True, slots=True)
class Load:
    """Which load.

    Attributes:
        script: name of a script that sysbench ships.
        tables: number of tables.
        rows: rows per table.
        threads: connections at work.
        rate: offered transactions per second; 0 is as many as possible.
    """

    script: str = "oltp_update_non_index"
    tables: int = 4
    rows: int = 400_000
    threads: int = 16
    rate: int = 0


def parse_second(line: str, now: float) -> Second | None:
    """Return the second that a report line describes, None for any other line."""
    found = _SECOND.match(line)
    if found is None:
        return None
    return Second(now, float(found["tps"]), float(found["latency"]) / 1000.0, float(found["errors"]))


def parse_queue(line: str) -> int | None:
    """Return how many transactions of an open load wait for a free connection, None for any other line."""
    found = _QUEUE.match(line)
    return None if found is None else int(found[1])


def command(server: LabServer, load: Load, action: str, *extra: str) -> list[str]:
    """Return the sysbench command line for ``prepare``, ``run`` or ``cleanup``.

    Raises:
        LabServerError: sysbench is not installed.
    """
    program = shutil.which("sysbench")
    if program is None:
        raise LabServerError("sysbench is not on PATH: install the package sysbench")
    where = (
        [f"--mysql-socket={server.socket}"]
        if server.socket
        else [f"--mysql-host={server.host}", f"--mysql-port={server.port}"]
    )
    # The load dies with the thread that started it, whatever ends that thread.
    guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [
        *guard,
        program,
        load.script,
        *where,
        *server.sysbench_login(),
        f"--mysql-db={SCHEMA}",
        f"--tables={load.tables}",
        f"--table-size={load.rows}",
        "--rand-type=uniform",
        "--db-ps-mode=disable",
        *extra,
        action,
    ]


def prepare(server: LabServer, load: Load, *, seconds: float = 300.0) -> None:
    """Create and fill the tables, one thread a table; lift any disk limit before.

    Raises:
        LabServerError: sysbench failed or took longer than so many seconds.
    """
    server.query("SELECT 1")  # fills the server's password cache, so that sysbench needs no key exchange
    try:
        done = subprocess.run(
            command(server, load, "prepare", f"--threads={load.tables}"),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LabServerError(f"sysbench prepare took longer than {seconds:.0f} s") from error
    if done.returncode != 0:
        raise LabServerError(f"sysbench prepare failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


class SysbenchRun:
    """A load that runs until stopped; its seconds can be read at any time.

    Start it from a thread that lives as long as the load should: it is killed when that thread ends.
    """

    def __init__(self, server: LabServer, load: Load | None = None, *extra: str) -> None:
        """Prepare, without starting anything.

        Args:
            server: what is loaded.
            load: which load.
            extra: further sysbench arguments.
        """
        self._server = server
        self._load = load or Load()
        self._extra = extra
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._changed = threading.Condition()
        self._seconds: list[Second] = []
        self._queues: list[tuple[float, int]] = []
        self._tail: list[str] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the load and return at once."""
        self._server.query("SELECT 1")
        arguments = [
            f"--threads={self._load.threads}",
            f"--rate={self._load.rate}",
            "--time=0",
            "--report-interval=1",
            *self._extra,
        ]
        self._process = subprocess.Popen(
            command(self._server, self._load, "run", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, name="sysbench", daemon=True)
        self._reader.start()

    def stop(self, seconds: float = 5.0) -> None:
        """End the load within so many seconds, by force if need be; safe to call twice."""
        process, self._process = self._process, None
        if process is None:
            return
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
        """Return whether the load is at work."""
        return self._process is not None and self._process.poll() is None

    def seconds(self, since: float = 0.0, until: float = float("inf")) -> list[Second]:
        """Return the seconds reported after ``since`` and up to ``until``, monotonic seconds."""
        with self._changed:
            return [second for second in self._seconds if since < second.monotonic <= until]

    def longest_queue(self, since: float = 0.0, until: float = float("inf")) -> int:
        """Return the most transactions that waited at the end of a second; 0 for a closed load.

        Args:
            since: from after this time on, monotonic seconds.
            until: up to this time.
        """
        with self._changed:
            return max((length for at, length in self._queues if since < at <= until), default=0)

    def wait_seconds(self, count: int, limit: float) -> list[Second]:
        """Return once so many seconds have been reported.

        Raises:
            LabServerError: the load ended, or they did not come within ``limit`` seconds.
        """
        end = time.monotonic() + limit
        with self._changed:
            while len(self._seconds) < count:
                left = end - time.monotonic()
                if left <= 0 or not self.running():
                    raise LabServerError(
                        f"the load reported {len(self._seconds)} of {count} seconds:\n{self.output()}"
                    )
                self._changed.wait(min(left, 1.0))
            return list(self._seconds)

    def output(self) -> str:
        """Return the last lines that sysbench printed besides its reports."""
        return "\n".join(self._tail[-20:])

    def _read(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        with contextlib.suppress(ValueError):  # closed under us by stop()
            for line in process.stdout:
                now = time.monotonic()
                second, queue = parse_second(line, now), parse_queue(line)
                with self._changed:
                    if queue is not None:
                        self._queues.append((now, queue))
                    elif second is None:
                        self._tail = [*self._tail[-40:], line.rstrip()]
                    else:
                        self._seconds.append(second)
                    self._changed.notify_all()
