"""One MySQL connection with a limit on every wait."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from tuner.servers.driver import DriverConnection
from tuner.servers.endpoint import Endpoint, context_of, with_socket
from tuner.servers.failures import COUNTED, LOST, cause, error_number, is_refusal, why_no_answer
from tuner.servers.port import Unreachable
from tuner.servers.release import release_of
from tuner.servers.resolver import RESOLVER, Resolver
from tuner.servers.values import decimal, text

IDLE_SECONDS = 15
"""Session ``wait_timeout``: a session whose client vanished is gone, with its locks, after this."""

LOCK_SECONDS = 2
"""Session ``lock_wait_timeout``: no metadata lock holds a sample up for longer."""

UPTIME_SLACK = 1.5
"""Seconds that a server's uptime, which it counts in whole seconds, may lie below its session's age."""

EXECUTION_TIME = (5, 7, 8)
"""The release from which on MySQL ends a SELECT that takes too long."""

SHORTEST = 1.0

LONGEST = 16.0
"""Bounds of the wait between two attempts, seconds.

mysqld counts connections that end before the login and, after ``max_connect_errors`` (100) in a row, refuses
every client of that host until somebody empties its host cache. One that hangs counts them all when it wakes
up. At this pace that takes it half an hour.
"""

LONGEST_DENIED = 60.0
"""The same after a wrong password, seconds: an account may be locked after so many (FAILED_LOGIN_ATTEMPTS,
MariaDB's ``max_password_errors``), and the server's log gets a line for each."""


class Patience:
    """Waits longer from one interrupted connection to the next: not at all, then 1, 2, 4, … seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Be ready to try at once; ``now`` is a monotonic clock, seconds."""
        self._now = now
        self._wait = 0.0
        self._until = float("-inf")

    @property
    def over(self) -> bool:
        """Tell whether another attempt may be made now."""
        return self._now() >= self._until

    def interrupted(self, longest: float = LONGEST) -> None:
        """Note an attempt that the server counts, and wait so many seconds at most before the next."""
        self._until = self._now() + self._wait
        self._wait = min(longest, max(SHORTEST, 2.0 * self._wait))

    def answered(self) -> None:
        """Note an answer, or a refusal that counts for nothing: the next attempt may come at once."""
        self._wait, self._until = 0.0, float("-inf")


def run(connection: DriverConnection, statement: str) -> Sequence[tuple[Any, ...]]:
    """Run one statement and return its rows.

    Raises:
        pymysql.MySQLError: the server refused, or the connection broke.
        Exception: whatever the driver fails with at an answer that is none.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows


def session_limits(version: str, timeout: float) -> tuple[str, ...]:
    """Return the statements that limit what a session may wait for; the first that the server knows does.

    A greeting may name another server than the one that answers: a proxy's does, and a MariaDB's can.

    Args:
        version: as the server's greeting says.
        timeout: seconds for each statement; at least a millisecond, as 0 is no limit to a server.
    """
    limits = f"SET SESSION wait_timeout = {IDLE_SECONDS}, SESSION lock_wait_timeout = {LOCK_SECONDS}"
    milliseconds = max(1, int(timeout * 1000))
    mariadb = f"{limits}, SESSION max_statement_time = {milliseconds / 1000:g}"
    mysql = f"{limits}, SESSION max_execution_time = {milliseconds}"
    if "mariadb" in version.lower():
        return mariadb, mysql, limits
    return (mysql, mariadb, limits) if release_of(version) >= EXECUTION_TIME else (limits,)


def limit(connection: DriverConnection, timeout: float) -> None:
    """Limit what a session may wait for, as far as its server can; raises what ``run`` raises."""
    version = connection.get_server_info()  # type: ignore[no-untyped-call] # the driver is untyped
    *likely, last = session_limits(version, timeout)
    for statement in likely:
        try:
            run(connection, statement)
        except pymysql.MySQLError as error:
            if error_number(error) != ER.UNKNOWN_SYSTEM_VARIABLE:
                raise
        else:
            return
    run(connection, last)


class Session:
    """A connection that is opened when needed and dropped at the first sign of trouble.

    Attributes:
        connections: how many there have been.
        password: for the next connection; any thread may set another one.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        now: Callable[[], float] = time.monotonic,
        *,
        resolver: Resolver = RESOLVER,
        beat: Callable[[float], None] | None = None,
    ) -> None:
        """Connect with the first statement.

        Args:
            endpoint: where the server is.
            now: a monotonic clock, seconds.
            resolver: finds its host.
            beat: told before each wait for the server how long that may take, seconds; must never block.
        """
        self.endpoint = endpoint
        self.password = endpoint.password
        self._beat = beat or (lambda _: None)
        self._resolver = resolver
        self._now = now
        self._connected_at = now()
        self._patience = Patience(now)
        self._silence: Unreachable | None = None
        self._connection: DriverConnection | None = None
        self._lost: tuple[int, float] | None = None
        self.connections = 0

    @property
    def current(self) -> object | None:
        """Return what tells this connection from the next one; None without a connection."""
        return self._connection

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Run one statement and return its rows.

        Raises:
            Unreachable: no connection, or no answer in time; the next call connects again.
            pymysql.MySQLError: the server refused the statement; the connection stays.
        """
        connection = self._connection or self._connect()
        self._beat(self.endpoint.timeout)
        try:
            return run(connection, statement)
        except Exception as error:  # whatever the driver fails with at an answer that is none
            if connection.open and is_refusal(error):
                raise
            self.drop()
            raise Unreachable(f"{self.endpoint}: {why_no_answer(error)}") from error

    def pairs(self, statement: str) -> dict[str, str]:
        """Run one statement whose rows are a name and a value each; raises what ``query`` raises."""
        return {text(name): text(value) for name, value in self.query(statement)}

    def drop(self) -> None:
        """Forget the connection without talking to the server; the next one ends it there."""
        if self._connection is not None:
            number = int(self._connection.thread_id())  # type: ignore[no-untyped-call] # the driver is untyped
            self._lost = number, self._connected_at
            close = getattr(self._connection, "_force_close")  # noqa: B009 - close() would wait for a dead peer
            with contextlib.suppress(pymysql.MySQLError, OSError):
                close()
        self._connection = None

    def close(self) -> None:
        """Say goodbye and close; never raises."""
        if self._connection is not None:
            with contextlib.suppress(pymysql.MySQLError, OSError):
                self._connection.close()
        self._connection = None

    def _connect(self) -> DriverConnection:
        if self._silence is not None and not self._patience.over:
            raise Unreachable(self._silence.message, self._silence.fix)
        endpoint = self.endpoint
        connection: DriverConnection | None = None
        try:
            endpoint = self.endpoint = with_socket(endpoint)
            connection = self._new_connection(endpoint)
            connection.connect()
            self._beat(endpoint.timeout)
            limit(connection, endpoint.timeout)
        except Unreachable:
            raise
        except Exception as error:  # whatever the driver fails with at an answer that is none
            found, fix = cause(endpoint, connection, error)
            failure = self._silence = Unreachable(f"{endpoint}: {found}", fix)
            if error_number(error) in COUNTED:
                self._patience.interrupted(LONGEST_DENIED)
            elif _interrupted(connection, error):
                self._patience.interrupted()
            else:
                self._patience.answered()
            raise failure from error
        self._connection, self._silence = connection, None
        self.connections += 1
        self._connected_at = self._now()
        self._patience.answered()
        self._end_lost(connection)
        return connection

    def _new_connection(self, endpoint: Endpoint) -> DriverConnection:
        """Return a connection that is still to connect; each of its waits is bounded.

        Raises:
            Unreachable: a file for the encryption cannot be read.
        """
        encryption, preferred = context_of(endpoint), endpoint.tls == "preferred"
        return DriverConnection(
            resolver=self._resolver,
            beat=self._beat,
            preferred=encryption if preferred else None,
            unix_socket=endpoint.socket,
            host=endpoint.host,
            port=endpoint.port,
            user=endpoint.user,
            password=self.password.encode("utf-8", "surrogateescape"),
            connect_timeout=endpoint.timeout,
            read_timeout=endpoint.timeout,
            write_timeout=endpoint.timeout,
            autocommit=True,
            charset="utf8mb4",
            program_name="innobrim",
            ssl=None if preferred else encryption,
            ssl_disabled=endpoint.tls == "off" or endpoint.socket is not None,
            server_public_key=endpoint.public_key.encode() or None,
            defer_connect=True,
        )

    def _end_lost(self, connection: DriverConnection) -> None:
        """End our own earlier session, which may still hold locks on the server.

        A server that has started since gave its number to somebody else.
        """
        if self._lost is None:
            return
        (lost, since), self._lost = self._lost, None

        def ask(statement: str) -> Sequence[tuple[Any, ...]]:
            self._beat(self.endpoint.timeout)
            return run(connection, statement)

        with contextlib.suppress(Exception):  # a lost session ends by itself, after IDLE_SECONDS
            if not ask(
                f"SELECT 1 FROM information_schema.processlist WHERE id = {lost}"
                " AND user = SUBSTRING_INDEX(USER(), '@', 1)"
                " AND id <> CONNECTION_ID()"
            ):
                return
            uptime = ask("SHOW GLOBAL STATUS LIKE 'Uptime'")
            if decimal(uptime[0][1]) + UPTIME_SLACK >= self._now() - since:
                ask(f"KILL {lost}")


def _interrupted(connection: Connection[Any] | None, error: Exception) -> bool:
    """Tell whether a connection was open and ended before the server answered the login."""
    connected = connection is not None and connection.host_info != "Not connected"
    return connected and error_number(error) in {0, LOST}
