"""One MySQL connection with a limit on every wait."""

from __future__ import annotations

import contextlib
import re
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

import pymysql
from msgspec import Struct
from msgspec.structs import replace
from pymysql.connections import Connection

from tuner.servers.causes import LOST, cause, error_number, is_refusal, unanswered
from tuner.servers.driver import DriverConnection
from tuner.servers.encryption import USUAL, TlsDetails, required
from tuner.servers.patience import Patience
from tuner.servers.port import Unreachable
from tuner.servers.release import release_of
from tuner.servers.resolve import RESOLVER, Resolver
from tuner.servers.sockets import SOCKETS, guessed

IDLE_SECONDS = 15
"""Session ``wait_timeout``: a session whose client vanished is gone, with its locks, after this."""

LOCK_SECONDS = 2
"""Session ``lock_wait_timeout``: no metadata lock holds a sample up for longer."""

UPTIME_SLACK = 1.5
"""Seconds that a server's uptime, which it counts in whole seconds, may lie below its session's age."""

EXECUTION_TIME = (5, 7, 8)
"""The release from which on MySQL ends a SELECT that takes too long."""

_WHOLE = re.compile(r"([0-9]{1,20})(\.[0-9]{1,30})?")
"""A number as servers write sums and counts; what has an exponent can be longer than any memory."""


class Endpoint(Struct, frozen=True):
    """Where a server is and who we are there.

    Attributes:
        socket: path of the unix socket; preferred over host and port.
        host: name or address.
        port: TCP port.
        user: account.
        password: never shown.
        tls: off, preferred, required, verify_ca or verify_identity; required with an authority is the last.
        tls_ca: certificate authority to check the server against.
        tls_details: what an option file says of TLS besides.
        public_key: the server's, PEM, for methods that want the password itself; empty where it is not known.
        timeout: seconds to find the host, connect and log in, and for each statement's whole answer.
        socket_guessed: nothing names the socket: it is looked for at each connection.
    """

    user: str
    password: str = ""
    socket: str | None = None
    host: str = "127.0.0.1"
    port: int = 3306
    tls: str = "preferred"
    tls_ca: str | None = None
    timeout: float = 1.0
    tls_details: TlsDetails = USUAL
    public_key: str = ""
    socket_guessed: bool = False

    def __repr__(self) -> str:
        """Return the endpoint without its password."""
        return f"Endpoint({self})"

    def __str__(self) -> str:
        """Return user and address, as DBAs write them."""
        return f"{self.user}@{self.socket or f'{self.host}:{self.port}'}"


def text(value: object) -> str:
    """Return what the driver gave, which is str, bytes or a number, as text."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def whole(value: object) -> int:
    """Return a number that the driver gave as a whole one, its fraction cut off.

    Raises:
        ValueError: it is none that a server says.
    """
    found = _WHOLE.fullmatch(said := text(value))
    if found is None:
        raise ValueError(f"{said[:25]!r} is no whole number of at most 20 digits")
    return int(found[1])


def answered(connection: DriverConnection, statement: str) -> Sequence[tuple[Any, ...]]:
    """Run one statement and return its rows.

    Raises:
        pymysql.MySQLError: the server refused, or the connection broke.
        Exception: whatever the driver fails with at an answer that is none.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement)
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
        return rows


def session_limits(version: str, timeout: float) -> str:
    """Return the statement that limits what a session may wait for, as far as this server can.

    Args:
        version: as the server's greeting says.
        timeout: seconds for each statement.
    """
    limits = f"SET SESSION wait_timeout = {IDLE_SECONDS}, SESSION lock_wait_timeout = {LOCK_SECONDS}"
    if "MariaDB" in version:
        return f"{limits}, SESSION max_statement_time = {timeout:g}"
    if release_of(version) >= EXECUTION_TIME:
        return f"{limits}, SESSION max_execution_time = {int(timeout * 1000)}"
    return limits


class Session:
    """A connection that is opened when needed and dropped at the first sign of trouble.

    Attributes:
        opened: how many connections there have been.
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
        self._beat = beat or (lambda _: None)
        self._resolver = resolver
        self._now = now
        self._connected_at = now()
        self._patience = Patience(now)
        self._silence: Unreachable | None = None
        self._connection: DriverConnection | None = None
        self._lost: tuple[int, float] | None = None
        self.opened = 0

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
            return answered(connection, statement)
        except Exception as error:  # whatever the driver fails with at an answer that is none
            if connection.open and isinstance(error, pymysql.MySQLError) and is_refusal(error):
                raise
            self.drop()
            raise Unreachable(f"{self.endpoint}: {unanswered(error)}") from error

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
            endpoint = self.endpoint = located(endpoint)
            connection = opened(endpoint, endpoint.timeout, resolver=self._resolver, beat=self._beat)
            connection.connect()
            self._beat(endpoint.timeout)
            version = connection.get_server_info()  # type: ignore[no-untyped-call] # the driver is untyped
            answered(connection, session_limits(version, endpoint.timeout))
        except Unreachable:
            raise
        except Exception as error:  # whatever the driver fails with at an answer that is none
            found, fix = cause(endpoint, connection, error)
            failure = Unreachable(f"{endpoint}: {found}", fix)
            self._silence = failure if _interrupted(connection, error) else None
            if self._silence is None:
                self._patience.answered()
            else:
                self._patience.interrupted()
            raise failure from error
        self._connection, self._silence = connection, None
        self.opened += 1
        self._connected_at = self._now()
        self._patience.answered()
        self._end_lost(connection)
        return connection

    def _end_lost(self, connection: DriverConnection) -> None:
        """End our own earlier session, which may still hold locks on the server.

        A server that has started since gave its number to somebody else.
        """
        if self._lost is None:
            return
        (lost, since), self._lost = self._lost, None

        def ask(statement: str) -> Sequence[tuple[Any, ...]]:
            self._beat(self.endpoint.timeout)
            return answered(connection, statement)

        with contextlib.suppress(Exception):  # a lost session ends by itself, after IDLE_SECONDS
            if not ask(
                f"SELECT 1 FROM information_schema.processlist WHERE id = {lost}"
                " AND user = SUBSTRING_INDEX(USER(), '@', 1)"
                " AND id <> CONNECTION_ID()"
            ):
                return
            uptime = ask("SHOW GLOBAL STATUS LIKE 'Uptime'")
            if float(uptime[0][1]) + UPTIME_SLACK >= self._now() - since:
                ask(f"KILL {lost}")


def _interrupted(connection: Connection[Any] | None, error: Exception) -> bool:
    """Tell whether a connection was open and ended before the server answered the login."""
    connected = connection is not None and connection.host_info != "Not connected"
    return connected and error_number(error) in {0, LOST}


def located(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint with its socket where that is now; one that something names is there.

    Raises:
        Unreachable: there is none that is known to be the server's.
    """
    if not endpoint.socket_guessed:
        return endpoint
    there = guessed()
    if there is None:
        raise Unreachable(
            f"{endpoint}: no unix socket of a server: neither {' nor '.join(SOCKETS)} is one, in a directory "
            "that not everybody can write to",
            "start the server, or name its socket; SELECT @@socket on the server says where it is",
        )
    return replace(endpoint, socket=there)


def opened(
    endpoint: Endpoint,
    timeout: float,
    *,
    connect_timeout: float | None = None,
    resolver: Resolver = RESOLVER,
    beat: Callable[[float], None] = lambda _: None,
) -> DriverConnection:
    """Return a connection that is still to connect; each of its waits is bounded.

    Args:
        endpoint: where to, and as whom.
        timeout: seconds for each read and write.
        connect_timeout: seconds for finding the host and connecting; as long as ``timeout`` where it is None.
        resolver: finds the host.
        beat: told before each wait while connecting how long that may take, seconds.

    Raises:
        Unreachable: a file for the encryption cannot be read, or no socket is there.
    """
    endpoint = located(endpoint)
    encryption = _tls(endpoint)
    preferred = endpoint.tls == "preferred"
    return DriverConnection(
        resolver=resolver,
        beat=beat,
        preferred=encryption if preferred else None,
        unix_socket=endpoint.socket,
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        password=endpoint.password.encode("utf-8", "surrogateescape"),
        connect_timeout=timeout if connect_timeout is None else connect_timeout,
        read_timeout=timeout,
        write_timeout=timeout,
        autocommit=True,
        charset="utf8mb4",
        program_name="innobrim",
        ssl=None if preferred else encryption,
        ssl_disabled=endpoint.tls == "off" or endpoint.socket is not None,
        server_public_key=endpoint.public_key.encode() or None,
        defer_connect=True,
    )


def _tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Return how the connection is encrypted; None where it is not.

    Raises:
        Unreachable: one of the files for it cannot be read.
    """
    if endpoint.socket is not None or endpoint.tls == "off":
        return None
    authority = None if endpoint.tls == "preferred" else endpoint.tls_ca
    try:
        return required(authority, endpoint.tls_details, host_name=endpoint.tls != "verify_ca")
    except OSError as error:
        named = f"server.tls_ca = {authority}" if authority else "the files for TLS"
        raise Unreachable(
            f"{endpoint}: {named}: {error.strerror or error}",
            "each must be a readable file of certificates (PEM)",
        ) from error
