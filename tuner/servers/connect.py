"""One MySQL connection with a limit on every wait."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql
from msgspec import Struct
from pymysql.connections import Connection

from tuner.servers.encryption import DriverConnection, required
from tuner.servers.patience import Patience
from tuner.servers.port import Unreachable
from tuner.servers.release import release_of

IDLE_SECONDS = 15
"""Session ``wait_timeout``: a session whose client vanished is gone, with its locks, after this."""

LOCK_SECONDS = 2
"""Session ``lock_wait_timeout``: no metadata lock holds a sample up for longer."""

EXECUTION_TIME = (5, 7, 8)
"""The release from which on MySQL ends a SELECT that takes too long."""

LOST = 2013
"""The driver's number for a connection that ended, or gave no answer in time."""

FIXES: Mapping[int, str] = {
    1040: "raise max_connections, or close connections that nobody needs",
    1044: "check user and password",
    1045: "check user and password",
    1129: "TRUNCATE TABLE performance_schema.host_cache on the server lets this host in again",
    1130: "create the account for this host, or for '%'",
    1698: "check user and password",
    2026: 'turn TLS on in the server, or set server.tls = "preferred"',
}
"""What helps against an error of connecting, by number."""

FOREIGN = "what listens there does not speak MySQL's protocol"
ASK_SOCKET = "SELECT @@socket on the server says where it is"


class Endpoint(Struct, frozen=True):
    """Where a server is and who we are there.

    Attributes:
        socket: path of the unix socket; preferred over host and port.
        host: name or address.
        port: TCP port.
        user: account.
        password: never shown.
        tls: preferred, required or off.
        tls_ca: certificate authority to check the server against.
        timeout: seconds to connect, and for each statement.
    """

    user: str
    password: str = ""
    socket: str | None = None
    host: str = "127.0.0.1"
    port: int = 3306
    tls: str = "preferred"
    tls_ca: str | None = None
    timeout: float = 1.0

    def __repr__(self) -> str:
        """Return the endpoint without its password."""
        return f"Endpoint({self})"

    def __str__(self) -> str:
        """Return user and address, as DBAs write them."""
        return f"{self.user}@{self.socket or f'{self.host}:{self.port}'}"


def text(value: object) -> str:
    """Return what the driver gave, which is str, bytes or a number, as text."""
    return value.decode() if isinstance(value, bytes) else str(value)


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
    """A connection that is opened when needed and dropped at the first sign of trouble."""

    def __init__(self, endpoint: Endpoint, now: Callable[[], float] = time.monotonic) -> None:
        """Connect with the first statement; ``now`` is a monotonic clock, seconds."""
        self.endpoint = endpoint
        self._patience = Patience(now)
        self._silence: Unreachable | None = None
        self._connection: Connection[Any] | None = None
        self._lost: int | None = None

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
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
                return rows
        except (pymysql.OperationalError, pymysql.InterfaceError, OSError, ValueError) as error:
            if connection.open and isinstance(error, pymysql.OperationalError) and _is_refusal(error):
                raise
            self.drop()
            raise Unreachable(f"{self.endpoint}: {_words(error)}") from error

    def drop(self) -> None:
        """Forget the connection without talking to the server; the next one ends it there."""
        if self._connection is not None:
            self._lost = int(self._connection.thread_id())  # type: ignore[no-untyped-call] # the driver is untyped here
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

    def _connect(self) -> Connection[Any]:
        if self._silence is not None and not self._patience.over:
            raise Unreachable(self._silence.message, self._silence.fix)
        endpoint = self.endpoint
        password = endpoint.password.encode("utf-8")
        connection: Connection[Any] | None = None
        try:
            connection = DriverConnection(
                unix_socket=endpoint.socket,
                host=endpoint.host,
                port=endpoint.port,
                user=endpoint.user,
                password=password,
                connect_timeout=endpoint.timeout,
                read_timeout=endpoint.timeout,
                write_timeout=endpoint.timeout,
                autocommit=True,
                charset="utf8mb4",
                program_name="innobrim",
                ssl=_tls(endpoint),
                ssl_disabled=endpoint.tls == "off" or endpoint.socket is not None,
                defer_connect=True,
            )
            connection.connect()
            with connection.cursor() as cursor:
                version = connection.get_server_info()  # type: ignore[no-untyped-call] # the driver is untyped
                cursor.execute(session_limits(version, endpoint.timeout))
        except (pymysql.MySQLError, OSError, RuntimeError, ValueError, IndexError, struct.error) as error:
            found, fix = _cause(endpoint, connection, error)
            failure = Unreachable(f"{endpoint}: {found}", fix)
            self._silence = failure if _interrupted(connection, error) else None
            if self._silence is None:
                self._patience.answered()
            else:
                self._patience.interrupted()
            raise failure from error
        self._connection, self._silence = connection, None
        self._patience.answered()
        self._end_lost(connection)
        return connection

    def _end_lost(self, connection: Connection[Any]) -> None:
        """End our own earlier session, which may still hold locks on the server."""
        if self._lost is None:
            return
        lost, self._lost = self._lost, None
        with contextlib.suppress(pymysql.MySQLError), connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM information_schema.processlist WHERE id = %s"
                " AND user = SUBSTRING_INDEX(USER(), '@', 1)"
                " AND id <> CONNECTION_ID()",
                (lost,),
            )
            if cursor.fetchall():
                cursor.execute("KILL %s", (lost,))


def _interrupted(connection: Connection[Any] | None, error: Exception) -> bool:
    """Tell whether a connection was open and ended before the server answered the login."""
    connected = connection is not None and connection.host_info != "Not connected"
    return connected and _number(error) in {0, LOST}


def _tls(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Return how a required encryption is set up; None where the driver decides.

    Raises:
        Unreachable: the certificate authority cannot be read.
    """
    if endpoint.socket is not None or endpoint.tls != "required":
        return None
    try:
        return required(endpoint.tls_ca)
    except OSError as error:
        raise Unreachable(
            f"{endpoint}: server.tls_ca = {endpoint.tls_ca}: {error.strerror or error}",
            "it must be a readable file of certificates (PEM)",
        ) from error


def _is_refusal(error: pymysql.OperationalError) -> bool:
    """Tell a refused statement from a broken connection (client errors are 2000 to 2999)."""
    number = _number(error)
    return number != 0 and not 2000 <= number < 3000  # noqa: PLR2004 - see above


def _cause(endpoint: Endpoint, connection: Connection[Any] | None, error: Exception) -> tuple[str, str]:
    """Return why there is no connection, and what would help; the latter is empty where nobody knows."""
    if connection is None or connection.host_info == "Not connected":
        return _unreached(endpoint, error)
    if not hasattr(connection, "server_capabilities"):
        return _ungreeted(endpoint, error)
    words = _words(error)
    if "cryptography" in words:
        extra = "pip install 'innobrim[rsa]'"
        return words, f"use the unix socket, a server with TLS, or install the extra: {extra}"
    if isinstance(error.__context__, ssl.SSLCertVerificationError):
        return words, "correct server.tls_ca, or the server's certificate"
    if isinstance(error.__context__, TimeoutError):
        return words, "see what holds the server up, or raise server.timeout"
    return words, FIXES.get(_number(error), "")


def _unreached(endpoint: Endpoint, error: Exception) -> tuple[str, str]:
    system = error.__context__
    if endpoint.socket is not None and isinstance(system, OSError):
        return _socket_cause(Path(endpoint.socket), system)
    if isinstance(error, UnicodeError):
        return f"{endpoint.host!r} is no host name", "correct the host name"
    if isinstance(system, socket.gaierror):
        return _words(error), "correct the host name"
    if isinstance(system, TimeoutError):
        return _words(error), "start the server, let it through the firewall, or correct host and port"
    return _words(error), "start the server, or correct host and port"


def _socket_cause(path: Path, error: OSError) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError):
        return "no such socket", ASK_SOCKET
    if isinstance(error, PermissionError):
        return "permission denied", "run this as a user who may enter its directory and write to it"
    if not isinstance(error, ConnectionRefusedError):
        return error.strerror or str(error), ASK_SOCKET
    if path.is_socket():
        return "nobody listens there", f"start the server; {ASK_SOCKET}"
    return f"is a {'directory' if path.is_dir() else 'file'}, not a socket", ASK_SOCKET


def _ungreeted(endpoint: Endpoint, error: Exception) -> tuple[str, str]:
    """Say why something listens and sent no greeting that the driver understood."""
    number = _number(error)
    if number not in (0, LOST):
        return _words(error), FIXES.get(number, "")
    fix = ASK_SOCKET if endpoint.socket else "correct host and port"
    if isinstance(error.__context__, TimeoutError):
        silent = f"no greeting within {endpoint.timeout:g} s"
        return f"{silent}: {FOREIGN}, or is a server that hangs", fix
    if number == LOST:
        return f"{FOREIGN}, or is a proxy whose server is down", fix
    return FOREIGN, fix


def _number(error: BaseException) -> int:
    """Return the error's number; 0 where it has none."""
    number = error.args[0] if error.args else 0
    return number if isinstance(number, int) else 0


def _words(error: BaseException) -> str:
    """Return the error as one line."""
    number = _number(error)
    text = str(error.args[1]) if len(error.args) > 1 else str(error) or type(error).__name__
    return f"{text} (error {number})" if number else text
