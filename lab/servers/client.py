"""How statements get to a server of the lab."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql

from lab.servers.accounts import Account
from lab.servers.optionfile import quoted, write_private
from tuner.servers.endpoint import Endpoint


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
        return write_private(
            path, f"[client]\nuser={quoted(self.daemon.user)}\npassword={quoted(self.daemon.password)}\n"
        )
