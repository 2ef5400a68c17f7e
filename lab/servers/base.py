"""What every server of the lab can do: start, end, be waited for and limited, crash, and take statements."""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql

from lab.servers.disk import DeviceCounters, DiskLimit, Place, Throttle, in_memory, write_line
from lab.servers.error_log import ENDED, STARTED, last_span, text_marks
from lab.servers.spec import MYSQL, Account, Kind, LabServerError, ServerSpec
from tuner.servers.endpoint import Endpoint


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_private(path: Path, text: str) -> Path:
    """Write a file that only we can read, and return its path."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


def quoted(value: str) -> str:
    """Return a value as an option file has it, whatever characters are in it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'


def _lenient_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


END_SECONDS = 900.0
"""The longest shutdown or start waited for: a slow disk writes a pool of dirty pages for minutes."""

Ask = Callable[[str], Iterable[tuple[Any, ...]]]

WHOLE_LOG = 20_000
"""Lines; a start writes some dozens, a recovery some hundreds."""

OWN_COUNTERS = "the server's own counters"
_STATUS = ("Innodb_data_reads", "Innodb_data_writes", "Innodb_data_read", "Innodb_data_written")


class LabServer(ABC):
    """One server: started on entry, gone with its data on exit.

    Attributes:
        spec: how it is started.
        kind: what it is, as far as starting, filling and ending it goes.
        admin: account with every privilege, for the load and the measuring.
        daemon: account with just what the daemon needs.
        host: address of the TCP port.
        port: TCP port, 0 before the start.
        socket: path of the unix socket where it can be reached from here, else None.
        tls: connections are encrypted, as passwords would have to be otherwise.
        authority: certificate authority that its certificate can be checked against; None where it has none.
    """

    def __init__(self, spec: ServerSpec | None = None, kind: Kind = MYSQL) -> None:
        self.spec = spec or ServerSpec()
        self.kind = kind
        self.admin = Account("lab_admin")
        self.daemon = Account("innobrim")
        self.host = "127.0.0.1"
        self.port = 0
        self.socket: Path | None = None
        self.tls = kind.tls
        self.authority: Path | None = None
        self._throttle = Throttle(self._place, self._write_limit)

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def start(self) -> None:
        """Start the server, with its old data where it had some; returns before it answers."""

    @abstractmethod
    def stop(self) -> None:
        """Remove the server and its data; never raises, safe to call twice."""

    @abstractmethod
    def signal(self, number: signal.Signals) -> None:
        """Send mysqld a signal; returns at once."""

    @abstractmethod
    def _place(self) -> Place:
        """Return control group and disk of the mysqld that runs now.

        Raises:
            NoLimitError: there is none that can be limited.
            OSError: it cannot be looked at.
        """

    def _write_limit(self, file: Path, line: str) -> None:
        """Write a line to a controller's file; OSError where that is refused."""
        write_line(file, line)

    def kill(self) -> None:
        """SIGKILL mysqld and return when it is gone; the data stays for the next ``start``."""
        self.signal(signal.SIGKILL)
        self.wait_gone()

    @abstractmethod
    def alive(self) -> bool:
        """Return whether the process is there."""

    @abstractmethod
    def log(self, lines: int = 30, *, stamped: bool = False) -> str:
        """Return the last lines of the server's error log.

        Args:
            lines: how many.
            stamped: each begins with when it was written, where somebody else than the server knows.
        """

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit this server's disk from now on, also in the middle of a run; what is None is lifted.

        Returns:
            A sentence for everything that could not be limited; none when all is in force.
        """
        return self._throttle.set(limit)

    @abstractmethod
    def data_place(self) -> Path:
        """Return where its data are, or will be once it starts."""

    def disk_in_memory(self) -> bool:
        """Return whether its disk is, or will be, a loop device over a file in memory."""
        return in_memory(self.data_place())

    def limit_write_iops(self, writes: int | None) -> str | None:
        """Limit the disk's writes per second, other limits as they are; None lifts it.

        Returns:
            None when the limit is in force, else a sentence saying why it is not.
        """
        return "; ".join(self.limit_disk(replace(self._throttle.limit, write_iops=writes))) or None

    def device(self, ask: Ask | None = None) -> DeviceCounters | None:
        """Return what the server has had its disk do so far, None where nobody knows.

        Counted by its control group where there is one, from the first limit or count on (a container's begin
        anew with every start of mysqld), else by the server itself: its ``Innodb_data_reads``, ``_writes``,
        ``_read`` and ``_written``, which leave out the binary log and know nothing of merged or split
        operations. The source stays the same for one server.

        Args:
            ask: runs a statement; None is on a connection of its own, which is dear where it is asked often.
        """
        found = self._throttle.counters()
        if self._throttle.counted:
            return found
        names = ", ".join(f"'{name}'" for name in _STATUS)
        with contextlib.suppress(pymysql.MySQLError, OSError, KeyError):
            rows: dict[str, str] = dict(
                (ask or self.query)(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
            )
            reads, writes, read, written = (int(rows[name]) for name in _STATUS)
            return DeviceCounters(reads, writes, read, written, OWN_COUNTERS)
        return None

    def crash(self) -> float:
        """SIGKILL mysqld, start it again and return how long InnoDB took until it was ready, seconds.

        By the server's error log, from the start of InnoDB's initialisation to its end, which an empty
        redo log makes as short as it gets. The disk limit stays; C and M are those of the spec again.
        MariaDB and MySQL 5.6 write whole seconds into their logs; in a container Docker knows better.

        Raises:
            LabServerError: it is not ours to kill, or does not come back.
        """
        self.kill()
        self.start()
        self.wait_ready(END_SECONDS)
        return self._initialisation()

    def _initialisation(self) -> float:
        """Return how long InnoDB's last initialisation took by the server's error log, seconds.

        Raises:
            LabServerError: the log does not have both lines.
        """
        if not self.kind.log_table:
            return last_span(text_marks(self.log(WHOLE_LOG, stamped=True)))
        rows = self.query(
            "SELECT error_code, UNIX_TIMESTAMP(logged) FROM performance_schema.error_log"
            f" WHERE error_code IN ('{STARTED}', '{ENDED}') ORDER BY logged"
        )
        return last_span([(str(code), float(logged)) for code, logged in rows])

    def restart(self) -> tuple[float, float]:
        """Shut mysqld down in order and start it again; a load that is at work ends with its connections.

        Returns:
            Seconds from the order to the end of its process, and seconds from the start to the first answer.

        Raises:
            LabServerError: it is not ours to stop, or does not end or come back.
        """
        began = time.monotonic()
        if self.kind.shutdown_statement:
            self.query("SHUTDOWN")
        else:
            self.signal(signal.SIGTERM)
        self.wait_gone(END_SECONDS)
        ended = time.monotonic()
        self.start()
        self.wait_ready(END_SECONDS)
        return ended - began, time.monotonic() - ended

    def wait_gone(self, seconds: float = 30.0) -> None:
        """Return when the process has ended by itself, for example after SHUTDOWN.

        Raises:
            LabServerError: it still runs after so many seconds.
        """
        end = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() > end:
                raise LabServerError(f"mysqld still runs after {seconds:.0f} s")
            time.sleep(0.05)  # nothing announces the end of a process that is not a child

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Return when the server answers a query.

        Raises:
            LabServerError: it ended, or did not answer within so many seconds.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                self.query("SELECT 1")
            except (pymysql.MySQLError, OSError) as error:
                if not self.alive():
                    raise LabServerError(f"mysqld ended while starting:\n{self.log()}") from error
                if time.monotonic() > end:
                    raise LabServerError(
                        f"mysqld did not answer within {seconds:.0f} s: {error}\n{self.log()}"
                    ) from error
                time.sleep(0.1)  # a closed port announces nothing that could be waited for
            else:
                return

    def connect(self, account: Account | None = None, *, timeout: float = 5.0) -> pymysql.Connection[Any]:
        """Return a new autocommit connection, the admin's by default; every call on it is bounded.

        Args:
            account: whose connection.
            timeout: seconds for connecting, for each read and for each write.
        """
        login = account or self.admin
        return pymysql.connect(
            host=self.host,
            port=self.port,
            user=login.user,
            password=login.password,
            connect_timeout=max(1, int(timeout)),
            read_timeout=timeout,
            write_timeout=timeout,
            autocommit=True,
            ssl=_lenient_tls() if self.tls else None,
            ssl_disabled=not self.tls,
        )

    def endpoint(self, account: Account, *, timeout: float = 5.0) -> Endpoint:
        """Return where the server is over TCP, with an account's login and a check of who answers."""
        checked = "verify_ca" if self.authority is not None else "preferred"
        return Endpoint(
            user=account.user,
            password=account.password,
            host=self.host,
            port=self.port,
            tls=checked if self.tls else "off",
            tls_ca=None if self.authority is None else str(self.authority),
            timeout=timeout,
        )

    def admin_endpoint(self) -> Endpoint:
        """Return where the server is, with the admin's login."""
        return Endpoint(
            user=self.admin.user,
            password=self.admin.password,
            socket=None if self.socket is None else str(self.socket),
            host=self.host,
            port=self.port,
        )

    def query(self, statement: str, *, timeout: float = 5.0) -> list[tuple[Any, ...]]:
        """Run one statement as admin on a connection of its own and return its rows."""
        with contextlib.closing(self.connect(timeout=timeout)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def set_capacity(self, io_capacity: int, io_capacity_max: int) -> None:
        """Set C and M, pages/s, in the order that the server accepts."""
        with contextlib.closing(self.connect()) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@GLOBAL.innodb_io_capacity_max")
            current = int((cursor.fetchone() or (0,))[0])
            steps = [("innodb_io_capacity", io_capacity), ("innodb_io_capacity_max", io_capacity_max)]
            for name, value in reversed(steps) if io_capacity > current else steps:
                cursor.execute(f"SET GLOBAL {name} = {value}")

    def option_file(self, path: Path, account: Account | None = None) -> Path:
        """Write a login, the daemon's by default, as a MySQL option file, mode 0600, and return its path."""
        login = account or self.daemon
        return write_private(
            path, f"[client]\nuser={quoted(login.user)}\npassword={quoted(login.password)}\n"
        )
