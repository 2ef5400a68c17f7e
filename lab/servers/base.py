"""What every throw-away server can do: accounts, SQL access, waiting, and its start arguments."""

from __future__ import annotations

import contextlib
import secrets
import ssl
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import pymysql

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

MEBIBYTE = 1024 * 1024
SCHEMA = "innobrim_lab"


class LabServerError(Exception):
    """A throw-away server that could not be had; the message says what was tried and what it said."""


@dataclass(frozen=True, slots=True)
class Account:
    """A login of a throw-away server; the password is drawn anew for every server."""

    user: str
    password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a throw-away server is started.

    Attributes:
        redo_capacity: ``innodb_redo_log_capacity``, bytes.
        buffer_pool: ``innodb_buffer_pool_size``, bytes.
        io_capacity: C at start, pages/s.
        io_capacity_max: M at start, pages/s.
        monitors: turn on the InnoDB counters that the loop needs.
        extra: further mysqld arguments; they win over ours.
    """

    redo_capacity: int = 100 * MEBIBYTE
    buffer_pool: int = 2048 * MEBIBYTE
    io_capacity: int = 10_000
    io_capacity_max: int = 20_000
    monitors: bool = True
    extra: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the mysqld arguments, without paths and addresses."""
        arguments = [
            "--mysqlx=OFF",
            "--skip-log-bin",
            "--innodb-flush-method=O_DIRECT",
            f"--innodb-redo-log-capacity={self.redo_capacity}",
            f"--innodb-buffer-pool-size={self.buffer_pool}",
            f"--innodb-io-capacity={self.io_capacity}",
            f"--innodb-io-capacity-max={self.io_capacity_max}",
        ]
        if self.monitors:
            arguments.append("--innodb-monitor-enable=module_log,module_buffer")
        return [*arguments, *self.extra]


def account_statements(admin: Account, daemon: Account) -> str:
    """Return the statements, one a line, that create both accounts and the load's schema."""
    lines = [f"CREATE DATABASE IF NOT EXISTS {SCHEMA};"]
    for account in (admin, daemon):
        lines += [
            f"CREATE USER IF NOT EXISTS '{account.user}'@'{host}' IDENTIFIED BY '{account.password}';"
            for host in ("%", "localhost")
        ]
    for host in ("%", "localhost"):
        lines += [
            f"GRANT ALL ON *.* TO '{admin.user}'@'{host}' WITH GRANT OPTION;",
            f"GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO '{daemon.user}'@'{host}';",
            f"GRANT SELECT ON performance_schema.* TO '{daemon.user}'@'{host}';",
        ]
    return "\n".join(lines) + "\n"


def _lenient_tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class LabServer(ABC):
    """One throw-away server: started on entry, gone with its data on exit.

    Attributes:
        spec: how it is started.
        admin: account with every privilege, for the load and the measuring.
        daemon: account with just what the daemon needs.
        host: address of the TCP port.
        port: TCP port, 0 before the start.
        socket: path of the unix socket where it can be reached from here, else None.
    """

    def __init__(self, spec: ServerSpec | None = None) -> None:
        self.spec = spec or ServerSpec()
        self.admin = Account("lab_admin")
        self.daemon = Account("innobrim")
        self.host = "127.0.0.1"
        self.port = 0
        self.socket: Path | None = None

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
    def pause(self) -> None:
        """Freeze every thread of the server: it keeps its connections but answers nothing."""

    @abstractmethod
    def unpause(self) -> None:
        """Let a frozen server run on."""

    @abstractmethod
    def alive(self) -> bool:
        """Return whether the process is there."""

    @abstractmethod
    def log(self) -> str:
        """Return the tail of the server's error log."""

    @abstractmethod
    def limit_write_iops(self, writes: int | None) -> str | None:
        """Limit the disk's writes per second for this server from now on; None lifts the limit.

        Returns:
            None when the limit is in force, else a sentence saying why it is not.
        """

    def data_directory(self) -> Path | None:
        """Return where the server's data can be reached from here, None where it cannot."""
        return None

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
            ssl=_lenient_tls(),
        )

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

    @contextlib.contextmanager
    def general_log(self) -> Iterator[None]:
        """Log every statement to the table ``mysql.general_log`` while inside; starts empty."""
        self.query("SET GLOBAL general_log = OFF")
        self.query("TRUNCATE TABLE mysql.general_log")
        self.query("SET GLOBAL log_output = 'TABLE'")
        self.query("SET GLOBAL general_log = ON")
        try:
            yield
        finally:
            self.query("SET GLOBAL general_log = OFF")

    def logged(self, like: str) -> list[str]:
        """Return the logged statements that match a LIKE pattern, in order."""
        rows = self.query(
            f"SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE argument LIKE '{like}'"
            " AND argument NOT LIKE '%mysql.general_log%' ORDER BY event_time"
        )
        return [str(row[0]) for row in rows]

    def option_file(self, path: Path) -> Path:
        """Write the daemon's login as a MySQL option file, mode 0600, and return its path."""
        path.touch(mode=0o600)
        path.write_text(f"[client]\nuser={self.daemon.user}\npassword={self.daemon.password}\n")
        return path
