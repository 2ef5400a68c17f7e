"""A load at work in sysbench: its command line, its tables, and a run."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lab.servers.base import LabServer
from lab.servers.owner import ending_with_us
from lab.servers.spec import SCHEMA, LabServerError
from lab.workloads.load import Load
from lab.workloads.reports import Reports, Second

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType


SCRIPTS = Path(__file__).parent
ZIPF_EXPONENT = 0.8
"""The default of ``--rand-zipfian-exp`` in sysbench after 1.0, so that its numbers can be compared."""

FILL_FACTOR = 70
"""Percent of a page that an index which is built at once may fill, about what random changes leave (ln 2;
Yao, On random 2-3 trees, 1978). With the default, pages filled whole, nearly every page splits in the first
hour: on MySQL 8.0.31 a commit of ``write_only`` wrote 6.1 kB of redo at first and 2.2 kB two hours later;
with 70 % it is 1.7 and 1.4 kB (docs/lab/bench.md, Loads)."""

_FACTOR = "innodb_fill_factor"
_QUOTES = ('"', "'")


def sysbench() -> str:
    """Return where sysbench is.

    Raises:
        LabServerError: it is not installed.
    """
    program = shutil.which("sysbench")
    if program is None:
        raise LabServerError("sysbench is not on PATH: install the package sysbench")
    return program


def command(server: LabServer, load: Load, action: str, *extra: str) -> list[str]:
    """Return the sysbench command line for ``prepare``, ``run`` or ``cleanup``, without the password.

    Raises:
        LabServerError: sysbench is not installed.
    """
    where = (
        [f"--mysql-socket={server.socket}"]
        if server.socket
        else [f"--mysql-host={server.host}", f"--mysql-port={server.port}"]
    )
    return [
        *ending_with_us(),  # no load outlives its bench
        sysbench(),
        str(SCRIPTS / f"{load.kind}.lua"),
        *where,
        f"--mysql-user={server.admin.user}",
        f"--mysql-db={SCHEMA}",
        f"--tables={load.tables}",
        f"--table-size={load.rows}",
        *_keys(load),
        "--db-ps-mode=disable",
        *extra,
        action,
    ]


def environment() -> dict[str, str]:
    """Return our environment, with our scripts' modules to be found before any other."""
    return {**os.environ, "LUA_PATH": f"{SCRIPTS}/?.lua;;"}


@contextlib.contextmanager
def password_option(server: LabServer) -> Iterator[int]:
    """Yield a descriptor to be passed on, which sysbench can read the password from as a configuration file.

    On the command line every user of the machine could read it; in a file it would outlive a killed bench.

    Raises:
        LabServerError: the password has characters that sysbench's configuration files cannot hold.
    """
    password = server.admin.password
    quote = next((one for one in _QUOTES if one not in password), None)
    if quote is None or "\n" in password:
        raise LabServerError(
            f"the password of {server.admin.user} cannot be handed to sysbench: it holds a line break or both"
            " kinds of quotes; give the account another password"
        )
    reading, writing = os.pipe()
    try:
        os.write(writing, f"mysql-password={quote}{password}{quote}\n".encode())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


def _keys(load: Load) -> list[str]:
    if load.distribution == "zipf":
        return ["--rand-type=uniform", f"--zipf-exponent={ZIPF_EXPONENT}"]
    return [f"--rand-type={load.distribution}"]


DROP_SECONDS = 60.0


def prepare(server: LabServer, load: Load, *, seconds: float = 300.0) -> int | None:
    """Create and fill the load's tables, in the place of any that are there; lift any disk limit before.

    One thread fills a table (``tpcc``: a warehouse).

    Returns:
        Percent of a page that indexes filled; None where the server cannot be told, as MySQL 5.6.

    Raises:
        LabServerError: sysbench failed or took longer than so many seconds.
    """
    discard(server, load)
    threads = 1 if load.kind == "many_indexes" else load.tables
    with _worn(server) as factor:
        _finish(server, load, "prepare", [f"--threads={threads}"], seconds)
    return factor


@contextlib.contextmanager
def _worn(server: LabServer) -> Iterator[int | None]:
    """Let the server build indexes as they are after long use, and set back what it had."""
    found = server.query(f"SHOW GLOBAL VARIABLES LIKE '{_FACTOR}'")
    if not found:
        yield None
        return
    server.query(f"SET GLOBAL {_FACTOR} = {FILL_FACTOR}")
    yield FILL_FACTOR
    server.query(f"SET GLOBAL {_FACTOR} = {int(found[0][1])}")


def discard(server: LabServer, load: Load, *, seconds: float = DROP_SECONDS) -> None:
    """Drop the load's tables where they are there.

    Raises:
        LabServerError: sysbench failed or took longer than so many seconds.
    """
    _finish(server, load, "cleanup", [], seconds)


def _finish(server: LabServer, load: Load, action: str, extra: Sequence[str], seconds: float) -> None:
    server.query("SELECT 1")  # fills the server's password cache, so that sysbench needs no key exchange
    with password_option(server) as descriptor:
        try:
            done = subprocess.run(
                command(server, load, action, f"--config-file=/dev/fd/{descriptor}", *extra),
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                env=environment(),
                pass_fds=(descriptor,),
            )
        except subprocess.TimeoutExpired as error:
            raise LabServerError(
                f"sysbench {action} of {load.script} took longer than {seconds:.0f} s"
            ) from error
    # A thread that fails in a command of several threads leaves the exit status at 0.
    if done.returncode != 0 or "FATAL:" in done.stdout:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise LabServerError(f"sysbench {action} of {load.script} failed:\n{said}")


PERCENTILE = 99


class SysbenchRun(Reports):
    """A load that runs until stopped; its seconds can be read at any time.

    Start it from a thread that lives as long as the load should: it is killed when that thread ends.

    Latency is from when a transaction was due. Of an open load that is when it joined the queue, so that a
    stall is in the latencies of all who waited meanwhile: sysbench adds the time in its queue to each
    (``sb_timer_stop`` in its ``src/sb_timer.h``; its author says why in akopytov/sysbench, issue 216). What
    still waits or works at the end is not counted; the queue's length says how much that is.
    """

    def __init__(self, server: LabServer, load: Load | None = None, *extra: str) -> None:
        """Prepare, without starting anything.

        Args:
            server: what is loaded.
            load: which load.
            extra: further sysbench arguments.
        """
        super().__init__()
        self._server = server
        self._load = load or Load()
        self._extra = extra
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._asked = False
        self._status: int | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def wait_seconds(self, count: int, limit: float) -> list[Second]:
        """Return once so many seconds have been reported.

        Raises:
            LabServerError: the load ended, or they did not come within ``limit`` seconds.
        """
        return self.wait(count, limit, self.running, self.output)

    def start(self) -> None:
        """Start the load and return at once.

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
        self._reader = threading.Thread(target=self._read, args=(process,), name="sysbench", daemon=True)
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

    def output(self) -> str:
        """Return why the load ended, where it did so by itself, and what it last printed besides reports."""
        ended = "" if self._status is None or self._asked else f"{_ending(self._status)}:\n"
        return ended + self.tail()

    def _read(self, process: subprocess.Popen[str]) -> None:
        if process.stdout is None:
            return
        with contextlib.suppress(ValueError):  # closed under us by stop()
            for line in process.stdout:
                self.add(line, time.monotonic())
            self._status = process.wait()
        self.wake()


def _ending(status: int) -> str:
    if status < 0:
        return f"sysbench was ended by {signal.Signals(-status).name}"
    return f"sysbench ended by itself with status {status}"
