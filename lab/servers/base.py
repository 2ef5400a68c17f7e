"""What every server of the lab can do: statements, start, end and be waited for, limits, counts, crash."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pymysql

from lab.servers.disk import DeviceCounters, DiskLimit, Throttle
from lab.servers.flavour import (
    MEBIBYTE,
    SCHEMA,
    TRAITS,
    Account,
    Flavour,
    LabServerError,
    ServerSpec,
    account_statements,
)
from tuner.servers.endpoint import Endpoint

STARTED, ENDED = "MY-013576", "MY-013577"
"""The server's codes for: InnoDB initialization has started, has ended."""

_BOOT = re.compile(r"starting .*as process \d+", re.IGNORECASE)
_READY = re.compile(r"InnoDB: (\S+ started; )?log sequence number \d+")
_INNODB = "InnoDB: "
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ]\s*(\d?\d:\d\d:\d\d(?:\.\d{1,6})?)")


def text_marks(log: str) -> list[tuple[str, float]]:
    """Return when InnoDB's initialisations began and ended by an error log that has no codes for it.

    One begins with the first line of InnoDB's after "starting as process", and ends with the line that names
    the log sequence number it starts from: MariaDB from 10.5 to 11.8, MySQL 5.6 to 8.0.

    Args:
        log: its lines, each with one stamp or, in front of it, a finer one of somebody else's.

    Returns:
        Code and time, seconds; only differences mean something.
    """
    marks: list[tuple[str, float]] = []
    booting = False
    for line in log.splitlines():
        found = _STAMP.search(line)
        if found is None:
            continue
        at = datetime.fromisoformat(f"{found[1]} {found[2].zfill(8)}+00:00").timestamp()
        if _BOOT.search(line):
            booting = True
        elif booting and _INNODB in line:
            booting = False
            marks.append((STARTED, at))
        if _READY.search(line) and marks and marks[-1][0] == STARTED:
            marks.append((ENDED, at))
    return marks


def last_span(lines: list[tuple[str, float]]) -> float:
    """Return the seconds from the last start to the end after it.

    Args:
        lines: code and Unix time, oldest first.

    Raises:
        LabServerError: there is no such pair.
    """
    started: float | None = None
    span: float | None = None
    for code, at in lines:
        if code == STARTED:
            started, span = at, None
        elif started is not None:
            span = at - started
    if span is None:
        raise LabServerError(f"the error log does not say when InnoDB was ready: {lines}")
    return span


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


class SqlClient:
    """Connections to one server, and what is asked over them.

    Attributes:
        admin: account with every privilege, for the load and the measuring.
        daemon: account with just what the daemon needs.
        host: address of the TCP port.
        port: TCP port, 0 before the start.
        socket: path of the unix socket where it can be reached from here, else None.
        tls: connections are encrypted, as passwords would have to be otherwise.
        authority: certificate authority that its certificate can be checked against; None where it has none.
    """

    def __init__(self) -> None:
        self.admin = Account("lab_admin")
        self.daemon = Account("innobrim")
        self.host = "127.0.0.1"
        self.port = 0
        self.socket: Path | None = None
        self.tls = True
        self.authority: Path | None = None

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

    def option_file(self, path: Path) -> Path:
        """Write the daemon's login as a MySQL option file, mode 0600, and return its path."""
        return write_private(
            path, f"[client]\nuser={quoted(self.daemon.user)}\npassword={quoted(self.daemon.password)}\n"
        )


__all__ = [
    "MEBIBYTE",
    "SCHEMA",
    "Account",
    "DeviceCounters",
    "DiskLimit",
    "Flavour",
    "LabServer",
    "LabServerError",
    "ServerSpec",
    "account_statements",
]

END_SECONDS = 900.0
"""The longest shutdown or start waited for: a slow disk writes a pool of dirty pages for minutes."""

Ask = Callable[[str], Iterable[tuple[Any, ...]]]

WHOLE_LOG = 20_000
"""Lines; a start writes some dozens, a recovery some hundreds."""

OWN_COUNTERS = "the server's own counters"
_STATUS = ("Innodb_data_reads", "Innodb_data_writes", "Innodb_data_read", "Innodb_data_written")


class LabServer(SqlClient, ABC):
    """One server: started on entry, gone with its data on exit where it is a throw-away one.

    Attributes:
        spec: how it is started.
        flavour: what it is, as far as starting, filling and ending it goes.
        begins: what ``start`` does, for people.
    """

    begins = "starting the server"

    def __init__(self, spec: ServerSpec | None = None, flavour: Flavour = Flavour.MYSQL) -> None:
        super().__init__()
        self.spec = spec or ServerSpec()
        self.flavour = flavour
        self.tls = TRAITS[flavour].tls

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
    def kill(self) -> None:
        """SIGKILL mysqld and return when it is gone; the data stays for the next ``start``."""

    @abstractmethod
    def terminate(self) -> None:
        """SIGTERM mysqld, which then shuts down in order; returns at once."""

    @abstractmethod
    def pause(self) -> None:
        """Freeze every thread of the server: it keeps its connections but answers nothing."""

    @abstractmethod
    def unpause(self) -> None:
        """Let a frozen server run on."""

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

    @abstractmethod
    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit this server's disk from now on, also in the middle of a run; what is None is lifted.

        Returns:
            A sentence for everything that could not be limited; none when all is in force.
        """

    @property
    @abstractmethod
    def disk_limit(self) -> DiskLimit:
        """The disk limit that was asked for last."""

    def limit_write_iops(self, writes: int | None) -> str | None:
        """Limit the disk's writes per second, other limits as they are; None lifts it.

        Returns:
            None when the limit is in force, else a sentence saying why it is not.
        """
        return "; ".join(self.limit_disk(replace(self.disk_limit, write_iops=writes))) or None

    def device(self, ask: Ask | None = None) -> DeviceCounters | None:
        """Return what the server has had its disk do so far, None where nobody knows.

        Counted by its control group where there is one, else by the server itself: its
        ``Innodb_data_reads``, ``_writes``, ``_read`` and ``_written``, which leave out the binary log and
        know nothing of merged or split operations. The source stays the same for one server.

        Args:
            ask: runs a statement; None is on a connection of its own, which is dear where it is asked often.
        """
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
        if not TRAITS[self.flavour].log_table:
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
        if TRAITS[self.flavour].shutdown_statement:
            self.query("SHUTDOWN")
        else:
            self.terminate()
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

    def data_directory(self) -> Path | None:
        """Return where the server's data can be reached from here, None where it cannot."""
        return None

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


class ThrottledServer(LabServer):
    """What a container and a local mysqld have in common: a throttle, which knows their control group."""

    _throttle: Throttle

    @property
    def disk_limit(self) -> DiskLimit:
        """The disk limit that was asked for last."""
        return self._throttle.limit

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit the disk that the data lies on, for this server alone."""
        return self._throttle.set(limit)

    def device(self, ask: Ask | None = None) -> DeviceCounters | None:
        """Return what mysqld has had its disk do, by its control group from the first limit or count on.

        A container's counts begin anew with every start of mysqld.

        Args:
            ask: runs a statement, for the server's own counters; None is on a connection of its own.
        """
        found = self._throttle.counters()
        return found if self._throttle.counted else super().device(ask)
